package dra

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/checkpoint"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// Options of a Manager.
type Options struct {
	// Path is that of the checkpoint of claims.
	Path string
	// Claim reads a ResourceClaim.
	Claim func(ctx context.Context, namespace, name string) (*resourcev1.ResourceClaim, error)
	Dial  pluginapi.Dialer
	Hooks Hooks
	Log   *slog.Logger
}

// Manager prepares the claims of pods before their containers start, and takes them back when the last pod
// that uses one has stopped. What it has begun to prepare is in a checkpoint, so that it is taken back even
// if the kubelet is killed meanwhile. Safe for concurrent use.
type Manager struct {
	Options
	drivers drivers
	health  health

	mu     sync.Mutex
	claims map[string]*claim        // by namespace/name
	busy   map[string]chan struct{} // claims that a driver works on; closed when it has done
}

// claim is what is known of one that pods of the node use.
type claim struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	// Pods are those that use it, sorted; Drivers those that have devices of it.
	Pods    []types.UID `json:"pods"`
	Drivers []string    `json:"drivers"`
	// Prepared is true once all drivers have prepared it. Devices are theirs, by driver.
	Prepared bool                             `json:"prepared,omitempty"`
	Devices  map[string][]pluginapi.DRADevice `json:"devices,omitempty"`
}

func (c *claim) key() string { return c.Namespace + "/" + c.Name }

func (c *claim) request() pluginapi.DRAClaim {
	return pluginapi.DRAClaim{Namespace: c.Namespace, UID: string(c.UID), Name: c.Name}
}

// New returns a manager that has the claims of the checkpoint. One that is corrupt is left out: the drivers
// are called again for the pods that run.
func New(opts Options) *Manager {
	m := &Manager{Options: opts, claims: map[string]*claim{}, busy: map[string]chan struct{}{}, health: health{byDriver: map[string]map[pluginapi.DRADeviceName]reported{}}}
	m.drivers.hooks, m.drivers.byName, m.drivers.lost = opts.Hooks, map[string][]*driver{}, map[string]*time.Timer{}
	kept, err := checkpoint.Load[[]*claim](opts.Path)
	if err != nil {
		opts.Log.Warn("load the claims of pods failed, their drivers prepare them again", "err", err)
	}
	if kept != nil {
		for _, c := range *kept {
			m.claims[c.key()] = c
		}
	}
	return m
}

// Register takes up a driver. serve runs until here ends, and then forgets the driver unless ctx has ended,
// which is the kubelet's: it is called for the pods that end with the kubelet.
func (m *Manager) Register(info *pluginapi.PluginInfo) (serve func(ctx, here context.Context), err error) {
	one, err := m.drivers.connect(info, m.Dial)
	if err != nil {
		return nil, err
	}
	return func(ctx, here context.Context) {
		var following sync.WaitGroup
		following.Go(func() { m.follow(here, one) })
		m.drivers.watch(here, one)
		following.Wait()
		if ctx.Err() == nil {
			m.drivers.remove(one)
		}
	}, nil
}

// Close ends all connections.
func (m *Manager) Close() { m.drivers.stop() }

// entry is a claim of a pod: its name in the pod, and that of the object.
type entry struct {
	ref, name string
	generated bool // from a template
}

// entries are the claims of a pod that there are.
func entries(pod *corev1.Pod) (list []entry, err error) {
	for i := range pod.Spec.ResourceClaims {
		c := &pod.Spec.ResourceClaims[i]
		if c.ResourceClaimName != nil {
			list = append(list, entry{ref: c.Name, name: *c.ResourceClaimName})
			continue
		}
		at := slices.IndexFunc(pod.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == c.Name })
		if at < 0 {
			return nil, fmt.Errorf("pod %q: ResourceClaim not created yet", pod.Namespace+"/"+pod.Name)
		}
		if name := pod.Status.ResourceClaimStatuses[at].ResourceClaimName; name != nil {
			list = append(list, entry{ref: c.Name, name: *name, generated: true})
		}
	}
	if x := pod.Status.ExtendedResourceClaimStatus; x != nil {
		list = append(list, entry{name: x.ResourceClaimName})
	}
	return list, nil
}

