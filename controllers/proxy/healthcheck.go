package proxy

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// healthChecks are the servers at the healthCheckNodePorts of Services: they report to load balancers whether
// this node has endpoints. set and close are called by one goroutine.
type healthChecks struct {
	kernel  Kernel
	log     *slog.Logger
	healthy func() bool
	servers map[types.NamespacedName]*healthCheck
}

type healthCheck struct {
	port    uint16
	addrs   []netip.Addr
	service types.NamespacedName
	healthy func() bool
	server  *http.Server
	serving sync.WaitGroup

	mu    sync.Mutex
	local int
}

// set opens, closes and updates servers to fit the ports and the addresses they are served on.
func (h *healthChecks) set(ctx context.Context, families map[Family]*family, addrs []netip.Addr) {
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
		if ports[key] != s.port || !slices.Equal(addrs, s.addrs) {
			s.close()
			delete(h.servers, key)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(ports), types.NamespacedName.Compare) {
		s := h.servers[key]
		if s == nil {
			var err error
			if s, err = h.open(ctx, key, ports[key], addrs); err != nil {
				h.log.Error("serve health checks of service failed", "namespace", key.Namespace, "name", key.Name, "err", err)
				continue
			}
			h.servers[key] = s
		}
		s.mu.Lock()
		s.local = len(local[key])
		s.mu.Unlock()
	}
}

// open serves the port on all addresses, or on those where it can.
func (h *healthChecks) open(ctx context.Context, key types.NamespacedName, port uint16, addrs []netip.Addr) (*healthCheck, error) {
	var listeners []net.Listener
	var errs []error
	for _, a := range addrs {
		network := "tcp4"
		if a.Is6() {
			network = "tcp6"
		}
		l, err := h.kernel.Listen(ctx, network, netip.AddrPortFrom(a, port).String())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		listeners = append(listeners, l)
	}
	err := errors.Join(errs...)
	if len(listeners) == 0 {
		if err == nil {
			err = errors.New("the node has no address for node ports")
		}
		return nil, err
	}
	if err != nil {
		h.log.Warn("serve health checks of service on all addresses failed", "namespace", key.Namespace, "name", key.Name, "err", err)
	}
	s := &healthCheck{port: port, addrs: slices.Clone(addrs), service: key, healthy: h.healthy}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug)}
	for _, l := range listeners {
		s.serving.Go(func() { _ = s.server.Serve(l) })
	}
	return s, nil
}

func (s *healthCheck) close() {
	_ = s.server.Close()
	s.serving.Wait()
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
