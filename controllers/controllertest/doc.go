// Package controllertest runs a real API server and the controllers under test inside go test, on virtual
// time.
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
//   - The server is store/controlplane over a memory store, the one that examples/kube-apiserver runs:
//     authentication by certificates, RBAC, admission, validation. Nothing is faked; only the network is in
//     memory.
//   - In a testing/synctest bubble time is virtual: an hour of back-off passes at once when the test sleeps,
//     and not at all when it does not. [Cluster.Settle] waits until nothing is left to do and never advances
//     time.
//   - Everything ends with the test, in the bubble, and leaves no goroutine behind.
//   - Unmodified client-go and controller-runtime connect with plain values: see [Cluster.Access].
//   - A [Snapshot] is plain data: a test may go on from it in another bubble, as often as it likes.
//
// # Upstream managers in a bubble
//
// Three things client-go and controller-runtime 0.24 do are worth knowing:
//
//   - Informers poll every 100 ms for having synced, so Settle alone does not get a manager going:
//     c.Sleep(time.Second) does.
//   - A controller-runtime manager that is told to end before its caches have synced spins until they have.
//     In a bubble, where a goroutine that is busy stops time, it does so for ever. So sleep that second right
//     after starting it, before anything that may fail the test.
//   - A metadata-only watch (builder.OnlyMetadata, metadatainformer) that is ended by its context leaves a
//     goroutine in watch.Filter, for which the bubble panics. It ends if the wire reports the end of an ended
//     request as io.EOF: see TestControllerRuntimeMetadataWatch in examples/interop for the RoundTripper to
//     give to rest.Config.Wrap.
//
// Outside a bubble everything works in real time, except Settle; [Cluster.Kubeconfig] works only there.
package controllertest