// Ready reports whether all claims of a pod have been prepared for it.
func (m *Manager) Ready(pod *corev1.Pod) bool {
	list, err := entries(pod)
	if err != nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range list {
		if c := m.claims[pod.Namespace+"/"+e.name]; c == nil || !c.Prepared || !slices.Contains(c.Pods, pod.UID) {
			return false
		}
	}
	return true
}

// Prepare lets the drivers prepare the claims of a pod. Nothing has begun if a claim is not the pod's or a
// driver is missing; after any other error it is to be called again, or Unprepare.
func (m *Manager) Prepare(ctx context.Context, pod *corev1.Pod) error {
	list, err := entries(pod)
	if err != nil {
		return err
	}
	var wanted []*claim
	for _, e := range list {
		object, err := m.Claim(ctx, pod.Namespace, e.name)
		if err != nil {
			return fmt.Errorf("fetch ResourceClaim %s: %w", e.name, err)
		}
		c, err := usable(pod, e, object)
		if err != nil {
			return err
		}
		for _, name := range c.Drivers {
			if _, err := m.drivers.get(name); err != nil {
				return err
			}
		}
		wanted = append(wanted, c)
	}
	if len(wanted) == 0 {
		return nil
	}
	release, err := m.occupy(ctx, keysOf(wanted))
	if err != nil {
		return err
	}
	defer release()
	todo, err := m.reference(pod.UID, wanted)
	if err != nil || len(todo) == 0 {
		return err
	}
	for name, batch := range byDriver(todo) {
		if err := m.prepare(ctx, name, batch); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range todo {
		c.Prepared = true
	}
	return m.save()
}

// usable returns what a pod uses of a claim, or why it may not use it.
func usable(pod *corev1.Pod, e entry, object *resourcev1.ResourceClaim) (*claim, error) {
	if e.generated && !slices.ContainsFunc(object.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Controller != nil && *o.Controller && o.UID == pod.UID }) {
		return nil, fmt.Errorf("ResourceClaim %s/%s was not created for pod %s/%s (pod is not owner)", object.Namespace, object.Name, pod.Namespace, pod.Name)
	}
	if !slices.ContainsFunc(object.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID }) {
		return nil, fmt.Errorf("pod %s (%s) is not allowed to use ResourceClaim %s (%s)", pod.Name, pod.UID, object.Name, object.UID)
	}
	if object.Status.Allocation == nil {
		return nil, fmt.Errorf("ResourceClaim %s: not allocated", object.Name)
	}
	c := &claim{Namespace: object.Namespace, Name: object.Name, UID: object.UID}
	for _, r := range object.Status.Allocation.Devices.Results {
		if !slices.Contains(c.Drivers, r.Driver) {
			c.Drivers = append(c.Drivers, r.Driver)
		}
	}
	slices.Sort(c.Drivers)
	return c, nil
}

