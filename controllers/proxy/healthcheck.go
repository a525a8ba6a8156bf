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

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
)

// healthChecks are the servers at the healthCheckNodePorts of Services: they report to load balancers whether
// this node has endpoints. Their methods are called by one goroutine.
type healthChecks struct {
	p     *Proxy
	addrs []netip.Addr
	// dirty are the Services to look at.
	dirty   map[types.NamespacedName]bool
	servers map[types.NamespacedName]*healthCheck
}

type healthCheck struct {
	port    uint16
	service types.NamespacedName
	healthy func() bool
	server  *http.Server
	serving sync.WaitGroup

	mu    sync.Mutex
	local int
}

func newHealthChecks(p *Proxy) *healthChecks {
	return &healthChecks{p: p, dirty: map[types.NamespacedName]bool{}, servers: map[types.NamespacedName]*healthCheck{}}
}

// listenOn changes the addresses that checks are served on.
func (h *healthChecks) listenOn(addrs []netip.Addr) {
	if slices.Equal(addrs, h.addrs) {
		return
	}
	h.addrs = addrs
	for key, s := range h.servers {
		s.close()
		delete(h.servers, key)
		h.dirty[key] = true
	}
}

// changed notes that a port has changed.
func (h *healthChecks) changed(c Change) {
	if c.Was != nil && c.Was.HealthCheckNodePort != 0 || c.Now != nil && c.Now.HealthCheckNodePort != 0 {
		h.dirty[c.Name().Service] = true
	}
}

// sync opens, closes and updates the servers of Services that changed. Those that cannot be opened are tried
// again with the next sync.
func (h *healthChecks) sync(ctx context.Context) {
	for _, key := range slices.SortedFunc(maps.Keys(h.dirty), types.NamespacedName.Compare) {
		port, local := h.local(key)
		s := h.servers[key]
		if s != nil && s.port != port {
			s.close()
			delete(h.servers, key)
			s = nil
		}
		if s == nil && port != 0 {
			var err error
			if s, err = h.open(ctx, key, port, local); err != nil {
				h.failed(key, port, err)
				continue
			}
			h.servers[key] = s
		}
		if s != nil {
			s.mu.Lock()
			s.local = local
			s.mu.Unlock()
		}
		delete(h.dirty, key)
	}
}

// failed names a port that cannot be served, once, in an event of its Service.
func (h *healthChecks) failed(key types.NamespacedName, port uint16, err error) {
	h.p.log.Error("serve health checks of service failed", "namespace", key.Namespace, "name", key.Name, "err", err)
	_ = h.p.services.Lister().View(key, func(svc *corev1.Service) {
		h.p.recorder.Eventf(svc, events.Warning, "FailedToStartServiceHealthcheck",
			"node %s failed to start healthcheck %q on port %d: %v", h.p.opts.NodeName, key.String(), port, err)
	})
}

// local returns the port of the checks of a Service, 0 if it has none, and the number of its endpoints on
// this node.
func (h *healthChecks) local(key types.NamespacedName) (port uint16, n int) {
	local := map[netip.Addr]bool{}
	for _, fam := range h.p.families {
		for _, p := range fam.table.Service(key) {
			if p.HealthCheckNodePort == 0 {
				continue
			}
			port = p.HealthCheckNodePort
			for _, ep := range p.Local {
				local[ep.Addr()] = true
			}
		}
	}
	return port, len(local)
}

// open serves the port on all addresses, or on those where it can. What it says from the first request on is
// the number of endpoints: a load balancer takes none for the end of them.
func (h *healthChecks) open(ctx context.Context, key types.NamespacedName, port uint16, local int) (*healthCheck, error) {
	var listeners []net.Listener
	var errs []error
	for _, a := range h.addrs {
		network := "tcp4"
		if a.Is6() {
			network = "tcp6"
		}
		l, err := h.p.opts.Kernel.Listen(ctx, network, netip.AddrPortFrom(a, port).String())
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
		h.p.log.Warn("serve health checks of service on all addresses failed", "namespace", key.Namespace, "name", key.Name, "err", err)
	}
	s := &healthCheck{port: port, service: key, local: local, healthy: h.p.health.healthy}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(h.p.log.Handler(), slog.LevelDebug)}
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
