// Package health tells kubelet's probes whether a program is alive and whether it is ready, by checks that
// have names.
//
//	h := health.New(health.Options{Addr: ":8081"})
//	h.Live("leader-election", func(context.Context) error { return elector.Healthy(20 * time.Second) })
//	h.Ready("informers", func(context.Context) error { return m.Informers().Ready() })
//	m.AddAlways("health", h)
//
// What is promised:
//
//   - GET /livez and /healthz answer 200 when all checks of [Server.Live] pass, /readyz when those and all of
//     [Server.Ready] do, and 500 otherwise. A standby that waits for the lease is ready.
//   - ?verbose lists every check, ?exclude=NAME leaves one out, /readyz/NAME asks one alone, as with a
//     Kubernetes API server.
//   - Why a check failed is logged, once for as long as it goes on, and not told to whoever asks: probes come
//     without credentials.
//   - A check that panics or does not return in time has failed, and holds up neither the others nor the end
//     of the program.
//
// [Server.Handle] serves measurements and the like beside them.
package health
