// Package tracing makes OpenTelemetry spans of what a program of package manager does: one trace leads from
// the event of an informer by way of the queue and the reconcile to the requests to the API server. It is a
// module of its own, so that programs without it do not require OpenTelemetry.
//
//	t := tracing.New(tracing.Options{}) // with the global TracerProvider
//	cfg.Wrap = t.Transport
//	conn, err := rest.New(cfg, rest.Options{})
//	m := manager.New(conn, manager.Options{OnEvent: t.OnEvent, Wrap: t.Wrap})
//
// The spans of a trace, each a child of the one above it:
//
//	event ConfigMap                      when the change arrived; controller, key, resourceVersion
//	├─ queue CONTROLLER                  from then until a worker took the key
//	└─ reconcile CONTROLLER              one run of the reconciler, with its error
//	   └─ GET /api/v1/configmaps/{name}  one attempt of a request; sent to the server as traceparent
//
// It guarantees that
//
//   - events of a key that arrive while it is queued are one run: the trace is that of the first, and the
//     span of the run has links to the event spans of the others, of up to 32;
//   - a run that is retried after an error is in the same trace, with a queue span of its own; a run without
//     an event, such as one after RequeueAfter, is the root of a trace;
//   - requests outside of runs, such as those of informers and leader election, make no spans and have no
//     traceparent;
//   - the logger of a run has the attribute traceID, if the trace is sampled;
//   - nothing blocks and nothing is lost if spans are not sampled. Of at most 100,000 queued keys the event
//     is kept; the runs of further ones are roots.
package tracing
