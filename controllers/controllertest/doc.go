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
// It guarantees that
//
//   - the server is store/controlplane over a memory store, as in examples/kube-apiserver: authentication by
//     certificates, RBAC, admission, validation; nothing is faked, only the network is in memory;
//   - in a testing/synctest bubble time is virtual: an hour of back-off passes immediately when the test
//     sleeps, and not at all when it does not; [Cluster.Settle] waits until nothing is left to do and never
//     advances time;
//   - everything stops with the test, in the bubble, and leaves no goroutine behind;
//   - unmodified client-go and controller-runtime connect with plain values, see [Cluster.Access];
//   - a [Snapshot] is plain data that can be used in other bubbles any number of times.
//
// # Upstream managers in a bubble
//
// client-go and controller-runtime 0.24 need some care:
//
//   - Informers poll every 100 ms for having synced, so Settle does not start a manager: use
//     c.Sleep(time.Second).
//   - A controller-runtime manager that is stopped before its caches have synced spins until they have. In a
//     bubble a busy goroutine stops time, so it spins forever. Sleep that second immediately after starting
//     the manager, before anything that may fail the test.
//   - A metadata-only watch (builder.OnlyMetadata, metadatainformer) whose context ends leaves a goroutine in
//     watch.Filter, which makes the bubble panic. It returns if the transport reports the end of a canceled
//     request as io.EOF: see TestControllerRuntimeMetadataWatch in examples/interop for a RoundTripper for
//     rest.Config.Wrap.
//
// Outside a bubble everything works in real time, except Settle; [Cluster.Kubeconfig] works only there.
package controllertest
