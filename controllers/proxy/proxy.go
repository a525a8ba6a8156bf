package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// slicesByService finds EndpointSlices by the key of their Service.
var slicesByService = informers.DefineIndex("proxy.service", func(s *discoveryv1.EndpointSlice) []string {
	return []string{serviceOf(s.Namespace, s.Labels).String()}
})

// annotationTrigger is when the change behind a slice happened.
const annotationTrigger = "endpoints.kubernetes.io/last-change-trigger-time"

// stopTimeout is how long removing the rules may take after the end.
const stopTimeout = 15 * time.Second

// Proxy maintains the rules of one node. Its methods may be called concurrently.
type Proxy struct {
	opts     Options
	log      *slog.Logger
	services *informers.Informer[*corev1.Service]
	slices   *informers.Informer[*discoveryv1.EndpointSlice]
	// byService finds in slices.
	byService informers.Index[*discoveryv1.EndpointSlice]
	nodes     *informers.Informer[*corev1.Node]
	kick      chan struct{}
	health    health

	mu sync.Mutex
	// dirty are the Services that changed since the last look, with the earliest time a slice tells.
	dirty map[types.NamespacedName]time.Time
	// changed says that something must be written.
	changed bool

	// The rest belongs to the goroutine of Run.
	families map[Family]*family
	// cleaned are the families without Services from which what an earlier run left is removed.
	cleaned map[Family]bool
	facts   nodeFacts
	checks  *healthChecks
}

// family is the state of one IP family.
type family struct {
	cfg      Config
	compiler *Compiler
	applier  *applier
	ports    map[types.NamespacedName][]*ServicePort
	// flows is set while UDP flows have to be looked at.
	flows bool
}

// Add adds a proxy to m. It runs on every replica, leader or not.
func Add(m *manager.Manager, opts Options) error {
	p, err := New(m, opts)
	if err != nil {
		return err
	}
	m.AddWithoutLeaderElection("proxy of node "+p.opts.NodeName, p)
	return nil
}

// New returns a proxy, to be run with m.AddWithoutLeaderElection, for programs that use its handlers. It
// watches Services, EndpointSlices and its own Node through the informers of m.
func New(m *manager.Manager, opts Options) (*Proxy, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if opts.Logger == nil {
		opts.Logger = m.Logger()
	}
	set := m.Informers()
	p := &Proxy{
		opts: opts, log: opts.Logger,
		services: informers.For[*corev1.Service](set),
		slices:   informers.For[*discoveryv1.EndpointSlice](set),
		nodes:    informers.For(set, informers.Options[*corev1.Node]{FieldSelector: fields.OneEqual("metadata.name", opts.NodeName)}),
		kick:     make(chan struct{}, 1),
		dirty:    map[types.NamespacedName]time.Time{},
		families: map[Family]*family{}, cleaned: map[Family]bool{},
	}
	p.health.period = opts.SyncPeriod
	p.checks = &healthChecks{kernel: opts.Kernel, log: p.log, healthy: p.health.healthy, servers: map[types.NamespacedName]*healthCheck{}}
	p.byService = p.slices.Index(slicesByService)
	p.services.AddHandler(p.onService, informers.HandlerOptions{})
	p.slices.AddHandler(p.onSlice, informers.HandlerOptions{})
	p.nodes.AddHandler(p.onNode, informers.HandlerOptions{})
	return p, nil
}

// Mode returns the mode of the proxy.
func (p *Proxy) Mode() Mode { return p.opts.Mode }

func serviceOf(namespace string, labels map[string]string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: labels[discoveryv1.LabelServiceName]}
}

func (p *Proxy) onService(e informers.Event[*corev1.Service]) {
	if e.Resync {
		return
	}
	call(p.opts.Metrics.Changed, "service")
	p.mark(e.Key, time.Time{})
}

func (p *Proxy) onSlice(e informers.Event[*discoveryv1.EndpointSlice]) {
	if e.Resync {
		return
	}
	call(p.opts.Metrics.Changed, "endpoint")
	var at time.Time
	if p.opts.Metrics.Programmed != nil && e.Type != informers.Deleted && !e.Initial {
		at, _ = time.Parse(time.RFC3339Nano, e.New().Annotations[annotationTrigger])
	}
	p.mark(serviceOf(e.Key.Namespace, e.Labels), at)
	if e.Type == informers.Updated {
		p.mark(serviceOf(e.Key.Namespace, e.Old().Labels), time.Time{})
	}
}

