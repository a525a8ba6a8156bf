package volume

import (
	"context"
	"errors"
	"fmt"
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

	// The lock of the manager guards the rest.

	users map[user]bool
	// staged is true from before the stage is made until it has been taken away; stage describes it.
	staged bool
	stage  Record
	// inUse is true if the volume must not be detached.
	inUse    bool
	sweeping bool
}

type user struct {
	pod  types.UID
	name string
}

// name is that of the unit in the status of the Node.
func (u *unit) name() corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName("kubernetes.io/" + u.key)
}

// unit returns the one of a record. The lock is held.
func (m *Manager) unit(r *Record) *unit {
	key := r.unit()
	u := m.units[key]
	if u == nil {
		u = &unit{key: key, turn: make(chan struct{}, 1), users: map[user]bool{}}
		m.units[key] = u
	}
	return u
}

// use notes that a pod uses a volume of the node, and takes the turn at it. done gives the turn back.
func (m *Manager) use(ctx context.Context, r *Record, attached bool) (u *unit, done func(), err error) {
	m.mu.Lock()
	u = m.unit(r)
	u.users[user{r.Pod, r.Name}] = true
	changed := attached && !u.inUse
	u.inUse = u.inUse || attached
	m.mu.Unlock()
	if changed {
		m.opts.Host.InUseChanged()
	}
	done, err = u.take(ctx)
	return u, done, err
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
func (m *Manager) attachment(ctx context.Context, u *unit, r *Record) (map[string]string, error) {
	if !m.opts.Host.Reported(u.name()) {
		return nil, waiting{errors.New("the Node does not show yet that the volume is in use")}
	}
	return m.opts.Host.Attachment(ctx, r)
}

// Waiting returns an error that is no failure unless it lasts.
func Waiting(err error) error { return waiting{err} }

type waiting struct{ error }

func (w waiting) Unwrap() error { return w.error }

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
	m.mu.Unlock()
	return m.unstage(ctx, u)
}

// unstage takes the stage away if no pod uses it. The turn is held.
func (m *Manager) unstage(ctx context.Context, u *unit) error {
	m.mu.Lock()
	used, staged, stage := len(u.users) > 0, u.staged, u.stage
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
