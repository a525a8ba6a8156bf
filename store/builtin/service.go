package builtin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/registry"
)

// serviceStrategy allocates addresses and node ports with the write that needs them.
func (k *Kinds) serviceStrategy() registry.Strategy {
	return registry.Strategy{
		CreateOnUpdate: true,
		ReturnsDeleted: true,
		PrepareCreate:  on(func(svc *corev1.Service) { corev1.NormalizeService(svc, nil) }),
		PrepareUpdate:  onBoth(corev1.NormalizeService),
		Reserve: func(ctx context.Context, obj, old metav1.Object) (registry.Reservation, error) {
			next, _ := obj.(*corev1.Service)
			before, _ := old.(*corev1.Service)
			if next == before {
				return registry.Reservation{}, nil // only metadata of a service being deleted changed
			}
			a := &serviceAllocation{kinds: k, svc: next, old: before}
			return a.run(ctx)
		},
	}
}

// serviceAllocation computes the addresses and ports that a write of a service allocates and releases.
type serviceAllocation struct {
	kinds    *Kinds
	svc, old *corev1.Service // either may be nil
	ops      []store.Op
	ports    *portMap
	errs     validation.ErrorList
	reports  []func() // see done
}

func (a *serviceAllocation) run(ctx context.Context) (registry.Reservation, error) {
	var undo func()
	if a.svc != nil {
		saved := a.svc.Spec
		saved.Ports, saved.ClusterIPs, saved.IPFamilies = slices.Clone(saved.Ports), slices.Clone(saved.ClusterIPs), slices.Clone(saved.IPFamilies)
		undo = func() {
			a.svc.Spec = saved
			a.svc.Spec.Ports = slices.Clone(saved.Ports)
		}
		a.chooseFamilies()
	}
	for _, step := range []func(context.Context) error{a.releaseAddresses, a.allocateAddresses, a.allocatePorts} {
		if len(a.errs) > 0 {
			break
		}
		if err := step(ctx); err != nil {
			return registry.Reservation{}, err
		}
	}
	if len(a.errs) > 0 {
		return registry.Reservation{}, apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, a.svc.Name, a.errs)
	}
	if a.ports != nil && a.ports.changed {
		op, err := a.ports.op()
		if err != nil {
			return registry.Reservation{}, err
		}
		a.ops = append(a.ops, op)
	}
	return registry.Reservation{Ops: a.ops, Undo: undo, Done: a.done}, nil
}

// usesAddresses reports whether cluster IPs are allocated to a service.
func usesAddresses(s *corev1.ServiceSpec) bool {
	return s.Type != corev1.ServiceTypeExternalName && !isHeadless(s)
}

func isHeadless(s *corev1.ServiceSpec) bool {
	return s.ClusterIP == corev1.ClusterIPNone || len(s.ClusterIPs) > 0 && s.ClusterIPs[0] == corev1.ClusterIPNone
}

// chooseFamilies fills ipFamilies and ipFamilyPolicy.
func (a *serviceAllocation) chooseFamilies() {
	s := &a.svc.Spec
	if s.Type == corev1.ServiceTypeExternalName {
		return
	}
	have := a.kinds.addresses.families()
	p := validation.NewPath("spec")
	headlessAnywhere := isHeadless(s) && len(s.Selector) == 0
	if len(s.IPFamilies) == 0 {
		for _, ip := range s.ClusterIPs {
			if f, ok := familyOfText(ip); ok {
				s.IPFamilies = append(s.IPFamilies, f)
			}
		}
	}
	if s.IPFamilyPolicy == nil {
		policy := corev1.IPFamilyPolicySingleStack
		if len(s.IPFamilies) == 2 || len(s.ClusterIPs) == 2 || headlessAnywhere && len(s.IPFamilies) == 0 {
			policy = corev1.IPFamilyPolicyRequireDualStack
		}
		s.IPFamilyPolicy = &policy
	}
	if headlessAnywhere {
		// No address depends on the cluster's families.
		have = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	}
	for i, f := range s.IPFamilies {
		if !slices.Contains(have, f) {
			a.errs = append(a.errs, validation.Invalid(p.Child("ipFamilies").Index(i), f, "not configured on this cluster"))
		}
	}
	if *s.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack && len(have) < 2 {
		a.errs = append(a.errs, validation.Invalid(p.Child("ipFamilyPolicy"), *s.IPFamilyPolicy, "this cluster is not configured for dual-stack services"))
	}
	if len(a.errs) > 0 {
		return
	}
	if len(s.IPFamilies) == 0 {
		s.IPFamilies = append(s.IPFamilies, have[0])
	}
	if *s.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack && len(s.IPFamilies) == 1 {
		for _, f := range have {
			if f != s.IPFamilies[0] {
				s.IPFamilies = append(s.IPFamilies, f)
			}
		}
	}
	if *s.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack && len(s.IPFamilies) == 2 && a.old != nil {
		s.IPFamilies = s.IPFamilies[:1]
		if len(s.ClusterIPs) == 2 {
			s.ClusterIPs = s.ClusterIPs[:1]
		}
	}
}