func (p *Proxy) onNode(e informers.Event[*corev1.Node]) {
	if e.Type == informers.Updated && reflect.DeepEqual(factsOf(e.Old()), factsOf(e.New())) {
		return
	}
	p.mu.Lock()
	p.wake()
	p.mu.Unlock()
}

// mark notes that a Service is to be looked at.
func (p *Proxy) mark(key types.NamespacedName, at time.Time) {
	if key.Name == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := p.dirty[key]; was.IsZero() || !at.IsZero() && at.Before(was) {
		p.dirty[key] = at
	}
	p.wake()
}

// wake asks for a sync; p.mu is held.
func (p *Proxy) wake() {
	if !p.changed {
		p.changed = true
		now := time.Now()
		p.health.queued(now)
		call(p.opts.Metrics.Queued, now)
	}
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

func factsOf(n *corev1.Node) nodeFacts {
	if n == nil {
		return nodeFacts{}
	}
	f := nodeFacts{node: Node{Name: n.Name, Zone: n.Labels[corev1.LabelTopologyZone]}, leaving: n.DeletionTimestamp != nil}
	for _, t := range n.Spec.Taints {
		// The autoscaler is about to remove the node: load balancers should look elsewhere.
		f.leaving = f.leaving || t.Key == "ToBeDeletedByClusterAutoscaler"
	}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP} {
		for _, a := range n.Status.Addresses {
			if ip, err := netip.ParseAddr(a.Address); err == nil && a.Type == kind {
				f.addrs = append(f.addrs, ip.Unmap())
			}
		}
	}
	cidrs := n.Spec.PodCIDRs
	if len(cidrs) == 0 && n.Spec.PodCIDR != "" {
		cidrs = []string{n.Spec.PodCIDR}
	}
	for _, c := range cidrs {
		if r, err := netip.ParsePrefix(c); err == nil {
			f.podCIDRs = append(f.podCIDRs, r)
		}
	}
	return f
}

