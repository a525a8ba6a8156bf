package reflector

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// ListerWatcher reads a collection. [For] makes one of a client.
type ListerWatcher interface {
	// List reads a page.
	List(ctx context.Context, o client.ListOptions) (*client.EncodedList, error)
	// Watch opens one connection of a watch.
	Watch(ctx context.Context, o client.EncodedWatchOptions) (Stream, error)
	// Served asks the server whether it serves the resource at all. It must be the server that says no: not
	// being able to ask, or an answer that could be anything else's, is an error.
	Served(ctx context.Context) (bool, error)
}

// Stream is one connection of a watch, as *client.EncodedWatch.
type Stream interface {
	// Next returns the next event, or the error that ended the stream.
	Next() (client.EncodedEvent, error)
	// Close ends the stream and a Next under way.
	Close() error
}

// Sink takes what a reflector reads.
type Sink interface {
	// Begin starts a new copy of the collection.
	Begin() Copy
	// Apply makes one change: Added, Modified or Deleted.
	Apply(ev client.EncodedEvent)
	// Progress says that everything up to version has been given.
	Progress(version string)
	// Missed says that the watch has brought a change that cannot be read. The copy may be wrong until the
	// next Commit, which follows soon.
	Missed(err *client.DecodeError)
	// Gone says that the server does not serve the resource any more, or not yet. It says so itself, and if
	// there was a Commit before, it has said so several times over some seconds.
	NotServed()
}

// Copy is a collection on its way in.
type Copy interface {
	// Add takes one object; a second one of the same key replaces the first.
	Add(e client.Encoded)
	// Unreadable says that there is one more object, whose metadata cannot be read. The key is in err as far
	// as it is known.
	Unreadable(err *client.DecodeError)
	// Remove takes back an object.
	Remove(e client.Encoded)
	// Commit makes the copy current; it is the collection at version. Without Commit the copy is dropped.
	Commit(version string)
}

// Options tune a Reflector.
type Options struct {
	// Namespace, LabelSelector and FieldSelector limit the collection through the options given to the
	// ListerWatcher. Other fields are set by the reflector.
	List client.ListOptions
	// PageSize of plain lists; 0 means 2000.
	PageSize int64
	// Plain leaves out watch-list.
	NoWatchList bool
	// Silence and Timeout are those of client.EncodedWatchOptions.
	Silence, Timeout time.Duration
	// OnError is called with every failure, except that a resource that is not served is still not. nil
	// ignores them.
	OnError func(err error)
	// Jitter draws the numbers in [0, 1) that spread waits; nil means at random. It is called by Run only.
	// Tests seed it.
	Jitter func() float64
	// Observe, if not nil, is told of each step, for metrics and tests.
	Observe func(in Input, next Machine, cmd Command)
}

// Reflector feeds a Sink from a ListerWatcher.
type Reflector struct {
	lw     ListerWatcher
	sink   Sink
	o      Options
	relist chan relistRequest
}

type relistRequest struct{ version string }

