package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// slicesByService finds EndpointSlices by the key of their Service.
var slicesByService = informers.DefineIndex("proxy.service", func(s *discoveryv1.EndpointSlice) []string {
	return []string{serviceOf(s.Namespace, s.Labels).String()}
})

// served selects what this proxy, and any at all, serves.
var served = labels.MustParse("!" + LabelProxyName + ",!" + labelHeadless)

// annotationTrigger is when the change behind a slice happened.
const annotationTrigger = "endpoints.kubernetes.io/last-change-trigger-time"

// stopTimeout is how long removing the rules may take after the end.
const stopTimeout = time.Minute

// Proxy maintains the rules of one node. Its methods may be called concurrently.
type Proxy struct {
	opts     Options
	log      *slog.Logger
	services *informers.Informer[*corev1.Service]
	slices   *informers.Informer[*discoveryv1.EndpointSlice]
	// byService finds in slices.
	byService informers.Index[*discoveryv1.EndpointSlice]
	nodes     *informers.Informer[*corev1.Node]
	// serviceCIDRs is nil if they are not watched.
	serviceCIDRs *informers.Informer[*networkingv1.ServiceCIDR]
	kick         chan struct{}
	health       health

	mu sync.Mutex
	// dirty are the Services that changed since the last look, with the earliest trigger time of their
	// slices.
	dirty map[types.NamespacedName]time.Time
	// waiting are those of dirty that changed themselves, and those of which a slice changed, for
	// Metrics.Pending.
	waiting waiting
	// changed says that something must be written.
	changed bool
	// stale says that the Node or the service CIDRs must be looked at.
	stale bool

	// The rest belongs to the goroutine of Run.
	families map[Family]*family
	facts    nodeFacts
	lacking  string       // what the Node object has not yet, as was logged last
	began    time.Time    // when the Node was known
	local    []netip.Addr // of the node's interfaces, if they are needed
	checks   *healthChecks
	recorder *events.Recorder
	// cleanedOthers reports what became of the rules of other modes.
	cleanedOthers cleaning
}

// waiting are Services, by the resource that changed.
type waiting map[string]map[types.NamespacedName]bool

type cleaning int

const (
	cleanPending cleaning = iota
	cleanFailed
	cleanDone
)

// family is the state of one IP family.
type family struct {
	writer
	// used reports that there has been a Service; without one nothing is written. cleaned reports that what
	// an earlier run left is removed then.
	used, cleaned bool
	// flows are the UDP ports whose flows have to be looked at.
	flows map[PortName]bool
	// config is what the backend should have, configured whether it has.
	config     Config
	configured bool
}

var bothFamilies = []Family{IPv4, IPv6}

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
// watches Services, EndpointSlices, its own Node and, for nftables, ServiceCIDRs through the informers of m.
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
		services: informers.For(set, informers.Options[*corev1.Service]{LabelSelector: served}),
		slices:   informers.For(set, informers.Options[*discoveryv1.EndpointSlice]{LabelSelector: served}),
		nodes:    informers.For(set, informers.Options[*corev1.Node]{FieldSelector: fields.OneEqual("metadata.name", opts.NodeName)}),
		kick:     make(chan struct{}, 1),
		stale:    true,
		dirty:    map[types.NamespacedName]time.Time{},
		waiting:  waiting{},
		families: map[Family]*family{}, recorder: m.Recorder("kube-proxy"),
	}
	for _, f := range bothFamilies {
		p.families[f] = &family{flows: map[PortName]bool{}, writer: writer{
			table: NewTable(f, Node{Name: opts.NodeName}), log: p.log, pending: map[PortName]Change{}, refused: map[PortName]*refusal{},
			onRefused: func(c Change, err error) { p.onRefused(f, c, err) },
			onPartial: func() { call(p.opts.Metrics.PartialFailed, f) },
		}}
	}
	if err := p.setMode(opts.Mode); err != nil {
		return nil, err
	}
	p.health.period = opts.SyncPeriod
	p.checks = newHealthChecks(p)
	p.byService = p.slices.Index(slicesByService)
	p.services.AddHandler(p.onService, informers.HandlerOptions{})
	p.slices.AddHandler(p.onSlice, informers.HandlerOptions{})
	p.nodes.AddHandler(p.onNode, informers.HandlerOptions{})
	p.watchServiceCIDRs(set)
	return p, nil
}

// Mode returns the mode of the proxy. It changes at most once, soon after the start of Run: see
// Options.FallBack.
func (p *Proxy) Mode() Mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opts.Mode
}

// setMode chooses the backends.
func (p *Proxy) setMode(mode Mode) error {
	p.mu.Lock()
	p.opts.Mode = mode
	p.mu.Unlock()
	for f, fam := range p.families {
		var err error
		if fam.backend, err = NewBackend(mode, f, p.opts.backend(p.log)); err != nil {
			return err
		}
	}
	return nil
}