// Run writes rules until ctx ends. Then it removes them, unless Options.KeepRules is set, and returns nil.
func (p *Proxy) Run(ctx context.Context) error {
	if err := p.start(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	err := p.loop(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	p.checks.close()
	if p.opts.KeepRules {
		return err
	}
	return errors.Join(err, Cleanup(ctx, p.opts.Kernel))
}

func (p *Proxy) start(ctx context.Context) error {
	for _, wait := range []func(context.Context) error{p.services.WaitForSync, p.slices.WaitForSync, p.nodes.WaitForSync} {
		if err := wait(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	tool := map[Mode]string{NFTables: "nft", IPTables: "iptables"}[p.opts.Mode]
	if _, err := p.opts.Kernel.Run(ctx, nil, tool, "--version"); err != nil && ctx.Err() == nil {
		return fmt.Errorf("proxy: mode %s needs the program %s: %w", p.opts.Mode, tool, err)
	}
	if err := p.sysctls(); err != nil {
		return err
	}
	// A run in the other mode may have left its rules, which would catch the traffic first.
	other := map[Mode]Mode{NFTables: IPTables, IPTables: NFTables}[p.opts.Mode]
	for _, f := range []Family{IPv4, IPv6} {
		a := &applier{mode: other, family: f, kernel: p.opts.Kernel, log: p.log}
		if err := a.cleanup(ctx); err != nil && ctx.Err() == nil {
			p.log.Warn("delete rules of a previous run in another mode failed", "mode", other, "family", f, "err", err)
		}
	}
	return nil
}

// loop syncs at most every MinSyncPeriod, at once if it has been quiet for that long; at least every
// SyncPeriod; and after a failure with growing delays.
func (p *Proxy) loop(ctx context.Context) error {
	periodic := time.NewTicker(p.opts.SyncPeriod)
	defer periodic.Stop()
	retry := time.NewTimer(time.Hour)
	retry.Stop()
	defer retry.Stop()
	delay := time.Duration(0)
	for first, look := true, false; ; first = false {
		began := time.Now()
		if err := p.sync(ctx, first, look); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			p.log.Error("write rules failed, keeping the previous ones", "err", err)
			delay = min(max(2*delay, time.Second), p.opts.SyncPeriod)
			retry.Reset(delay)
		} else {
			delay = 0
		}
		if !rest(ctx, p.opts.MinSyncPeriod-time.Since(began)) {
			return nil
		}
		look = false
		select {
		case <-ctx.Done():
			return nil
		case <-p.kick:
		case <-retry.C:
		case <-periodic.C:
			look = true
		}
	}
}

func rest(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// sync brings the kernel to what the informers say. With look it makes sure that the rules are still there.
func (p *Proxy) sync(ctx context.Context, first, look bool) error {
	p.mu.Lock()
	p.health.take()
	dirty := p.dirty
	p.dirty = map[types.NamespacedName]time.Time{}
	p.changed = false
	p.mu.Unlock()

	facts := nodeFacts{node: Node{Name: p.opts.NodeName}}
	err := p.nodes.Lister().View(types.NamespacedName{Name: p.opts.NodeName}, func(n *corev1.Node) { facts = factsOf(n) })
	if err != nil && !apierrors.IsNotFound(err) {
		facts = p.facts // the last that could be read
	}
	if facts.node != p.facts.node { // hints mean something else now
		keys, err := p.services.Lister().Keys(informers.ListOptions{})
		if err != nil {
			p.remark(dirty)
			return fmt.Errorf("proxy: services: %w", err)
		}
		for _, key := range keys {
			if _, there := dirty[key]; !there {
				dirty[key] = time.Time{}
			}
		}
	}
	p.facts = facts
	p.health.setLeaving(facts.leaving)
	var local []netip.Addr
	if p.opts.wantsLocal() {
		var err error
		if local, err = p.opts.Kernel.Addrs(); err != nil {
			p.remark(dirty)
			return fmt.Errorf("proxy: addresses of the node: %w", err)
		}
	}
	p.plan(dirty)
	if first || look {
		p.cleanIdle(ctx)
	}
	var errs []error
	for f, fam := range p.families {
		fam.configure(p, f, local)
		if look {
			p.look(ctx, f, fam)
		}
		if err := p.write(ctx, f, fam); err != nil {
			errs = append(errs, err)
			continue
		}
		p.forget(f, fam)
	}
	p.checks.set(ctx, p.families, p.healthAddrs(local))
	if err := errors.Join(errs...); err != nil {
		p.mu.Lock()
		p.changed = true
		p.mu.Unlock()
		return err
	}
	now := time.Now()
	p.health.synced(now)
	for _, at := range dirty {
		if !at.IsZero() {
			call(p.opts.Metrics.Programmed, now.Sub(at))
		}
	}
	p.countLocal()
	return nil
}

// look makes sure that the rules of a family are still there. If that cannot be found out, they are left as
// they are until the next look.
func (p *Proxy) look(ctx context.Context, f Family, fam *family) {
	there, err := fam.applier.intact(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		p.log.Warn("check of rules failed", "family", f, "err", err)
	case err == nil && !there:
		p.log.Warn("rules were removed by another program, writing all", "family", f)
		fam.applier.last = nil
	}
}

// cleanIdle removes, once, the rules that an earlier run has left of a family that has no Services.
func (p *Proxy) cleanIdle(ctx context.Context) {
	for _, f := range []Family{IPv4, IPv6} {
		if p.families[f] != nil || p.cleaned[f] {
			continue
		}
		a := &applier{mode: p.opts.Mode, family: f, kernel: p.opts.Kernel, log: p.log}
		if err := a.cleanup(ctx); err == nil {
			p.cleaned[f] = true
		} else if ctx.Err() == nil {
			p.log.Warn("delete rules of a previous run failed", "family", f, "err", err)
		}
	}
}

// healthAddrs are the addresses that health check node ports are served on, those of node ports.
func (p *Proxy) healthAddrs(local []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, f := range []Family{IPv4, IPv6} {
		cfg := p.opts.config(f, p.facts, local)
		if cfg.AllNodePortAddrs {
			out = append(out, map[Family]netip.Addr{IPv4: netip.IPv4Unspecified(), IPv6: netip.IPv6Unspecified()}[f])
			continue
		}
		out = append(out, cfg.NodePortAddrs...)
	}
	return out
}

// remark puts keys back that were taken but not looked at.
func (p *Proxy) remark(keys map[types.NamespacedName]time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = true
	for key, at := range keys {
		if _, there := p.dirty[key]; !there {
			p.dirty[key] = at
		}
	}
}

// plan looks at the dirty Services again.
func (p *Proxy) plan(dirty map[types.NamespacedName]time.Time) {
	p.family(IPv4)
	for key := range dirty {
		var eps []*discoveryv1.EndpointSlice
		// EndpointSlices that cannot be decoded are reported by the informer; traffic goes to the endpoints
		// of the others.
		_ = p.byService.View(key.String(), func(s *discoveryv1.EndpointSlice) bool {
			eps = append(eps, s)
			return true
		})
		plans := map[Family][]*ServicePort{}
		err := p.services.Lister().View(key, func(svc *corev1.Service) {
			for _, f := range []Family{IPv4, IPv6} {
				plans[f] = Plan(f, svc, eps, p.facts.node)
			}
		})
		if err != nil && !apierrors.IsNotFound(err) {
			// What it is now is not known: its rules stay as they are.
			continue
		}
		for _, f := range []Family{IPv4, IPv6} {
			// The rules of a family are made when there is a Service for them.
			if fam := p.families[f]; fam != nil || len(plans[f]) > 0 {
				p.family(f).put(key, plans[f])
			}
		}
	}
}

func (p *Proxy) family(f Family) *family {
	fam := p.families[f]
	if fam == nil {
		fam = &family{
			ports:   map[types.NamespacedName][]*ServicePort{},
			applier: &applier{mode: p.opts.Mode, family: f, kernel: p.opts.Kernel, log: p.log},
		}
		p.families[f] = fam
	}
	return fam
}

// put replaces the ports of a Service. A port that is as before stays the same pointer, and so its rules need
// not be made again.
func (f *family) put(key types.NamespacedName, ports []*ServicePort) {
	before := f.ports[key]
	for i, now := range ports {
		j := slices.IndexFunc(before, func(was *ServicePort) bool { return was.Name == now.Name })
		if j >= 0 && reflect.DeepEqual(before[j], now) {
			ports[i] = before[j]
		} else if now.Name.Protocol == corev1.ProtocolUDP {
			f.flows = true
		}
	}
	if len(ports) == 0 {
		delete(f.ports, key)
		return
	}
	f.ports[key] = ports
}

func (f *family) configure(p *Proxy, fam Family, local []netip.Addr) {
	cfg := p.opts.config(fam, p.facts, local)
	if f.compiler == nil || !reflect.DeepEqual(cfg, f.cfg) {
		f.cfg, f.compiler = cfg, NewCompiler(cfg)
	}
}

// all lists the ports in the order of their names.
func (f *family) all() []*ServicePort {
	var out []*ServicePort
	for _, key := range slices.SortedFunc(maps.Keys(f.ports), types.NamespacedName.Compare) {
		from := len(out)
		out = append(out, f.ports[key]...)
		slices.SortStableFunc(out[from:], func(a, b *ServicePort) int { return a.Name.Compare(b.Name) })
	}
	return out
}

func (p *Proxy) write(ctx context.Context, f Family, fam *family) error {
	began := time.Now()
	rules := fam.compiler.Compile(fam.all())
	did, err := fam.applier.apply(ctx, rules)
	if err != nil {
		if ctx.Err() == nil {
			call(p.opts.Metrics.Failed, f)
		}
		return err
	}
	if did != unchanged {
		call3(p.opts.Metrics.Synced, f, time.Since(began), did == full)
		if p.opts.Metrics.Rules != nil {
			for table, n := range rules.Len() {
				p.opts.Metrics.Rules(f, table, n)
			}
		}
		p.log.Debug("rules written", "family", f, "all", did == full, "took", time.Since(began))
	}
	return nil
}

func (p *Proxy) countLocal() {
	if p.opts.Metrics.NoLocalEndpoints == nil {
		return
	}
	internal, external := 0, 0
	for _, fam := range p.families {
		for _, ports := range fam.ports {
			for _, sp := range ports {
				if !sp.AnyEndpoint || len(sp.Local) > 0 {
					continue
				}
				if sp.InternalLocal {
					internal++
				}
				if sp.ExternalLocal {
					external++
				}
			}
		}
	}
	p.opts.Metrics.NoLocalEndpoints("internal", internal)
	p.opts.Metrics.NoLocalEndpoints("external", external)
}
