package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// healthChecks are the servers at the healthCheckNodePorts of Services: they tell load balancers whether this node has
// endpoints. set and close are called by one goroutine.
type healthChecks struct {
	kernel  Kernel
	log     *slog.Logger
	healthy func() bool
	servers map[types.NamespacedName]*healthCheck
}

type healthCheck struct {
	port    uint16
	service types.NamespacedName
	healthy func() bool
	server  *http.Server
	done    chan struct{}

	mu    sync.Mutex
	local int
}

// set opens, closes and updates servers to fit the ports.
func (h *healthChecks) set(ctx context.Context, families map[Family]*family) {
	ports := map[types.NamespacedName]uint16{}
	local := map[types.NamespacedName]map[netip.Addr]bool{}
	for _, fam := range families {
		for key, list := range fam.ports {
			for _, p := range list {
				if p.HealthCheckNodePort == 0 {
					continue
				}
				ports[key] = p.HealthCheckNodePort
				if local[key] == nil {
					local[key] = map[netip.Addr]bool{}
				}
				for _, ep := range p.Local {
					local[key][ep.Addr()] = true
				}
			}
		}
	}
	for key, s := range h.servers {
		if ports[key] != s.port {
			s.close()
			delete(h.servers, key)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(ports), types.NamespacedName.Compare) {
		s := h.servers[key]
		if s == nil {
			var err error
			if s, err = h.open(ctx, key, ports[key]); err != nil {
				h.log.Error("health checks of a service cannot be answered", "namespace", key.Namespace, "name", key.Name, "err", err)
				continue
			}
			h.servers[key] = s
		}
		s.mu.Lock()
		s.local = len(local[key])
		s.mu.Unlock()
	}
}

func (h *healthChecks) open(ctx context.Context, key types.NamespacedName, port uint16) (*healthCheck, error) {
	l, err := h.kernel.Listen(ctx, "tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return nil, err
	}
	s := &healthCheck{port: port, service: key, healthy: h.healthy, done: make(chan struct{})}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug)}
	go func() {
		defer close(s.done)
		_ = s.server.Serve(l)
	}()
	return s, nil
}

func (s *healthCheck) close() {
	_ = s.server.Close()
	<-s.done
}

func (h *healthChecks) close() {
	for key, s := range h.servers {
		s.close()
		delete(h.servers, key)
	}
}

// ServeHTTP says how many endpoints of the Service are on this node; none is 503.
func (s *healthCheck) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	n := s.local
	s.mu.Unlock()
	healthy := s.healthy()
	w.Header().Set("X-Load-Balancing-Endpoint-Weight", strconv.Itoa(n))
	writeJSON(w, n > 0 && healthy, map[string]any{
		"service":             map[string]string{"namespace": s.service.Namespace, "name": s.service.Name},
		"localEndpoints":      n,
		"serviceProxyHealthy": healthy,
	})
}