func serviceOf(namespace string, labels map[string]string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: labels[discoveryv1.LabelServiceName]}
}

func (p *Proxy) onService(e informers.Event[*corev1.Service]) {
	if e.Resync {
		return
	}
	call(p.opts.Metrics.Changed, "service")
	p.mark("service", e.Key, time.Time{})
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
	p.mark("endpoint", serviceOf(e.Key.Namespace, e.Labels), at)
	if e.Type == informers.Updated {
		p.mark("endpoint", serviceOf(e.Key.Namespace, e.OldLabels()), time.Time{})
	}
}

func (p *Proxy) onNode(e informers.Event[*corev1.Node]) {
	if e.Type == informers.Updated && reflect.DeepEqual(factsOf(e.Old()), factsOf(e.New())) {
		return
	}
	p.lookAgain()
}

// lookAgain wakes for another look at the Node and the service CIDRs.
func (p *Proxy) lookAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stale = true
	p.wake()
}

// mark notes that a Service is to be looked at because of a resource.
func (p *Proxy) mark(resource string, key types.NamespacedName, at time.Time) {
	if key.Name == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := p.dirty[key]; was.IsZero() || !at.IsZero() && at.Before(was) {
		p.dirty[key] = at
	}
	if p.opts.Metrics.Pending != nil {
		p.wait(resource, key)
		p.opts.Metrics.Pending(resource, len(p.waiting[resource]))
	}
	p.wake()
}

// wait notes that a Service waits for a sync; p.mu is held.
func (p *Proxy) wait(resource string, key types.NamespacedName) {
	if p.waiting[resource] == nil {
		p.waiting[resource] = map[types.NamespacedName]bool{}
	}
	p.waiting[resource][key] = true
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
	p.began = time.Now()
	if err := p.probe(ctx); err != nil {
		return err
	}
	// The tools of the other family may be missing as long as no Service needs them.
	if err := p.families[IPv6].backend.Probe(ctx); err != nil && ctx.Err() == nil {
		p.log.Warn("prepare family failed", "family", IPv6, "err", err)
	}
	return p.opts.sysctls(p.log)
}

// probe finds out whether the mode is available on the node, and falls back to another one if it may.
func (p *Proxy) probe(ctx context.Context) error {
	err := p.families[IPv4].backend.Probe(ctx)
	if err == nil && p.opts.Mode == IPVS {
		p.log.Warn("mode ipvs is deprecated since Kubernetes 1.35: use nftables")
		p.recorder.About(p.nodeReference(), nil, events.Warning, "IPVSDeprecated", "The proxy uses mode ipvs, which is deprecated since Kubernetes 1.35: use nftables")
	}
	if err == nil || p.opts.Mode != IPVS || !p.opts.FallBack || ctx.Err() != nil {
		return err
	}
	p.log.Warn("mode ipvs is not available, falling back to iptables", "err", err)
	p.recorder.About(p.nodeReference(), nil, events.Warning, "FallBackToIPTables", fmt.Sprintf("Mode ipvs is not available, the proxy uses iptables: %v", err))
	if err := p.setMode(IPTables); err != nil {
		return err
	}
	return p.families[IPv4].backend.Probe(ctx)
}

// nodeReference refers to the Node of the proxy. As kubelets do, it has the name in place of the UID.
func (p *Proxy) nodeReference() corev1.ObjectReference {
	return corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: p.opts.NodeName, UID: types.UID(p.opts.NodeName)}
}