func keysOf(list []*claim) []string {
	keys := make([]string, 0, len(list))
	for _, c := range list {
		keys = append(keys, c.key())
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// occupy waits until no other pod's call works on the claims. In the order of their names: two pods that
// share two claims do not wait for each other.
func (m *Manager) occupy(ctx context.Context, keys []string) (release func(), err error) {
	var held []string
	release = func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, key := range held {
			close(m.busy[key])
			delete(m.busy, key)
		}
	}
	for _, key := range keys {
		for {
			m.mu.Lock()
			other := m.busy[key]
			if other == nil {
				m.busy[key] = make(chan struct{})
				held = append(held, key)
			}
			m.mu.Unlock()
			if other == nil {
				break
			}
			select {
			case <-other:
			case <-ctx.Done():
				release()
				return nil, ctx.Err()
			}
		}
	}
	return release, nil
}

// reference notes that a pod uses claims, and returns those that are to be prepared.
func (m *Manager) reference(uid types.UID, wanted []*claim) (todo []*claim, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range wanted {
		have := m.claims[c.key()]
		if have != nil && have.UID != c.UID {
			return nil, fmt.Errorf("old ResourceClaim with same name %s and different UID %s still exists (previous pod force-deleted?!)", c.Name, have.UID)
		}
	}
	for _, c := range wanted {
		have := m.claims[c.key()]
		if have == nil {
			have = c
			m.claims[c.key()] = c
		}
		if !slices.Contains(have.Pods, uid) {
			have.Pods = append(have.Pods, uid)
			slices.Sort(have.Pods)
		}
		if !have.Prepared && !slices.Contains(todo, have) {
			todo = append(todo, have)
		}
	}
	return todo, m.save()
}

// byDriver are the requests about claims, by driver.
func byDriver(list []*claim) map[string][]pluginapi.DRAClaim {
	batches := map[string][]pluginapi.DRAClaim{}
	for _, c := range list {
		for _, name := range c.Drivers {
			batches[name] = append(batches[name], c.request())
		}
	}
	return batches
}

// prepare lets one driver prepare claims.
func (m *Manager) prepare(ctx context.Context, driver string, batch []pluginapi.DRAClaim) error {
	const method = "NodePrepareResources"
	reply, err := call[pluginapi.DRAPrepared](ctx, &m.drivers, driver, method, &pluginapi.DRAClaims{Claims: batch})
	if err != nil {
		return err
	}
	if err := checkAnswer(method, batch, reply.Claims, func(c pluginapi.DRAPreparedClaim) string { return c.Error }); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, q := range batch {
		c := m.claims[q.Namespace+"/"+q.Name]
		if c.Devices == nil {
			c.Devices = map[string][]pluginapi.DRADevice{}
		}
		c.Devices[driver] = reply.Claims[q.UID].Devices
	}
	return nil
}

// checkAnswer returns what is wrong with a driver's answer: it must be about the claims of the request.
func checkAnswer[T any](method string, batch []pluginapi.DRAClaim, answers map[string]T, failure func(T) string) error {
	for _, uid := range slices.Sorted(maps.Keys(answers)) {
		i := slices.IndexFunc(batch, func(q pluginapi.DRAClaim) bool { return q.UID == uid })
		if i < 0 {
			return fmt.Errorf("%s returned result for unknown claim UID %s", method, uid)
		}
		if text := failure(answers[uid]); text != "" {
			return fmt.Errorf("%s failed for ResourceClaim %s: %s", method, batch[i].Name, text)
		}
	}
	if n := len(batch) - len(answers); n != 0 {
		return fmt.Errorf("%s skipped %d ResourceClaims", method, n)
	}
	return nil
}

// Unprepare lets the drivers take back the claims that no other pod uses. It is to be called again after an
// error. Of a pod without claims it does nothing.
func (m *Manager) Unprepare(ctx context.Context, uid types.UID) error {
	found := m.usedBy(uid)
	if len(found) == 0 {
		return nil
	}
	release, err := m.occupy(ctx, keysOf(found))
	if err != nil {
		return err
	}
	defer release()
	found = m.usedBy(uid)
	var last []*claim
	m.mu.Lock()
	for _, c := range found {
		if len(c.Pods) == 1 {
			last = append(last, c)
		}
	}
	m.mu.Unlock()
	const method = "NodeUnprepareResources"
	for name, batch := range byDriver(last) {
		reply, err := call[pluginapi.DRAUnprepared](ctx, &m.drivers, name, method, &pluginapi.DRAClaims{Claims: batch})
		if err == nil {
			err = checkAnswer(method, batch, reply.Claims, func(f pluginapi.DRAFailure) string { return f.Error })
		}
		if err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range found {
		if c.Pods = slices.DeleteFunc(slices.Clone(c.Pods), func(u types.UID) bool { return u == uid }); len(c.Pods) == 0 {
			delete(m.claims, c.key())
		}
	}
	return m.save()
}

// usedBy are the claims of a pod, by name.
func (m *Manager) usedBy(uid types.UID) (list []*claim) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(m.claims)) {
		if slices.Contains(m.claims[key].Pods, uid) {
			list = append(list, m.claims[key])
		}
	}
	return list
}

// Uses reports whether a pod uses claims.
func (m *Manager) Uses(uid types.UID) bool { return len(m.usedBy(uid)) > 0 }

