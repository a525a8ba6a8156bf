package volume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// ErrNotYet says that a volume is being made.
var ErrNotYet = errors.New("the volume is not mounted yet")

// Mounted is where a volume of a pod is.
type Mounted struct {
	// Path is that of a folder, or of a block device.
	Path     string
	Device   bool
	ReadOnly bool
	// Relabel is true if the runtime may label the files for the container, where SELinux does so.
	Relabel bool
}

// Options of a Manager.
type Options struct {
	Paths Paths
	Host  Host
	// Plugins by kind.
	Plugins map[string]Plugin
	// Interval is the time between looks at a volume that is made: its size, what refreshes it, its use.
	Interval time.Duration
	Logger   *slog.Logger
}

// Manager makes the volumes of the pods of a node. Its methods may be called from many goroutines.
type Manager struct {
	opts  Options
	kinds []string
	log   *slog.Logger

	mu sync.Mutex
	// work runs a function with the context of Start in a goroutine; nil before Start.
	work    func(func(ctx context.Context))
	working sync.WaitGroup
	pods    map[types.UID][]*entry
	units   map[string]*unit
	stopped bool
}

// New returns a manager that does nothing before Start.
func New(opts Options) *Manager {
	return &Manager{opts: opts, kinds: slices.Sorted(maps.Keys(opts.Plugins)), log: opts.Logger, pods: map[types.UID][]*entry{}, units: map[string]*unit{}}
}

// Start reads what an earlier kubelet has left. ctx bounds the work of the manager, and wait returns when all
// of it has ended. What cannot be read is an error that prevents nothing: those volumes are left alone.
func (m *Manager) Start(ctx context.Context) (wait func(), err error) {
	pods, stages, err := m.opts.Paths.all(m.kinds)
	m.find(pods)
	stages = append(stages, m.staged()...)
	unknown := failures(err)
	m.opts.Host.Found(len(pods)+unknown, unknown)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.work = func(f func(context.Context)) { m.working.Go(func() { f(ctx) }) }
	for i := range stages {
		u := m.unit(&stages[i])
		u.staged, u.stage, u.inUse = true, stages[i], stages[i].attached()
	}
	for i := range pods {
		r := &pods[i]
		u := m.unit(r)
		u.users[user{r.Pod, r.Name}] = &use{wanted: true, mounted: true, label: r.Label}
		if u.label == nil {
			u.label = &label{mounted: r.Label, recorded: true}
		}
		u.inUse = u.inUse || r.attached()
	}
	return func() {
		m.mu.Lock()
		m.stopped = true
		m.mu.Unlock()
		m.working.Wait()
	}, err
}

// find completes records of pods' volumes whose kinds have no drivers.
func (m *Manager) find(list []Record) {
	for i := range list {
		if s, ok := m.opts.Plugins[list[i].Kind].(Stager); ok {
			m.opts.Paths.find(&list[i], m.opts.Host.Peers)
			s.Describe(&list[i])
			list[i].Label = m.opts.Host.MountLabel(m.opts.Paths.Target(&list[i]))
		}
	}
}

// staged returns what an earlier kubelet has staged, of kinds that have no drivers.
func (m *Manager) staged() (list []Record) {
	for _, kind := range m.kinds {
		if s, ok := m.opts.Plugins[kind].(Stager); ok {
			for _, r := range m.opts.Paths.Staged(kind, s.Handles()) {
				s.Describe(&r)
				r.Label = m.opts.Host.MountLabel(m.opts.Paths.StageFolder(&r))
				list = append(list, r)
			}
		}
	}
	return list
}

// failures is how many errors are joined in one.
func failures(err error) (n int) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			n += failures(one)
		}
		return n
	}
	if err != nil {
		n = 1
	}
	return n
}

// Counts returns how many volumes are wanted, as far as it is known what makes them, and how many are there,
// by [Record.Plugin].
func (m *Manager) Counts() (wanted, mounted map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted, mounted = map[string]int{}, map[string]int{}
	for _, list := range m.pods {
		for _, e := range list {
			e.mu.Lock()
			if e.volume != nil && !e.dropped && e.name != "" {
				wanted[e.name]++
			}
			if e.mounted != nil {
				mounted[e.name]++
			}
			e.mu.Unlock()
		}
	}
	return wanted, mounted
}

// Want makes the given volumes of a pod. It may be called again and again.
func (m *Manager) Want(pod *corev1.Pod, volumes []*corev1.Volume) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.work == nil || m.stopped {
		return
	}
	for _, v := range volumes {
		e := m.entry(pod.UID, v.Name)
		if e == nil {
			e = newEntry(m, pod, v)
			m.start(e)
			continue
		}
		e.update(pod)
	}
}

