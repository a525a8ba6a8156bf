package volume

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// unit is a volume of the node, which several pods may use.
type unit struct {
	key string
	// turn has room for one token: the goroutine that has put it there may call the driver.
	turn chan struct{}
	// sizes belong to who has the turn.
	sizes sizes

	// The lock of the manager guards the rest.

	users map[user]*use
	// label is nil if no pod wants the volume.
	label *label
	// refused are to try again when a pod has left.
	refused map[*entry]bool
	// staged is true from before the stage is made until it has been taken away; stage describes it.
	staged bool
	stage  Record
	// inUse is true if the volume must not be detached; name is what the status of the Node then has.
	inUse    bool
	name     corev1.UniqueVolumeName
	sweeping bool
}

type user struct {
	pod  types.UID
	name string
}

// use is what a pod has of a unit.
type use struct {
	// wanted is false if the pod gives the volume up.
	wanted bool
	// mounted is true from before the volume is made for the pod until it has been taken down; label is the
	// one that it is mounted with.
	mounted bool
	label   string
}

// label is the SELinux label of a volume that pods want.
type label struct {
	// mounted is what the volume is mounted with, wanted what the first of the pods wants.
	mounted, wanted string
	// recorded is true if no pod is known but those that had the volume from an earlier kubelet.
	recorded bool
}

// unit returns the one of a record. The lock is held.
func (m *Manager) unit(r *Record) *unit {
	key := r.unit()
	u := m.units[key]
	if u == nil {
		u = &unit{key: key, name: r.unique(), turn: make(chan struct{}, 1), users: map[user]*use{}, refused: map[*entry]bool{}}
		m.units[key] = u
	}
	return u
}

// claim notes that a pod wants a volume of the node, and sets the label that it is mounted with.
func (m *Manager) claim(e *entry, s *Spec, r *Record, attached bool) (*unit, error) {
	m.mu.Lock()
	u := m.unit(r)
	changed, err := u.claim(m.opts.Host, e, s, r, attached)
	m.mu.Unlock()
	if changed {
		m.opts.Host.InUseChanged()
	}
	return u, err
}

// claim is the part of Manager.claim for which the lock is held. It reports whether inUse has changed.
func (u *unit) claim(host Host, e *entry, s *Spec, r *Record, attached bool) (changed bool, err error) {
	want, as := s.Labelling, user{r.Pod, r.Name}
	mine := u.users[as]
	has := mine != nil && mine.wanted
	switch {
	case u.label == nil:
		u.label = &label{recorded: true}
		if want.Mounts {
			u.label.mounted = want.Label
		}
	case has:
	case want.Supported && want.Mounts && want.Label != u.label.mounted:
		err = host.Conflict(s, r, u.label.mounted)
	case want.Supported && !want.Mounts && !u.label.recorded && want.Label != u.label.wanted:
		err = host.Conflict(s, r, u.label.wanted)
	}
	if err != nil {
		u.refused[e] = true
		return false, err
	}
	if u.label.recorded {
		u.label.recorded, u.label.wanted = false, want.Label
		if want.Label != "" {
			host.Admitted(s, r)
		}
	}
	if mine == nil {
		mine = &use{}
		u.users[as] = mine
	}
	if !has {
		mine.wanted = true
		if !mine.mounted {
			mine.label = u.label.mounted
		}
	}
	if want.Supported {
		s.Label, r.Label = mine.label, mine.label
	}
	e.at, e.as = u, as
	changed = attached && (!u.inUse || u.name != r.unique())
	u.inUse, u.name = u.inUse || attached, r.unique()
	return changed, nil
}

// drop notes that a pod gives a volume up. The lock is held.
func (u *unit) drop(as user) {
	if mine := u.users[as]; mine != nil {
		mine.wanted = false
	}
	for _, other := range u.users {
		if other.wanted {
			return
		}
	}
	u.label = nil
	u.retry()
}

// retry lets those that were refused try again. The lock is held.
func (u *unit) retry() {
	for e := range u.refused {
		e.poke()
	}
	clear(u.refused)
}

// begin notes that the volume is made for a pod from now on, unless it is made in a way that excludes that.
// The turn is held.
func (m *Manager) begin(ctx context.Context, e *entry, s *Spec) error {
	u := e.unit
	m.mu.Lock()
	mine := u.users[e.as]
	if mine == nil || m.units[u.key] != u {
		m.mu.Unlock()
		return Waiting(errors.New("the volume is being taken down for the same pod"))
	}
	stale := u.staged && u.stage.Label != mine.label
	err := u.excludes(s, e.as)
	if err != nil {
		u.refused[e] = true
	}
	m.mu.Unlock()
	if err == nil && stale {
		err = m.unstage(ctx, u)
	}
	if err != nil {
		return err
	}
	if err := m.opts.Paths.save(e.record); err != nil {
		return err
	}
	m.mu.Lock()
	mine.mounted = true
	m.mu.Unlock()
	return nil
}

