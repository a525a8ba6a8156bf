package volume

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// entry is one volume of a pod, from when it is wanted until it is gone.
type entry struct {
	m   *Manager
	uid types.UID
	// volume is nil if only the record of an earlier kubelet is known.
	volume *corev1.Volume
	nudge  chan struct{} // capacity 1

	mu      sync.Mutex
	pod     *corev1.Pod
	dropped bool
	// interrupt ends what is done to make the volume or to refresh it.
	interrupt context.CancelFunc
	mounted   *Mounted
	name      string // of what makes it, as metrics have it; empty before that is known
	failure   error
	stats     *Stats
	// attaching is true while the attachment of the volume is waited for, unprocessed while it is unknown how
	// to make it, or known that it cannot be made for this pod.
	attaching, unprocessed bool

	// The lock of the manager guards at and as: the unit that is wanted, and which of its users this is.
	at *unit
	as user

	// The rest belongs to the goroutine of the entry.

	// record is what was written about the volume; nil before a driver was called.
	record *Record
	unit   *unit
	plugin Plugin
	staged bool
	// complete is true once this kubelet has made the volume. It may be mounted before, by an earlier one.
	complete bool
	// attachment is what the attachment of the volume says.
	attachment map[string]string
	// since is when the first attempt began, warned when the latest event about it was sent.
	since, warned time.Time
	// due is when a volume that is made is looked after next, and grows when it is to grow before that; zero
	// if it is not.
	due, grows time.Time
}

func newEntry(m *Manager, pod *corev1.Pod, v *corev1.Volume) *entry {
	return &entry{m: m, uid: pod.UID, pod: pod, volume: v, nudge: make(chan struct{}, 1)}
}

// adopt takes a record of an earlier kubelet. The lock of the manager is held.
func (e *entry) adopt(r *Record) {
	e.record, e.unit, e.plugin = r, e.m.unit(r), e.m.opts.Plugins[r.Kind]
	e.at, e.as = e.unit, user{r.Pod, r.Name}
}

func (e *entry) poke() {
	select {
	case e.nudge <- struct{}{}:
	default:
	}
}

func (e *entry) update(pod *corev1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pod = pod
}

// drop gives the volume up. The lock of the manager is held.
func (e *entry) drop() {
	if e.at != nil {
		e.at.drop(e.as)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dropped {
		return
	}
	e.dropped = true
	if e.interrupt != nil {
		e.interrupt()
	}
	e.poke()
}

func (e *entry) isDropped() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dropped
}

func (e *entry) state() (Mounted, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.mounted != nil:
		return *e.mounted, nil
	case e.failure != nil:
		return Mounted{}, e.failure
	}
	return Mounted{}, ErrNotYet
}