// start lets an entry work. The lock is held.
func (m *Manager) start(e *entry) {
	m.pods[e.uid] = append(m.pods[e.uid], e)
	m.work(func(ctx context.Context) {
		if e.run(ctx) {
			m.mu.Lock()
			m.pods[e.uid] = slices.DeleteFunc(m.pods[e.uid], func(o *entry) bool { return o == e })
			if len(m.pods[e.uid]) == 0 {
				delete(m.pods, e.uid)
			}
			m.mu.Unlock()
			m.opts.Host.Changed(e.pod)
		}
	})
}

// entry returns the one of a pod's volume that is wanted; nil if there is none. The lock is held.
func (m *Manager) entry(uid types.UID, volume string) *entry {
	for _, e := range m.pods[uid] {
		if e.volume != nil && e.volume.Name == volume && !e.isDropped() {
			return e
		}
	}
	return nil
}

// unable says that a pod has to wait for volumes, and why.
func (m *Manager) unable(uid types.UID, why error) error {
	var unmounted, unattached, unprocessed []string
	m.mu.Lock()
	for _, e := range m.pods[uid] {
		if e.volume == nil || e.isDropped() {
			continue
		}
		e.mu.Lock()
		if e.mounted == nil {
			unmounted = append(unmounted, e.volume.Name)
		}
		if e.attaching {
			unattached = append(unattached, e.volume.Name)
		}
		if e.unprocessed {
			unprocessed = append(unprocessed, e.volume.Name)
		}
		e.mu.Unlock()
	}
	m.mu.Unlock()
	for _, names := range [][]string{unmounted, unattached, unprocessed} {
		slices.Sort(names)
	}
	return fmt.Errorf("Unable to attach or mount volumes: unmounted volumes=%v, unattached volumes=%v, failed to process volumes=%v: %w", unmounted, unattached, unprocessed, why)
}

// State returns where a volume is, ErrNotYet, or why the last attempt to make it failed. A volume that is
// made stays so whatever becomes of refreshing it. It never blocks.
func (m *Manager) State(uid types.UID, volume string) (Mounted, error) {
	m.mu.Lock()
	e := m.entry(uid, volume)
	m.mu.Unlock()
	if e == nil {
		return Mounted{}, ErrNotYet
	}
	return e.state()
}

// Stats returns the use of a volume as it was last measured; nil if it is unknown.
func (m *Manager) Stats(uid types.UID, volume string) *Stats {
	m.mu.Lock()
	e := m.entry(uid, volume)
	m.mu.Unlock()
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stats
}

// Drop takes the volumes of a pod down, whether it was wanted here or by an earlier kubelet, and reports
// whether there are none left. It does not wait: Host.Changed is called when one has gone. The error is about
// volumes of which it is unknown how to take them down.
func (m *Manager) Drop(pod *corev1.Pod) (gone bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.work == nil {
		return true, nil
	}
	uid := pod.UID
	for _, e := range m.pods[uid] {
		e.drop()
	}
	if len(m.pods[uid]) > 0 {
		return false, nil
	}
	// All that the pod wanted is gone. What is left was made by an earlier kubelet for volumes that could not
	// be resolved since.
	left, err := m.opts.Paths.ofPod(uid, m.kinds)
	m.find(left)
	if m.stopped {
		return len(left) == 0 && err == nil, err
	}
	for i := range left {
		e := newEntry(m, pod, nil)
		e.adopt(&left[i])
		e.drop()
		m.start(e)
	}
	return len(left) == 0 && err == nil, err
}

// Sweep unstages what no pod uses. It is called once all pods of the node are known.
func (m *Manager) Sweep() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.work == nil || m.stopped {
		return
	}
	for _, u := range m.units {
		if u.staged && len(u.users) == 0 && !u.sweeping {
			u.sweeping = true
			m.work(func(ctx context.Context) { m.sweep(ctx, u) })
		}
	}
}

// Retry lets what has failed be tried again now, because a driver has come, for example.
func (m *Manager) Retry() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, list := range m.pods {
		for _, e := range list {
			e.poke()
		}
	}
}

// InUse are the volumes that may be made for the node or a pod, sorted: they must not be detached.
func (m *Manager) InUse() (list []corev1.UniqueVolumeName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range m.units {
		if u.inUse {
			list = append(list, u.name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