// addressesOf returns the cluster IPs that are allocated to a service.
func addressesOf(svc *corev1.Service) []string {
	if svc == nil || !usesAddresses(&svc.Spec) {
		return nil
	}
	if len(svc.Spec.ClusterIPs) == 0 && svc.Spec.ClusterIP != "" {
		return []string{svc.Spec.ClusterIP}
	}
	return svc.Spec.ClusterIPs
}

func (a *serviceAllocation) releaseAddresses(ctx context.Context) error {
	var released []string
	for _, ip := range addressesOf(a.old) {
		if !slices.Contains(addressesOf(a.svc), ip) {
			released = append(released, ip)
		}
	}
	if len(released) == 0 {
		return nil
	}
	ops, err := a.kinds.addresses.release(ctx, metav1.KeyOf(a.old), released)
	a.ops = append(a.ops, ops...)
	return err
}

func (a *serviceAllocation) allocateAddresses(ctx context.Context) error {
	if a.svc == nil {
		return nil
	}
	s := &a.svc.Spec
	if !usesAddresses(s) {
		if isHeadless(s) {
			s.ClusterIP, s.ClusterIPs = corev1.ClusterIPNone, []string{corev1.ClusterIPNone}
		}
		return nil
	}
	p := validation.NewPath("spec", "clusterIPs")
	before := addressesOf(a.old)
	for i, f := range s.IPFamilies {
		var op store.Op
		var err error
		switch {
		case i < len(s.ClusterIPs) && s.ClusterIPs[i] != "":
			if slices.Contains(before, s.ClusterIPs[i]) {
				continue
			}
			began := time.Now()
			op, err = a.kinds.addresses.take(ctx, a.svc, s.ClusterIPs[i])
			a.addressed(a.kinds.addresses.rangeOf(ctx, s.ClusterIPs[i]), true, began, err)
		default:
			var ip string
			began := time.Now()
			ip, op, err = a.kinds.addresses.pick(ctx, a.svc, f)
			from := ip
			if err != nil {
				from = a.kinds.addresses.first(f)
			}
			a.addressed(a.kinds.addresses.rangeOf(ctx, from), false, began, err)
			s.ClusterIPs = append(s.ClusterIPs[:i:i], ip)
		}
		switch {
		case errors.Is(err, errOutOfRange), errors.Is(err, errTaken):
			a.errs = append(a.errs, validation.Invalid(p, s.ClusterIPs, "failed to allocate IP "+s.ClusterIPs[i]+": "+err.Error()))
			return nil
		case err != nil:
			return fmt.Errorf("failed to allocate a serviceIP: %w", err)
		}
		a.ops = append(a.ops, op)
	}
	if len(s.ClusterIPs) > 0 {
		s.ClusterIP = s.ClusterIPs[0]
	}
	return nil
}

// usesPorts reports whether node ports are allocated to a service.
func usesPorts(s *corev1.ServiceSpec) bool {
	return s.Type == corev1.ServiceTypeNodePort ||
		s.Type == corev1.ServiceTypeLoadBalancer && (s.AllocateLoadBalancerNodePorts == nil || *s.AllocateLoadBalancerNodePorts)
}