// Pods are those that use claims.
func (m *Manager) Pods() []types.UID {
	m.mu.Lock()
	defer m.mu.Unlock()
	set := map[types.UID]bool{}
	for _, c := range m.claims {
		for _, uid := range c.Pods {
			set[uid] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// save keeps the claims. The lock is held.
func (m *Manager) save() error {
	list := make([]*claim, 0, len(m.claims))
	for _, key := range slices.Sorted(maps.Keys(m.claims)) {
		list = append(list, m.claims[key])
	}
	if err := checkpoint.Save(m.Path, &list); err != nil {
		return fmt.Errorf("checkpoint ResourceClaim state: %w", err)
	}
	return nil
}

// InUse returns how many prepared claims have devices of each driver, and how many there are.
func (m *Manager) InUse() (byDriver map[string]int, all int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	byDriver = map[string]int{}
	for _, c := range m.claims {
		if !c.Prepared {
			continue
		}
		all++
		for _, name := range c.Drivers {
			byDriver[name]++
		}
	}
	return byDriver, all
}

// Given is a device of a claim that a container has. Ref and Request are the container's names of the claim
// and of a request in it.
type Given struct {
	Ref, Request, Claim, Driver string
	pluginapi.DRADevice
}

// Devices returns the devices that a container has of the pod's claims, in an order that stays.
func (m *Manager) Devices(pod *corev1.Pod, c *corev1.Container) ([]Given, error) {
	list, err := entries(pod)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var given []Given
	for _, use := range uses(pod, c) {
		i := slices.IndexFunc(list, func(e entry) bool { return e.ref == use.Name })
		if i < 0 {
			continue // there was nothing to claim
		}
		have := m.claims[pod.Namespace+"/"+list[i].name]
		if have == nil || !have.Prepared {
			return nil, fmt.Errorf("ResourceClaim %s is not prepared", list[i].name)
		}
		for _, driver := range have.Drivers {
			for _, d := range have.Devices[driver] {
				if use.Request == "" || len(d.Requests) == 0 || slices.Contains(d.Requests, use.Request) {
					given = append(given, Given{Ref: use.Name, Request: use.Request, Claim: have.Name, Driver: driver, DRADevice: d})
				}
			}
		}
	}
	return given, nil
}

// uses are what a container uses of the claims of its pod: what its spec names, and the requests that stand
// for its extended resources, whose claim has no name in the pod.
func uses(pod *corev1.Pod, c *corev1.Container) []corev1.ResourceClaim {
	list := slices.Clone(c.Resources.Claims)
	if x := pod.Status.ExtendedResourceClaimStatus; x != nil {
		for _, r := range x.RequestMappings {
			q, ok := c.Resources.Requests[corev1.ResourceName(r.ResourceName)]
			if !ok {
				q = c.Resources.Limits[corev1.ResourceName(r.ResourceName)]
			}
			if r.ContainerName == c.Name && !q.IsZero() {
				list = append(list, corev1.ResourceClaim{Request: r.RequestName})
			}
		}
	}
	return list
}

// Health is what the status of a container says of the devices of its claims.
func (m *Manager) Health(pod *corev1.Pod, c *corev1.Container) []corev1.ResourceStatus {
	given, err := m.Devices(pod, c)
	if err != nil {
		return nil
	}
	var list []corev1.ResourceStatus
	for _, use := range c.Resources.Claims {
		st := corev1.ResourceStatus{Name: corev1.ResourceName("claim:" + use.Name)}
		if use.Request != "" {
			st.Name += corev1.ResourceName("/" + use.Request)
		}
		for _, g := range given {
			if g.Ref != use.Name || g.Request != use.Request {
				continue
			}
			state, message := m.health.of(g.Driver, pluginapi.DRADeviceName{Pool: g.Pool, Device: g.Device})
			one := corev1.ResourceHealth{ResourceID: corev1.ResourceID(strings.Join([]string{g.Driver, g.Pool, g.Device}, "/")), Health: corev1.ResourceHealthStatus(state)}
			if len(g.CDI) > 0 {
				one.ResourceID = corev1.ResourceID(g.CDI[0])
			}
			if message != "" {
				one.Message = &message
			}
			st.Resources = append(st.Resources, one)
		}
		if len(st.Resources) > 0 {
			list = append(list, st)
		}
	}
	slices.SortFunc(list, func(a, b corev1.ResourceStatus) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// wakeUsers reports the pods that use devices.
func (m *Manager) wakeUsers(driver string, names []pluginapi.DRADeviceName) {
	m.mu.Lock()
	var pods []types.UID
	for _, c := range m.claims {
		if slices.ContainsFunc(c.Devices[driver], func(d pluginapi.DRADevice) bool {
			return slices.Contains(names, pluginapi.DRADeviceName{Pool: d.Pool, Device: d.Device})
		}) {
			pods = append(pods, c.Pods...)
		}
	}
	m.mu.Unlock()
	slices.Sort(pods)
	m.Hooks.Changed(slices.Compact(pods))
}
