// Package profiles serves the profiles of a program: those of the heap and of goroutines, the processor for
// some seconds, traces of the scheduler. They are served where the program says so and nowhere else:
//
//	pages := health.New(health.Options{Addr: ":8443", Certificate: ...})
//	gate := delegated.Gate{Authenticate: ..., Authorize: ..., Attributes: delegated.ByPath}
//	pages.Handle("/metrics", gate.Wrap(measured))
//	pages.Handle(profiles.Path, gate.Wrap(profiles.Handler()))
//
// A profile has names of functions, arguments of the command line and the time that things take, and making
// one costs processor time: serve them to administrators only. The right is that of the verb get (post for
// symbol) on the path, such as a ClusterRole with nonResourceURLs /debug/pprof/*.
//
// The package imports net/http/pprof, which also registers its handlers with http.DefaultServeMux: a program
// that imports it must not serve that mux. Nothing of Keelson does.
package profiles

import (
	"net/http"
	"net/http/pprof"
)

// Path is the path of the profiles, as a pattern of http.ServeMux.
const Path = "/debug/pprof/"

// Handler returns a handler of everything below Path, as `go tool pprof` expects it: /debug/pprof/ lists the
// profiles, /debug/pprof/heap is one. The query parameter seconds of profile and trace is how long they run;
// a server with a WriteTimeout needs one that is longer.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(Path, pprof.Index)
	mux.HandleFunc(Path+"cmdline", pprof.Cmdline)
	mux.HandleFunc(Path+"profile", pprof.Profile)
	mux.HandleFunc(Path+"symbol", pprof.Symbol)
	mux.HandleFunc(Path+"trace", pprof.Trace)
	return mux
}
