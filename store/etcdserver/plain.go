package etcdserver

import (
	"fmt"
	"net/http"
	"strings"

	"go.etcd.io/etcd/api/v3/version"
	"google.golang.org/grpc"
)

// handler routes gRPC calls to rpc and serves the plain paths. /health, /livez and /readyz read the store.
func (s *Server) handler(rpc *grpc.Server) http.Handler {
	plain := http.NewServeMux()
	for _, path := range []string{"/livez", "/readyz"} {
		plain.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { s.healthy(w, r, "ok\n", "unavailable: %v\n") })
	}
	plain.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		s.healthy(w, r, `{"health":"true","reason":""}`, `{"health":"false","reason":%q}`)
	})
	plain.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"etcdserver":%q,"etcdcluster":%q}`, version.Version, clusterVersion())
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			rpc.ServeHTTP(w, r)
			return
		}
		plain.ServeHTTP(w, r)
	})
}

func (s *Server) healthy(w http.ResponseWriter, r *http.Request, yes, no string) {
	if _, err := s.store.Progress(r.Context(), nowhere); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, no, err.Error())
		return
	}
	_, _ = fmt.Fprint(w, yes)
}

// clusterVersion is the version without its patch, as a cluster of such members agrees on.
func clusterVersion() string {
	minor := version.Version[:strings.LastIndex(version.Version, ".")]
	return minor + ".0"
}