// cleanOthers removes, once, the rules that a run in another mode has left. Until the first write they serve,
// and then they would catch traffic before those of this one.
func (p *Proxy) cleanOthers(ctx context.Context, again bool) {
	if p.cleanedOthers == cleanDone || p.cleanedOthers == cleanFailed && !again {
		return
	}
	p.cleanedOthers = cleanDone
	if err := cleanModes(ctx, p.opts.backend(p.log)); err != nil && ctx.Err() == nil {
		p.cleanedOthers = cleanFailed
		p.log.Warn("delete rules of a previous run in another mode failed", "err", err)
	}
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
	for look := false; ; {
		began := time.Now()
		if err := p.sync(ctx, look); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			p.log.Error("write rules failed, keeping the previous ones", "err", err)
			delay = min(max(2*delay, time.Second), p.opts.SyncPeriod)
			retry.Reset(delay)
		} else {
			delay = 0
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
		// After a quiet time there is no need for another timer.
		if !rest(ctx, p.opts.MinSyncPeriod-time.Since(began)) {
			return nil
		}
		select {
		case <-p.kick: // what came meanwhile is looked at now
		default:
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
func (p *Proxy) sync(ctx context.Context, look bool) error {
	p.mu.Lock()
	p.health.take()
	dirty := p.dirty
	p.dirty = map[types.NamespacedName]time.Time{}
	taken := p.waiting
	p.waiting = waiting{}
	p.changed = false
	stale := p.stale || look
	p.stale = false
	p.mu.Unlock()

	if stale {
		if err := p.look(dirty, look); err != nil {
			p.remark(dirty, taken)
			return err
		}
		p.configure()
	}
	p.countWaiting()
	p.plan(dirty)
	var errs []error
	for _, f := range bothFamilies {
		if err := p.syncFamily(ctx, f, p.families[f], look); err != nil {
			errs = append(errs, err)
		}
	}
	p.checks.sync(ctx)
	if err := errors.Join(errs...); err != nil {
		p.mu.Lock()
		p.changed = true
		p.mu.Unlock()
		return err
	}
	p.cleanOthers(ctx, look)
	now := time.Now()
	p.health.synced(now)
	for key, at := range dirty {
		for f, fam := range p.families {
			if !at.IsZero() && len(fam.table.services[key]) > 0 {
				call2(p.opts.Metrics.Programmed, f, now.Sub(at))
			}
		}
	}
	p.countLocal()
	return nil
}

// nodePatience is how long after its start the proxy says nothing of what the Node lacks: a new one has its
// addresses when the kubelet has been started, and its pod range later. It is kube-proxy's.
const nodePatience = 30 * time.Second

// look reads the Node, marks all Services as dirty if they need another look because of it, and reads the
// addresses of the node's interfaces if they are needed. With fresh it reads these again.
func (p *Proxy) look(dirty map[types.NamespacedName]time.Time, fresh bool) error {
	facts := nodeFacts{node: Node{Name: p.opts.NodeName}}
	err := p.nodes.Lister().View(types.NamespacedName{Name: p.opts.NodeName}, func(n *corev1.Node) { facts = factsOf(n) })
	if err != nil && !apierrors.IsNotFound(err) {
		facts = p.facts // the last that could be read
	}
	if facts.node != p.facts.node { // hints mean something else now
		keys, err := p.services.Lister().Keys(informers.ListOptions{})
		if err != nil {
			return fmt.Errorf("proxy: services: %w", err)
		}
		for _, key := range keys {
			if _, there := dirty[key]; !there {
				dirty[key] = time.Time{}
			}
		}
	}
	if p.opts.wantsLocal() && (fresh || p.local == nil || !slices.Equal(facts.addrs, p.facts.addrs)) {
		if p.local, err = p.opts.Kernel.Addrs(); err != nil {
			return fmt.Errorf("proxy: addresses of the node: %w", err)
		}
	}
	if err := p.lookAtServiceCIDRs(); err != nil {
		return err
	}
	p.facts = facts
	if lacking := p.opts.lacking(facts); lacking != p.lacking && (lacking == "" || time.Since(p.began) >= nodePatience) {
		p.lacking = lacking
		if lacking != "" {
			p.log.Warn("Node object is not complete", "node", p.opts.NodeName, "lacking", lacking)
		}
	}
	p.health.setLeaving(facts.leaving)
	return nil
}

// configure takes over what look has found.
func (p *Proxy) configure() {
	for f, fam := range p.families {
		fam.config, fam.configured = p.opts.config(f, p.facts, p.local), false
	}
	p.checks.listenOn(p.healthAddrs())
}

// syncFamily writes one family and does what depends on its changes.
func (p *Proxy) syncFamily(ctx context.Context, f Family, fam *family, look bool) error {
	// The rules of a family are made when there is a Service for them.
	fam.used = fam.used || fam.table.Len() > 0 || f == IPv4
	if !fam.used {
		p.cleanIdle(ctx, f, fam)
		return nil
	}
	if !fam.configured {
		fam.configured = true
		if fam.backend.Configure(fam.config) {
			fam.known = false
		}
	}
	if look && fam.known {
		p.check(ctx, f, fam)
		p.maintain(ctx, f, fam)
	}
	began := time.Now()
	d, did, err := fam.write(ctx)
	for _, c := range d.Ports {
		p.checks.changed(c)
		if stalesFlows(c) {
			fam.flows[c.Name()] = true
		}
	}
	call2(p.opts.Metrics.Refused, f, len(fam.refused))
	if err != nil {
		if ctx.Err() == nil {
			call(p.opts.Metrics.Failed, f)
		}
		return err
	}
	if did != unchanged {
		p.wrote(f, fam, did, time.Since(began))
	}
	p.forget(f, fam)
	return nil
}

func (p *Proxy) wrote(f Family, fam *family, did how, took time.Duration) {
	call3(p.opts.Metrics.Synced, f, took, did == full)
	if c, ok := fam.backend.(RuleCounter); ok {
		there, written := c.Rules()
		for table, n := range there {
			call3(p.opts.Metrics.Rules, f, table, n)
			if written != nil {
				call3(p.opts.Metrics.RulesWritten, f, table, written[table])
			}
		}
	}
	p.log.Debug("rules written", "family", f, "all", did == full, "took", took)
}

// onRefused names a port whose change the kernel refused, in an event of its Service.
func (p *Proxy) onRefused(f Family, c Change, err error) {
	name := c.Name()
	p.log.Error("write rules of service failed, keeping its previous ones", "namespace", name.Service.Namespace, "name", name.Service.Name, "port", name.Port, "family", f, "err", err)
	_ = p.services.Lister().View(name.Service, func(svc *corev1.Service) {
		p.recorder.Eventf(svc, events.Warning, "FailedToWriteRules", "Port %q has its previous %s rules on node %s: %v", name.Port, f, p.opts.NodeName, err)
	})
}

// check makes sure that the rules of a family are still there. If that cannot be found out, they are left as
// they are until the next time.
func (p *Proxy) check(ctx context.Context, f Family, fam *family) {
	there, err := fam.backend.Check(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		p.log.Warn("check of rules failed", "family", f, "err", err)
	case err == nil && !there:
		p.log.Warn("rules were removed by another program, writing all", "family", f)
		fam.known = false
	}
}

// maintain does the periodic work of a backend.
func (p *Proxy) maintain(ctx context.Context, f Family, fam *family) {
	if m, ok := fam.backend.(Maintainer); ok {
		if err := m.Maintain(ctx); err != nil && ctx.Err() == nil {
			p.log.Warn("maintain rules failed", "family", f, "err", err)
		}
	}
}

// cleanIdle removes, once, the rules that an earlier run has left of a family that has no Services.
func (p *Proxy) cleanIdle(ctx context.Context, f Family, fam *family) {
	if fam.cleaned {
		return
	}
	if err := fam.backend.Clean(ctx); err == nil {
		fam.cleaned = true
	} else if ctx.Err() == nil {
		p.log.Warn("delete rules of a previous run failed", "family", f, "err", err)
	}
}

// healthAddrs are the addresses that health check node ports are served on, those of node ports.
func (p *Proxy) healthAddrs() []netip.Addr {
	var out []netip.Addr
	for _, f := range bothFamilies {
		cfg := p.families[f].config
		if cfg.AllNodePortAddrs {
			out = append(out, map[Family]netip.Addr{IPv4: netip.IPv4Unspecified(), IPv6: netip.IPv6Unspecified()}[f])
			continue
		}
		out = append(out, cfg.NodePortAddrs...)
	}
	return out
}

// remark puts keys back that were taken but not looked at.
func (p *Proxy) remark(keys map[types.NamespacedName]time.Time, taken waiting) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed, p.stale = true, true
	for key, at := range keys {
		if _, there := p.dirty[key]; !there {
			p.dirty[key] = at
		}
	}
	for resource, keys := range taken {
		for key := range keys {
			p.wait(resource, key)
		}
	}
}

// countWaiting reports how many Services wait.
func (p *Proxy) countWaiting() {
	if p.opts.Metrics.Pending == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, resource := range []string{"service", "endpoint"} {
		p.opts.Metrics.Pending(resource, len(p.waiting[resource]))
	}
}

// plan looks at the dirty Services again.
func (p *Proxy) plan(dirty map[types.NamespacedName]time.Time) {
	for _, fam := range p.families {
		fam.table.SetNode(p.facts.node)
	}
	var eps []*discoveryv1.EndpointSlice
	for key := range dirty {
		found := false
		err := p.services.Lister().View(key, func(svc *corev1.Service) {
			found = true
			eps = eps[:0]
			if !ignored(svc) {
				// EndpointSlices that cannot be decoded are reported by the informer; traffic goes to the
				// endpoints of the others.
				_ = p.byService.View(key.String(), func(s *discoveryv1.EndpointSlice) bool {
					eps = append(eps, s)
					return true
				})
			}
			for _, fam := range p.families {
				fam.table.Set(key, svc, eps)
			}
		})
		// What a Service that cannot be read is now is not known: its rules stay as they are.
		if !found && (err == nil || apierrors.IsNotFound(err)) {
			for _, fam := range p.families {
				fam.table.Set(key, nil, nil)
			}
		}
	}
}

func (p *Proxy) countLocal() {
	if p.opts.Metrics.NoLocalEndpoints == nil {
		return
	}
	for _, f := range bothFamilies {
		n := p.families[f].table.noLocal
		p.opts.Metrics.NoLocalEndpoints(f, "internal", n[0])
		p.opts.Metrics.NoLocalEndpoints(f, "external", n[1])
	}
}