// excludes returns why a pod cannot have the volume while others do, which is known at the node only. The
// lock is held.
func (u *unit) excludes(s *Spec, as user) error {
	for who, other := range u.users {
		switch {
		case who == as || !other.mounted:
		case other.label != u.users[as].label:
			return blocked{fmt.Errorf("waiting for unmount of volume %q, because it is already mounted to a different pod with a different SELinux label", u.name), false}
		case s.PV != nil && slices.Equal(s.PV.Spec.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}):
			return errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")
		}
	}
	return nil
}

func (u *unit) take(ctx context.Context) (done func(), err error) {
	select {
	case u.turn <- struct{}{}:
		return func() { <-u.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// attachment waits until the volume is attached and the Node shows that it is in use.
func (m *Manager) attachment(ctx context.Context, r *Record) (map[string]string, error) {
	if !m.opts.Host.Reported(r.unique()) {
		return nil, Waiting(errors.New("the Node does not show yet that the volume is in use"))
	}
	return m.opts.Host.Attachment(ctx, r)
}

// Waiting returns an error that is no failure unless it lasts.
func Waiting(err error) error { return blocked{err, true} }

// blocked is why a volume is not made before something else has happened. If it is patient, nothing is
// reported unless it lasts.
type blocked struct {
	error
	patient bool
}

func (b blocked) Unwrap() error { return b.error }

// stageFor makes the volume for the node. The turn is held.
func (m *Manager) stageFor(ctx context.Context, u *unit, p Plugin, s *Spec, r *Record, attachment map[string]string) error {
	stage := *r
	stage.Pod = ""
	if err := m.opts.Paths.write(m.opts.Paths.StageFolder(&stage), &stage); err != nil {
		return err
	}
	m.mu.Lock()
	u.staged, u.stage = true, stage
	m.mu.Unlock()
	return p.Stage(ctx, s, &stage, attachment)
}

// leave notes that a pod does not use the volume any more, and takes the stage away after the last. The turn
// is held.
func (m *Manager) leave(ctx context.Context, u *unit, r *Record) error {
	m.mu.Lock()
	delete(u.users, user{r.Pod, r.Name})
	u.retry()
	m.mu.Unlock()
	return m.unstage(ctx, u)
}

// unstage takes the stage away if no pod uses it: one for which the volume is made, or for which it will be
// with the label of the stage. The turn is held.
func (m *Manager) unstage(ctx context.Context, u *unit) error {
	m.mu.Lock()
	used, staged, stage := false, u.staged, u.stage
	for _, have := range u.users {
		used = used || have.mounted || !staged || have.label == stage.Label
	}
	m.mu.Unlock()
	if used {
		return nil
	}
	if staged {
		began, operation := time.Now(), "unmount_device"
		if stage.Device {
			operation = "unmap_device"
		}
		err := m.opts.Plugins[stage.Kind].Unstage(ctx, &stage)
		if ctx.Err() == nil {
			m.opts.Host.Done(&stage, operation, began, err)
		}
		if err != nil {
			return fmt.Errorf("UnmountDevice failed for volume %q : %w", stage.Handle, err)
		}
		if err := m.opts.Paths.removeStage(&stage); err != nil {
			return err
		}
	}
	m.mu.Lock()
	u.staged = false
	was := u.inUse
	if len(u.users) == 0 { // a pod may have come and waits for its turn
		u.inUse = false
		delete(m.units, u.key)
	}
	m.mu.Unlock()
	if was {
		m.opts.Host.InUseChanged()
	}
	return nil
}

// sweep takes away the stage of a unit that no pod uses.
func (m *Manager) sweep(ctx context.Context, u *unit) {
	defer func() {
		m.mu.Lock()
		u.sweeping = false
		m.mu.Unlock()
	}()
	for n := 0; ctx.Err() == nil; n++ {
		err := func() error {
			done, err := u.take(ctx)
			if err != nil {
				return err
			}
			defer done()
			return m.unstage(ctx, u)
		}()
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			m.log.Warn("unstage volume failed", "volume", u.key, "err", err)
		}
		_ = backoff.Sleep(ctx, retry.Delay(ctx, n))
	}
}

// retry is how soon what has failed is tried again.
var retry = backoff.Policy{Initial: 500 * time.Millisecond, Max: 2*time.Minute + 2*time.Second, Factor: 2, Jitter: 0.1}