// New returns a reflector; Run starts it.
func New(lw ListerWatcher, sink Sink, o Options) *Reflector {
	if o.PageSize <= 0 {
		o.PageSize = 2000
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	return &Reflector{lw: lw, sink: sink, o: o, relist: make(chan relistRequest, 1)}
}

// Relist asks for the collection to be read again, not older than version if that is not empty. Of several
// requests before the next reading one is kept. It does not wait.
func (r *Reflector) Relist(version string) {
	select {
	case r.relist <- relistRequest{version}:
	default:
	}
}

// Run keeps the sink in step until ctx ends, and returns nil. It starts one further goroutine, which
// has returned when Run does.
func (r *Reflector) Run(ctx context.Context) error {
	d := driver{Reflector: r}
	defer d.close()
	d.reread = time.AfterFunc(time.Hour, func() { r.Relist("") })
	d.reread.Stop()
	defer d.reread.Stop()
	m := NewMachine(r.o.NoWatchList)
	in := Input{Outcome: Start}
	for ctx.Err() == nil {
		next, cmd := m.Step(in, r.o.Jitter())
		if r.o.Observe != nil {
			r.o.Observe(in, next, cmd)
		}
		m = next
		in = d.do(ctx, cmd)
		if in.Err != nil && ctx.Err() == nil && !errors.Is(in.Err, io.EOF) && (!m.NotServed || Classify(in.Err) != NotFound) {
			d.report(in.Err)
		}
	}
	return nil
}

// driver carries commands out.
type driver struct {
	*Reflector
	stream Stream
	// stop ends the goroutine that interrupts a blocked Next when a relist is asked for.
	stop context.CancelFunc
	done chan struct{}
	// asked is a relist request that interrupted the stream.
	relisted *relistRequest
	// reread has the collection read again when it fires.
	reread *time.Timer
}

func (d *driver) close() {
	if d.stream == nil {
		return
	}
	d.stop()
	d.stream.Close()
	<-d.done
	d.stream = nil
}

// open makes s the current stream. A goroutine closes it when ctx ends or a relist is asked for, which ends
// Next.
func (d *driver) open(ctx context.Context, s Stream) {
	ctx, cancel := context.WithCancel(ctx)
	d.stream, d.stop, d.done = s, cancel, make(chan struct{})
	done := d.done
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
		case q := <-d.relist:
			d.relisted = &q
		}
		s.Close()
	}()
}

func (d *driver) do(ctx context.Context, cmd Command) Input {
	if cmd.NotServed {
		d.sink.NotServed()
	}
	if cmd.Reread > 0 {
		d.reread.Reset(cmd.Reread)
	}
	if cmd.Do != Follow {
		d.close()
		if d.relisted != nil {
			q := *d.relisted
			d.relisted = nil
			return Input{Outcome: Relist, Version: q.version}
		}
	}
	switch cmd.Do {
	case Wait:
		t := time.NewTimer(cmd.After)
		defer t.Stop()
		select {
		case <-t.C:
			return Input{Outcome: Woke}
		case q := <-d.relist:
			return Input{Outcome: Relist, Version: q.version}
		case <-ctx.Done():
			return Input{Outcome: Failed, Err: ctx.Err()}
		}
	case List:
		return d.list(ctx, cmd.Version)
	case WatchList:
		return d.watchList(ctx, cmd.Version)
	case Watch:
		s, err := d.lw.Watch(ctx, d.watchOptions(cmd.Version, false))
		if err != nil {
			return Input{Outcome: Failed, Err: err}
		}
		d.open(ctx, s)
		return d.follow()
	case Follow:
		return d.follow()
	case CheckServed:
		served, err := d.lw.Served(ctx)
		switch {
		case err != nil:
			return Input{Outcome: Failed, Err: err}
		case served:
			return Input{Outcome: Served}
		}
		return Input{Outcome: Absent}
	}
	panic("reflector: unknown action")
}

func (d *driver) watchOptions(version string, initial bool) client.EncodedWatchOptions {
	l := d.o.List
	return client.EncodedWatchOptions{
		WatchOptions: client.WatchOptions{
			Namespace: l.Namespace, LabelSelector: l.LabelSelector, FieldSelector: l.FieldSelector,
			ResourceVersion: version, Timeout: d.o.Timeout,
		},
		SendInitialEvents: initial,
		Silence:           d.o.Silence,
	}
}