// run makes the volume, looks after it, and takes it down when it is dropped. It reports whether the volume
// is gone; it is not if ctx has ended.
func (e *entry) run(ctx context.Context) (gone bool) {
	e.since = time.Now()
	failures := 0
	for ctx.Err() == nil {
		var wait time.Duration
		if e.isDropped() {
			err := e.down(ctx)
			if err == nil {
				return true
			}
			failures++
			wait = retry.Delay(ctx, failures)
			e.report(ctx, "FailedUnMount", err)
		} else {
			err := e.step(ctx)
			switch {
			case e.isDropped():
				failures = 0
				continue
			case err != nil:
				failures++
				wait = e.failed(ctx, err, failures)
			default:
				failures = 0
				wait = time.Until(e.due)
				if !e.grows.IsZero() {
					wait = min(wait, time.Until(e.grows))
				}
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-e.nudge:
			if e.isDropped() {
				failures = 0
			}
		}
		timer.Stop()
	}
	return false
}

const (
	// quiet is how long a wait for others is no failure.
	quiet = 2*time.Minute + 3*time.Second
	// poll is the longest pause between two looks at what others do.
	poll = 5 * time.Second
)

// failed notes a failure to make the volume, and returns when to try again.
func (e *entry) failed(ctx context.Context, err error, failures int) time.Duration {
	wait := retry.Delay(ctx, failures)
	var b blocked
	if errors.As(err, &b) && b.patient {
		wait = min(wait, poll)
		if time.Since(e.since) < quiet || time.Since(e.warned) < quiet {
			return wait
		}
		e.warned = time.Now()
	}
	err = e.about(err)
	e.mu.Lock()
	changed := e.mounted == nil && (e.failure == nil || e.failure.Error() != err.Error())
	e.failure = err
	pod := e.pod
	e.mu.Unlock()
	reason := "FailedMount"
	var f operationError
	if errors.As(err, &f) && strings.HasPrefix(f.operation, mapping) {
		reason = "FailedMapVolume"
	}
	e.report(ctx, reason, err)
	if changed {
		e.m.opts.Host.Changed(pod)
	}
	return wait
}

func (e *entry) report(ctx context.Context, reason string, err error) {
	if ctx.Err() != nil {
		return
	}
	e.mu.Lock()
	pod := e.pod
	e.mu.Unlock()
	e.m.opts.Host.Event(pod, false, reason, err.Error())
}

// step makes the volume, or looks after it.
func (e *entry) step(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.mu.Lock()
	if e.dropped {
		e.mu.Unlock()
		return nil
	}
	e.interrupt = cancel
	pod, done := e.pod, e.complete
	e.mu.Unlock()
	s, plugin, err := e.m.opts.Host.Resolve(ctx, pod, e.volume)
	e.mark(&e.unprocessed, err != nil && !done)
	switch {
	case err != nil && done: // the pod has its volume, so nothing waits for this
		if ctx.Err() == nil {
			e.m.log.Info("find the objects of a mounted volume failed", "volume", e.record.Name, "err", err)
		}
		e.rest(ctx)
		return nil
	case err != nil:
		return err
	case done:
		s.Label = e.record.Label
		return e.care(ctx, s)
	}
	e.plugin = plugin
	if err := e.up(ctx, s); err != nil {
		return err
	}
	e.complete = true
	e.made(s)
	e.m.opts.Host.Done(e.record, "overall_volume_mount", e.since, nil)
	e.measure(ctx)
	e.rest(ctx)
	return nil
}

// rest leaves a volume that is made alone for an interval.
func (e *entry) rest(ctx context.Context) {
	e.due, e.grows = time.Now().Add(e.m.opts.Interval-backoff.Spread(ctx, e.m.opts.Interval/4)), time.Time{}
}

// made notes that the volume is there.
func (e *entry) made(s *Spec) {
	at := Mounted{Path: e.plugin.Path(s, e.record), Device: e.record.Device, ReadOnly: s.ReadOnly, Relabel: e.plugin.Relabels(s, e.record)}
	e.mu.Lock()
	e.mounted, e.failure = &at, nil
	e.mu.Unlock()
	e.m.opts.Host.Changed(s.Pod)
}

// mark sets a flag that others read.
func (e *entry) mark(flag *bool, value bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	*flag = value
}

// about says what the pod waits for, or which operation on the volume has failed.
func (e *entry) about(err error) error {
	e.mu.Lock()
	waits := e.unprocessed
	e.mu.Unlock()
	var b blocked
	if waits || errors.As(err, &b) {
		return e.m.unable(e.uid, err)
	}
	var f operationError
	switch {
	case errors.As(err, &f), errors.As(err, new(unexpanded)):
		return err
	case e.record == nil:
		return operationError{"MountVolume.SetUp", e.volume.Name, err}
	case e.record.Device:
		return operationError{mapping + "MapPodDevice", e.record.Name, err}
	}
	return operationError{"MountVolume.SetUp", e.record.Name, err}
}

// mapping is how the names of operations on block devices begin.
const mapping = "MapVolume."

// Unattached returns an error of Plugin.Stage that says why a disk does not become a device of the node.
func Unattached(err error) error { return unattached{err} }

type unattached struct{ error }

func (u unattached) Unwrap() error { return u.error }

// operationError says which operation on a volume has failed.
type operationError struct {
	operation, volume string
	error
}

func (e operationError) Error() string {
	return fmt.Sprintf("%s failed for volume %q : %v", e.operation, e.volume, e.error)
}

func (e operationError) Unwrap() error { return e.error }

// up makes the volume for the node and for the pod.
func (e *entry) up(ctx context.Context, s *Spec) error {
	r, err := e.plugin.Record(ctx, s)
	if err != nil {
		return err
	}
	attaches, err := e.plugin.Attached(ctx, s)
	if err != nil {
		return err
	}
	// What an earlier kubelet has mounted serves the containers, whatever becomes of the calls below. A
	// record without a mount is a call whose end is unknown.
	earlier := e.record == nil && e.m.opts.Paths.exists(&r) && e.m.opts.Host.MountPoint(e.m.opts.Paths.Target(&r))
	e.record = &r
	e.mu.Lock()
	e.name = r.Plugin()
	e.mu.Unlock()
	u, err := e.m.claim(e, s, &r, attaches)
	if err != nil {
		e.mark(&e.unprocessed, true)
		return err
	}
	e.unit = u
	if earlier {
		e.made(s)
	}
	done, err := e.unit.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	if attaches {
		began := time.Now()
		e.mark(&e.attaching, true)
		e.attachment, err = e.m.attachment(ctx, &r)
		e.done(ctx, "verify_controller_attached_volume", began, err)
		if err != nil {
			return err
		}
		e.mark(&e.attaching, false)
	}
	if e.staged, err = e.plugin.Staged(ctx, &r); err != nil {
		return err
	}
	if err := e.m.begin(ctx, e, s); err != nil {
		return err
	}
	began := time.Now()
	err = e.mount(ctx, s)
	e.done(ctx, e.mountName(), began, err)
	return err
}

// mount makes the volume with its plugin. The turn is held.
func (e *entry) mount(ctx context.Context, s *Spec) error {
	if e.staged {
		if err := e.m.stageFor(ctx, e.unit, e.plugin, s, e.record, e.attachment); err != nil {
			var attaching unattached
			op := "MountVolume.MountDevice"
			switch waits := errors.As(err, &attaching); {
			case e.record.Device && waits:
				op = mapping + "WaitForAttach"
			case e.record.Device:
				op = mapping + "SetUpDevice"
			case waits:
				op = "MountVolume.WaitForAttach"
			}
			return operationError{op, e.record.Name, err}
		}
	}
	if err := e.plugin.SetUp(ctx, s, e.record, e.staged, e.attachment); err != nil {
		return err
	}
	return e.grow(ctx, s, true)
}

func (e *entry) mountName() string {
	if e.record.Device {
		return "map_volume"
	}
	return "volume_mount"
}

// done notes the end of an operation, unless it was given up.
func (e *entry) done(ctx context.Context, operation string, began time.Time, err error) {
	if ctx.Err() == nil {
		e.m.opts.Host.Done(e.record, operation, began, err)
	}
}

// care looks after a volume that is made. What fails is reported, and the volume stays as it is.
func (e *entry) care(ctx context.Context, s *Spec) error {
	done, err := e.unit.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err = e.grow(ctx, s, false); err == nil && time.Now().Before(e.due) {
		e.grows = e.unit.sizes.again
		return nil
	}
	if e.plugin.Refreshes(s) {
		began := time.Now()
		failed := e.plugin.SetUp(ctx, s, e.record, e.staged, e.attachment)
		e.done(ctx, e.mountName(), began, failed)
		err = errors.Join(err, failed)
	}
	e.measure(ctx)
	if err == nil {
		e.rest(ctx)
		e.grows = e.unit.sizes.again
	}
	return err
}

// measure asks for the use of the volume; a failure leaves what was known.
func (e *entry) measure(ctx context.Context) {
	began := time.Now()
	stats, err := e.plugin.Stats(ctx, e.record, e.staged)
	if stats != nil || err != nil {
		e.m.opts.Host.Measured(e.record, began)
	}
	if err != nil {
		e.m.log.Debug("volume stats failed", "volume", e.record.Name, "err", err)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats = stats
}

// down takes the volume down, and the volume of the node after its last pod.
func (e *entry) down(ctx context.Context) error {
	if e.unit == nil {
		return nil // no driver was called
	}
	done, err := e.unit.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	e.mu.Lock()
	e.mounted = nil
	e.mu.Unlock()
	if e.written() {
		began, operation := time.Now(), "volume_unmount"
		if e.record.Device {
			operation = "unmap_volume"
		}
		err := e.plugin.TearDown(ctx, e.record)
		e.done(ctx, operation, began, err)
		if err != nil {
			return fmt.Errorf("UnmountVolume.TearDown failed for volume %q : %w", e.record.Name, err)
		}
		if err := e.m.opts.Paths.remove(e.record); err != nil {
			return err
		}
	}
	return e.m.leave(ctx, e.unit, e.record)
}

// written reports whether a driver may have been called for the pod's volume.
func (e *entry) written() bool { return e.m.opts.Paths.exists(e.record) }
