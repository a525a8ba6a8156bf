// Package controllertest runs a real API server and the controllers under test inside go test, on virtual time.
//
//	func TestWebsiteBecomesReady(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			c := controllertest.Start(t, controllertest.Options{
//				CRDs:        os.DirFS("config/crd"),
//				Controllers: []controllertest.Adder{website.Add},
//			})
//			controllertest.Create(c, &v1.Website{ObjectMeta: controllertest.Name("default", "site")})
//			c.Settle()
//			require.True(t, controllertest.Get[*v1.Website](c, "default", "site").Status.Ready)
//		})
//	}
//
// What is promised:
//
//   - The server is store/controlplane over a memory store, the one that examples/kube-apiserver runs: authentication by
//     certificates, RBAC, admission, validation. Nothing is faked; only the network is in memory.
//   - In a testing/synctest bubble time is virtual: an hour of back-off passes at once when the test sleeps, and
//     not at all when it does not. [Cluster.Settle] waits until nothing is left to do and never advances time.
//   - Everything ends with the test, in the bubble, and leaves no goroutine behind.
//   - Unmodified client-go and controller-runtime connect with plain values: see [Cluster.Access].
//   - A [Snapshot] is plain data: a test may go on from it in another bubble, as often as it likes.
//
// Outside a bubble everything works in real time, except Settle; [Cluster.Kubeconfig] works only there.
package controllertest
