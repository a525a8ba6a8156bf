package clusterdns

import (
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/ptr"
	"github.com/keelson-dev/keelson/informers"
)

// service is what the records of a Service are made of. It is not changed.
type service struct {
	types.NamespacedName
	// target is where an external name leads to.
	external bool
	target   string
	// ips are the cluster IPs; a headless Service has endpoints instead, those that are ready.
	headless  bool
	ips       []netip.Addr
	endpoints []endpoint
	byHost    map[string][]netip.Addr
	// ports are those of the cluster IP, or of each endpoint.
	ports  []port
	byName map[portName][]port
}

// endpoint is an address of an endpoint.
type endpoint struct {
	ip   netip.Addr
	host string // below the Service
}

type portName struct{ name, protocol string }

// port is a port that SRV records are made of.
type port struct {
	portName
	number   uint16
	endpoint *endpoint // nil for a port of a cluster IP
}

// serviceCache keeps what was read of each Service that was queried, until the Service or one of its
// EndpointSlices changes. So a query decodes nothing, and its price does not depend on the number of
// endpoints. It is safe for concurrent use.
type serviceCache struct {
	mu   sync.RWMutex
	slot map[types.NamespacedName]*slot
}

// slot is where the service is put that is being read. A change meanwhile removes the slot, so that what was
// read is used once and not kept.
type slot struct{ service atomic.Pointer[service] }

// get returns a service that is kept, or else what read returns.
func (s *serviceCache) get(key types.NamespacedName, read func() (*service, error)) (*service, error) {
	s.mu.RLock()
	kept := s.slot[key]
	s.mu.RUnlock()
	if kept != nil {
		if svc := kept.service.Load(); svc != nil {
			return svc, nil
		}
	}
	mine := &slot{}
	s.mu.Lock()
	s.slot[key] = mine
	s.mu.Unlock()
	svc, err := read()
	if err != nil {
		s.mu.Lock()
		if s.slot[key] == mine {
			delete(s.slot, key)
		}
		s.mu.Unlock()
		return nil, err
	}
	mine.service.Store(svc)
	return svc, nil
}

func (s *serviceCache) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.slot, key)
}

// follow forgets what changes. Informers hold a change before they call handlers.
func (s *serviceCache) follow(svcs *informers.Informer[*corev1.Service], eps *informers.Informer[*discoveryv1.EndpointSlice]) {
	svcs.AddHandler(func(e informers.Event[*corev1.Service]) { s.forget(e.Key) },
		informers.HandlerOptions{Undecodable: func(u informers.Undecodable) { s.forget(u.Key) }})
	eps.AddHandler(func(e informers.Event[*discoveryv1.EndpointSlice]) {
		s.forget(serviceOf(e.Key.Namespace, e.Labels))
		if e.Type == informers.Updated {
			s.forget(serviceOf(e.Key.Namespace, e.OldLabels()))
		}
	}, informers.HandlerOptions{Undecodable: func(u informers.Undecodable) { s.forget(serviceOf(u.Key.Namespace, u.Labels)) }})
}

func serviceOf(namespace string, labels map[string]string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: labels[discoveryv1.LabelServiceName]}
}

// find returns a Service; the errors are those of a Lister.
func (s *Server) find(key types.NamespacedName) (*service, error) {
	return s.kept.get(key, func() (svc *service, err error) {
		err = s.services.View(key, func(obj *corev1.Service) { svc = s.read(obj) })
		return svc, err
	})
}

// read makes a service of an object and its EndpointSlices, as far as these can be decoded.
func (s *Server) read(obj *corev1.Service) *service {
	svc := &service{NamespacedName: metav1.KeyOf(obj), external: obj.Spec.Type == corev1.ServiceTypeExternalName, headless: headless(obj)}
	switch {
	case svc.external:
		svc.target = obj.Spec.ExternalName
	case !svc.headless:
		for _, text := range clusterIPs(obj) {
			if ip, err := netip.ParseAddr(text); err == nil {
				svc.ips = append(svc.ips, ip.Unmap())
			}
		}
		for _, p := range obj.Spec.Ports {
			svc.add(port{portName: portName{p.Name, protocol(p.Protocol)}, number: uint16(p.Port)})
		}
	default:
		svc.byHost = map[string][]netip.Addr{}
		_ = s.slicesByService.View(svc.String(), func(sl *discoveryv1.EndpointSlice) bool {
			svc.addSlice(sl)
			return true
		})
	}
	return svc
}

func (svc *service) addSlice(sl *discoveryv1.EndpointSlice) {
	if sl.AddressType == discoveryv1.AddressTypeFQDN {
		return
	}
	for i := range sl.Endpoints {
		e := &sl.Endpoints[i]
		if !ready(e) {
			continue
		}
		for _, text := range e.Addresses {
			ip, err := netip.ParseAddr(text)
			if err != nil {
				continue
			}
			ep := endpoint{ip.Unmap(), hostOf(e, text)}
			svc.endpoints = append(svc.endpoints, ep)
			svc.byHost[ep.host] = append(svc.byHost[ep.host], ep.ip)
			for _, p := range sl.Ports {
				if p.Port != nil {
					svc.add(port{portName{ptr.Deref(p.Name), protocol(ptr.Deref(p.Protocol))}, uint16(*p.Port), &ep})
				}
			}
		}
	}
}

func (svc *service) add(p port) {
	if svc.byName == nil {
		svc.byName = map[portName][]port{}
	}
	svc.ports = append(svc.ports, p)
	svc.byName[p.portName] = append(svc.byName[p.portName], p)
}

// ready reports whether records lead to an endpoint. One without the condition is ready.
func ready(e *discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }

func headless(obj *corev1.Service) bool { return obj.Spec.ClusterIP == corev1.ClusterIPNone }

func protocol(p corev1.Protocol) string {
	if p == "" {
		return "tcp"
	}
	return strings.ToLower(string(p))
}