func (d *driver) list(ctx context.Context, atLeast string) Input {
	o := d.o.List
	o.Limit = d.o.PageSize
	if o.ResourceVersion = atLeast; atLeast != "" {
		o.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	into := d.sink.Begin()
	for {
		page, err := d.lw.List(ctx, o)
		if err != nil && o.Continue != "" && apierrors.IsExpired(err) {
			// The pages have outlived their version: all at once then, at the version of now.
			into = d.sink.Begin()
			o.Limit, o.Continue = 0, ""
			page, err = d.lw.List(ctx, o)
		}
		if err != nil {
			return Input{Outcome: Failed, Err: err}
		}
		for _, e := range page.Errors {
			d.report(e)
			into.Unreadable(e)
		}
		for i := range page.Items {
			into.Add(page.Items[i])
		}
		o.Continue, o.ResourceVersion, o.ResourceVersionMatch = page.Continue, "", ""
		if o.Continue == "" {
			into.Commit(page.ResourceVersion)
			return Input{Outcome: Listed, Version: page.ResourceVersion}
		}
	}
}

func (d *driver) watchList(ctx context.Context, atLeast string) Input {
	s, err := d.lw.Watch(ctx, d.watchOptions(atLeast, true))
	if err != nil {
		return Input{Outcome: Failed, Err: err}
	}
	d.open(ctx, s)
	into := d.sink.Begin()
	for {
		ev, err := d.next()
		if missed, ok := errors.AsType[*missedError](err); ok {
			d.report(missed.err)
			into.Unreadable(missed.err)
			continue
		}
		if err != nil {
			// The end of a stream before the end mark is a failure like any other.
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return d.ended(err)
		}
		switch ev.Type {
		case client.Added, client.Modified:
			into.Add(ev.Object)
		case client.Deleted:
			into.Remove(ev.Object)
		case client.Bookmark:
			if ev.Object.InitialEventsEnd {
				version := clone(ev.Object.ResourceVersion)
				into.Commit(version)
				return Input{Outcome: Caught, Version: version}
			}
		}
	}
}

// follow gives events to the sink until the stream ends.
func (d *driver) follow() Input {
	ev, err := d.next()
	if missed, ok := errors.AsType[*missedError](err); ok {
		d.sink.Missed(missed.err)
		return Input{Outcome: Missed, Err: missed.err}
	}
	if err != nil {
		return d.ended(err)
	}
	if ev.Type == client.Bookmark {
		version := clone(ev.Object.ResourceVersion)
		d.sink.Progress(version)
		return Input{Outcome: Moved, Version: version}
	}
	d.sink.Apply(ev)
	return Input{Outcome: Moved, Version: ev.Object.ResourceVersion}
}

// ended turns the error of a stream into an input.
func (d *driver) ended(err error) Input {
	d.stop()
	<-d.done
	if d.relisted != nil {
		q := *d.relisted
		d.relisted = nil
		return Input{Outcome: Relist, Version: q.version}
	}
	return Input{Outcome: Failed, Err: err}
}

// next returns the next event. A Status in the stream is an error, and an event that cannot be read a
// *missedError.
func (d *driver) next() (client.EncodedEvent, error) {
	ev, err := d.stream.Next()
	if err != nil || ev.Type != client.Error {
		return ev, err
	}
	if bad, ok := errors.AsType[*client.DecodeError](ev.Err); ok {
		return ev, &missedError{bad}
	}
	return ev, ev.Err
}

// missedError says that a watch has brought an event that cannot be read.
type missedError struct{ err *client.DecodeError }

func (e *missedError) Error() string { return e.err.Error() }

func (d *driver) report(err error) {
	if d.o.OnError != nil {
		d.o.OnError(err)
	}
}

func clone(s string) string { return string([]byte(s)) }

// For makes a ListerWatcher of a client. Served reads the discovery documents of the server, which every user
// may by default.
func For[T metav1.Object](c *client.Client[T], dropManagedFields bool) ListerWatcher {
	return clientLW[T]{c, dropManagedFields}
}

type clientLW[T metav1.Object] struct {
	c    *client.Client[T]
	drop bool
}

// List implements ListerWatcher.
func (l clientLW[T]) List(ctx context.Context, o client.ListOptions) (*client.EncodedList, error) {
	return l.c.ListEncoded(ctx, o, client.EncodedOptions{DropManagedFields: l.drop})
}

// Served implements ListerWatcher.
func (l clientLW[T]) Served(ctx context.Context) (bool, error) {
	return served(ctx, l.c.Conn(), l.c.Resource().GVR)
}

// Watch implements ListerWatcher.
func (l clientLW[T]) Watch(ctx context.Context, o client.EncodedWatchOptions) (Stream, error) {
	o.DropManagedFields = l.drop
	w, err := l.c.WatchEncoded(ctx, o)
	if err != nil {
		return nil, err
	}
	return w, nil
}
