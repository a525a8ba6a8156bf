// Package health serves liveness and readiness endpoints for the kubelet's probes, made of named checks.
//
//	h := health.New(health.Options{Addr: ":8081"})
//	h.Ready("database", func(ctx context.Context) error { return db.PingContext(ctx) })
//	m.AddHealth(h) // the manager's own checks: leader election, informers, mistakes that were logged
//
// It guarantees that
//
//   - GET /livez and /healthz answer 200 if all checks added with [Server.Live] pass, GET /readyz if those
//     and all checks added with [Server.Ready] pass, and 500 otherwise;
//   - ?verbose lists every check, ?exclude=NAME skips one, and /readyz/NAME runs only one, as with a
//     Kubernetes API server;
//   - a check added with [Server.Report] is part of /readyz?verbose, where its failure is shown, but never
//     makes the program unready;
//   - the reason of a failed check is logged when it starts to fail, and never sent to clients, because
//     probes are not authenticated; an error, or part of it, may have a method Public() string, whose result
//     is shown, such as the names of what fails;
//   - a check that panics or does not return in time fails, and blocks neither the other checks nor the end
//     of the program.
//
// [Server.Handle] serves other pages, such as metrics, on the same port.
package health
