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
//   - the server is store/controlplane over a memory store, as in examples/kube-apiserver: RBAC, admission,
//     validation; nothing is faked;
//   - managers, [Cluster.Conn] and [Cluster.RoundTripper] call the server's handler in the process, without
//     TLS and HTTP/2; clients of [Cluster.Access] connect with certificates over a network in memory;
//   - in a testing/synctest bubble time is virtual: an hour of back-off passes immediately when the test
//     sleeps, and not at all when it does not; [Cluster.Settle] waits until nothing is left to do and never
//     advances time;
//   - everything stops with the test, in the bubble, and leaves no goroutine behind;
//   - unmodified client-go and controller-runtime connect with plain values, see [Cluster.Access];
//   - a [Snapshot] is plain data that can be used in other bubbles any number of times.
//
// # Repeatable runs
//
// Goroutines and requests of a cluster run in any order, as in production, so a test that depends on their
// order fails now and then. [Options].Seed fixes the order of requests and everything that is drawn at random
// (uids, generated names, addresses, jitter); different seeds give different orders, so a test that runs with
// many of them finds such failures. A failed test logs the seed of its run, and
//
//	KEELSON_SEED=7 go test -run TestWebsiteBecomesReady ./...
//
// replays it: in a bubble the same requests come in the same order with the same names. Outside a bubble the
// order of goroutines still depends on chance.
//
// A watch delivers its events in order, but which of two watches delivers first depends on chance too. With
//
//	KEELSON_ORDER=7 go test ./...
//
// each event in a bubble is up to seven microseconds late, by other amounts for each number: a test that
// depends on the order of two watches then fails with about every tenth number or more often.
//
// # Faults and rights
//
// [Cluster.Inject] makes requests of any client fail, lose their reply or wait, and watches lag, chosen by
// verb, resource, name, caller and number; [Cluster.Hold], [Cluster.Break] and [Cluster.Partition] stop
// requests, end watches and separate a client; [Cluster.Crash] ends one at a write.
// [Cluster.Record] records requests, from which [LeastRules] and [CompareRules] derive the rights that an
// operator needs.
//
// A fault that has applied to no request by the end fails the test, with the most similar requests.
//
// # History
//
// [Cluster.History] has every write since the start, with its writer, its cause and what it changed, and the
// reconciles with the events that caused them; [HistoryOf] is the part of one object. A function of this
// package that fails, and Settle, print it:
//
//	get *v1.Deployment default/web: deployments.apps "web" not found
//	history of deployments.apps default/web:
//	+0s r121 create deployments.apps default/web by operator, website default/web #1: Website Added ... r119
//	+1m0s r133 delete deployments.apps default/web by kubernetes-admin (controllertest)
//
// A test that fails otherwise logs that of the object it used last, the last failures of managers and
// connections, and the seed. With
//
//	go test -artifacts -outputdir=/tmp/out -run TestWebsiteBecomesReady ./...
//
// it also keeps the history as a page for a browser, see [History.WriteHTML].
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
//   - After an error of a watch, client-go sleeps until a millisecond after the process' previous error, by
//     the time of day: in a bubble that may be decades. Where a test breaks watches, reduce
//     runtime.ErrorHandlers of k8s.io/apimachinery/pkg/util to its first element.
//   - A metadata-only watch (builder.OnlyMetadata, metadatainformer) whose context ends leaves a goroutine in
//     watch.Filter, which makes the bubble panic. It returns if the transport reports the end of a canceled
//     request as io.EOF: see TestControllerRuntimeMetadataWatch in examples/interop for a RoundTripper for
//     rest.Config.Wrap.
//
// Outside a bubble everything works in real time, except Settle; [Cluster.Kubeconfig] works only there.
package controllertest
