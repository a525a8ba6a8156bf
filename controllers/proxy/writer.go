package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// fullEvery is how often everything is written even if nothing seems to be missing, as in kube-proxy.
const fullEvery = time.Hour

// writer brings a backend to a table, and keeps a port that the kernel refuses from holding up others.
type writer struct {
	table   *Table
	backend Backend
	log     *slog.Logger
	// known reports that the backend holds the table as of the last Take, except for refused ports.
	known bool
	full  time.Time // of the last full write
	// pending are the changes that failed writes have lost.
	pending map[PortName]Change
	// refused are the ports whose last change the kernel refused.
	refused map[PortName]*refusal
	// onRefused is called for each port that is refused, and onPartial when changes could not be written.
	onRefused func(c Change, err error)
	onPartial func()
}

// refusal is a change the kernel refused. It still holds Was.
type refusal struct {
	Change
	next  time.Time // of the next attempt
	delay time.Duration
}

// retryRefused are the delays between attempts to write a refused port.
const (
	retryRefusedMin = 30 * time.Second
	retryRefusedMax = 15 * time.Minute
)

// how reports what write did.
type how int

const (
	unchanged how = iota
	partial
	full
)

// write brings the backend to the table. It returns the delta for the use of others, with the changes that
// were refused. If everything is refused, the delta is lost, and the next write is full.
func (w *writer) write(ctx context.Context) (*Delta, how, error) {
	d := w.table.Take()
	now := time.Now()
	w.merge(d, now)
	defer w.keep(d)
	if w.known && now.Sub(w.full) < fullEvery {
		if d.Empty() {
			return d, unchanged, nil
		}
		err := w.backend.Write(ctx, d)
		if err == nil {
			w.accepted(d.Ports)
			return d, partial, nil
		}
		if ctx.Err() != nil {
			w.known = false
			return d, partial, err
		}
		if w.again(d, err) {
			return d, partial, nil
		}
		w.onPartial()
		w.log.Warn("write changed rules failed, writing all", "family", w.table.Family(), "err", err)
	}
	w.known = false
	all := w.without(nil)
	err := w.backend.Write(ctx, all)
	if err != nil && ctx.Err() == nil {
		err = w.isolate(ctx, d, err)
	} else if err == nil {
		clear(w.refused)
	}
	if err != nil {
		return d, full, err
	}
	w.known, w.full = true, now
	for _, c := range d.Ports {
		if c.Now == nil {
			all.Ports = append(all.Ports, c)
		}
	}
	return all, full, nil
}

// keep notes the changes of d if they were not written.
func (w *writer) keep(d *Delta) {
	if w.known {
		clear(w.pending)
		return
	}
	for _, c := range d.Ports {
		if was, there := w.pending[c.Name()]; there {
			c.Was = was.Was
		}
		w.pending[c.Name()] = c
	}
}

// merge adds the refused changes whose time has come to d, and removes those whose has not.
func (w *writer) merge(d *Delta, now time.Time) {
	for name, r := range w.refused {
		i := slices.IndexFunc(d.Ports, func(c Change) bool { return c.Name() == name })
		switch {
		case i >= 0: // it has changed since: the new version may be better
			r.Now = d.Ports[i].Now
			d.Ports[i].Was = r.Was
			if r.Was == nil && r.Now == nil {
				d.Ports = slices.Delete(d.Ports, i, i+1)
				delete(w.refused, name)
			}
		case !now.Before(r.next):
			d.Ports = append(d.Ports, r.Change)
		}
	}
}

// accepted notes that changes were written.
func (w *writer) accepted(list []Change) {
	for _, c := range list {
		delete(w.refused, c.Name())
	}
}

// again reports whether a failed write was only another attempt at a refused port, and so says nothing about
// the others.
func (w *writer) again(d *Delta, err error) bool {
	if !w.backend.Atomic() || len(d.Ports) != 1 || w.refused[d.Ports[0].Name()] == nil {
		return false
	}
	if !d.ClusterIPs.empty() || !d.Addrs.empty() || !d.Loopbacks.empty() {
		return false
	}
	w.refuse(d.Ports[0], err)
	return true
}

// without is the whole table with the last accepted versions of refused ports, and of those that are skipped.
func (w *writer) without(skip map[PortName]Change) *Delta {
	all := w.table.All()
	if len(w.refused)+len(skip) == 0 {
		return all
	}
	swap := map[PortName]*ServicePort{}
	if skip != nil { // otherwise refused ports are tried once more
		for name, r := range w.refused {
			swap[name] = r.Was
		}
	}
	for name, c := range skip {
		swap[name] = c.Was
	}
	ports := all.Ports[:0]
	for _, c := range all.Ports {
		if was, there := swap[c.Name()]; !there {
			ports = append(ports, c)
		} else if was != nil {
			ports = append(ports, Change{Now: was})
		}
		delete(swap, c.Name())
	}
	all.Ports = ports
	return all
}

// isolate finds the ports that the kernel refuses after a full write has failed with err, and writes
// everything else. It returns err if that fails even without all recent changes.
func (w *writer) isolate(ctx context.Context, d *Delta, err error) error {
	suspects := maps.Clone(w.pending)
	for _, c := range d.Ports {
		if was, there := suspects[c.Name()]; there {
			c.Was = was.Was
		}
		suspects[c.Name()] = c
	}
	for name, r := range w.refused {
		suspects[name] = r.Change
	}
	if w.full.IsZero() { // nothing was ever written
		for _, c := range w.table.All().Ports {
			suspects[c.Name()] = c
		}
	}
	if len(suspects) == 0 || w.backend.Write(ctx, w.without(suspects)) != nil {
		return err
	}
	list := slices.SortedFunc(maps.Values(suspects), func(a, b Change) int { return a.Name().Compare(b.Name()) })
	return w.bisect(ctx, list, suspects)
}

// bisect writes changes by halves until those that are refused are alone. left are all that are not written.
func (w *writer) bisect(ctx context.Context, list []Change, left map[PortName]Change) error {
	err := w.backend.Write(ctx, &Delta{Ports: list})
	if err == nil {
		for _, c := range list {
			delete(left, c.Name())
		}
		w.accepted(list)
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	if !w.backend.Atomic() {
		if err := w.backend.Write(ctx, w.without(left)); err != nil {
			return err
		}
	}
	if len(list) == 1 {
		w.refuse(list[0], err)
		return nil
	}
	half := len(list) / 2
	if err := w.bisect(ctx, list[:half], left); err != nil {
		return err
	}
	return w.bisect(ctx, list[half:], left)
}

func (w *writer) refuse(c Change, err error) {
	r := w.refused[c.Name()]
	if r == nil {
		r = &refusal{}
		w.refused[c.Name()] = r
	}
	r.Change = c
	r.delay = min(max(2*r.delay, retryRefusedMin), retryRefusedMax)
	r.next = time.Now().Add(r.delay)
	w.onRefused(c, fmt.Errorf("%w; next attempt in %s", err, r.delay))
}