// nodePortsOf returns the node ports that are allocated to a service, each once.
func nodePortsOf(svc *corev1.Service) []int32 {
	if svc == nil || svc.Spec.Type != corev1.ServiceTypeNodePort && svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	var out []int32
	for _, p := range svc.Spec.Ports {
		if p.NodePort != 0 && !slices.Contains(out, p.NodePort) {
			out = append(out, p.NodePort)
		}
	}
	if n := svc.Spec.HealthCheckNodePort; n != 0 && !slices.Contains(out, n) {
		out = append(out, n)
	}
	return out
}

func (a *serviceAllocation) allocatePorts(ctx context.Context) error {
	before, wanted := nodePortsOf(a.old), nodePortsOf(a.svc)
	needsHealth := a.svc != nil && corev1.NeedsHealthCheck(&a.svc.Spec)
	needs := a.svc != nil && (usesPorts(&a.svc.Spec) || needsHealth)
	if len(before) == 0 && len(wanted) == 0 && !needs {
		return nil
	}
	m, err := a.kinds.ports.load(ctx)
	if err != nil {
		return err
	}
	a.ports = m
	for _, port := range before {
		if !slices.Contains(wanted, port) {
			m.release(port)
		}
	}
	if a.svc == nil {
		return nil
	}
	return a.allocateWanted(m, before, needsHealth)
}

func (a *serviceAllocation) allocateWanted(m *portMap, before []int32, needsHealth bool) error {
	s := &a.svc.Spec
	p := validation.NewPath("spec")
	taken := slices.Clone(before)
	claim := func(at *validation.Path, port int32) {
		if slices.Contains(taken, port) {
			return // already allocated to the service, or the same port for another protocol
		}
		err := m.take(port)
		if a.ported(true, err); err != nil {
			a.errs = append(a.errs, validation.Invalid(at, port, err.Error()))
			return
		}
		taken = append(taken, port)
	}
	// The ports that the service names come first, so that none of them is picked for another of its ports.
	for i := range s.Ports {
		if n := s.Ports[i].NodePort; n != 0 && (s.Type == corev1.ServiceTypeNodePort || s.Type == corev1.ServiceTypeLoadBalancer) {
			claim(p.Child("ports").Index(i).Child("nodePort"), n)
		}
	}
	if n := s.HealthCheckNodePort; n != 0 && needsHealth {
		claim(p.Child("healthCheckNodePort"), n)
	}
	if len(a.errs) > 0 {
		return nil
	}
	if usesPorts(s) {
		for i := range s.Ports {
			if s.Ports[i].NodePort != 0 {
				continue
			}
			port, err := a.portFor(m, i)
			if err != nil {
				return fmt.Errorf("failed to allocate a nodePort: %w", err)
			}
			s.Ports[i].NodePort = port
		}
	}
	if needsHealth && s.HealthCheckNodePort == 0 {
		port, err := a.pickPort(m)
		if err != nil {
			return fmt.Errorf("failed to allocate a healthCheckNodePort: %w", err)
		}
		s.HealthCheckNodePort = port
	}
	return nil
}

// portFor returns the node port of one port: that of the same port of another protocol if possible, else a
// free one.
func (a *serviceAllocation) portFor(m *portMap, i int) (int32, error) {
	ports := a.svc.Spec.Ports
	for j := range ports {
		if j != i && ports[j].Port == ports[i].Port && ports[j].Protocol != ports[i].Protocol && ports[j].NodePort != 0 {
			free := true
			for k := range ports {
				if k != j && ports[k].NodePort == ports[j].NodePort && ports[k].Protocol == ports[i].Protocol {
					free = false
				}
			}
			if free {
				return ports[j].NodePort, nil
			}
		}
	}
	return a.pickPort(m)
}

func (a *serviceAllocation) pickPort(m *portMap) (int32, error) {
	port, err := m.pick()
	a.ported(false, err)
	return port, err
}

func familyOfText(ip string) (corev1.IPFamily, bool) {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return "", false
	}
	return familyOf(addr), true
}
