package reflector

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// ListerWatcher reads a collection. [For] returns that of a client.
type ListerWatcher interface {
	// List reads a page.
	List(ctx context.Context, o client.ListOptions) (*client.EncodedList, error)
	// Watch opens one connection of a watch.
	Watch(ctx context.Context, o client.EncodedWatchOptions) (Stream, error)
	// Served reports whether the server serves the resource. False must come from the server itself: a failed
	// query, or a reply that a proxy could have sent, is an error.
	Served(ctx context.Context) (bool, error)
}

// Stream is one connection of a watch, such as *client.EncodedWatch.
type Stream interface {
	// Next returns the next event, or the error that ended the stream.
	Next() (client.EncodedEvent, error)
	// Close ends the stream and a Next in progress.
	Close() error
}

// Sink receives what a reflector reads.
type Sink interface {
	// Begin starts a new copy of the collection.
	Begin() Copy
	// Apply makes one change: Added, Modified or Deleted.
	Apply(ev client.EncodedEvent)
	// Progress reports that every change up to version has been applied.
	Progress(version string)
	// Missed reports that the watch has sent a change that cannot be read. The copy may be wrong until the
	// next Commit, which follows soon.
	Missed(err *client.DecodeError)
	// NotServed reports that the server's discovery does not list the resource, after a Commit several times
	// over some seconds.
	NotServed()
}

// Copy is a collection that is being read.
type Copy interface {
	// Add adds one object; a second one of the same key replaces the first.
	Add(e client.Encoded)
	// Unreadable adds an object whose metadata cannot be read. The key is in err as far as it is known.
	Unreadable(err *client.DecodeError)
	// Remove removes an object.
	Remove(e client.Encoded)
	// Commit replaces the current collection by this one, which is at version. A Copy that is not committed
	// is dropped.
	Commit(version string)
}

// Options configure a Reflector.
type Options struct {
	// List holds the Namespace, LabelSelector and FieldSelector that select the collection. Other fields are
	// set by the reflector.
	List client.ListOptions
	// PageSize is the limit of a page of a list; 0 means 2000.
	PageSize int64
	// NoWatchList reads collections with list instead of watch-list.
	NoWatchList bool
	// Silence and Timeout are those of client.EncodedWatchOptions.
	Silence, Timeout time.Duration
	// OnError is called with every failure, but not each time that a resource is found to be still not
	// served. It may be nil.
	OnError func(err error)
	// Observe, if not nil, is called after each step, for metrics and tests.
	Observe func(in Input, next Machine, cmd Command)
}

// Reflector feeds a Sink from a ListerWatcher.
type Reflector struct {
	lw     ListerWatcher
	sink   Sink
	opts   Options
	relist chan relistRequest
}

type relistRequest struct{ version string }

// New returns a reflector; Run starts it.
func New(lw ListerWatcher, sink Sink, opts Options) *Reflector {
	if opts.PageSize <= 0 {
		opts.PageSize = 2000
	}
	return &Reflector{lw: lw, sink: sink, opts: opts, relist: make(chan relistRequest, 1)}
}

// Relist requests that the collection is read again, not older than version if that is not empty. Of several
// requests before the next read one is kept. It does not wait.
func (r *Reflector) Relist(version string) {
	select {
	case r.relist <- relistRequest{version}:
	default:
	}
}

// Run keeps the sink in step until ctx ends, and returns nil. All goroutines it starts have returned when it
// does. Its waits are spread by [backoff.Jitter].
func (r *Reflector) Run(ctx context.Context) error {
	d := driver{Reflector: r}
	defer d.close()
	d.reread = time.AfterFunc(time.Hour, func() { r.Relist("") })
	d.reread.Stop()
	defer d.reread.Stop()
	m := NewMachine(r.opts.NoWatchList)
	in := Input{Outcome: Start}
	for ctx.Err() == nil {
		next, cmd := m.Step(in, backoff.Jitter(ctx))
		if r.opts.Observe != nil {
			r.opts.Observe(in, next, cmd)
		}
		m = next
		in = d.do(ctx, cmd)
		if in.Err != nil && ctx.Err() == nil && !errors.Is(in.Err, io.EOF) && (!m.NotServed || Classify(in.Err) != NotFound) {
			d.report(in.Err)
		}
	}
	return nil
}

// driver executes commands.
type driver struct {
	*Reflector
	stream Stream
	// stop ends the goroutine that interrupts a blocked Next when a relist is requested.
	stop context.CancelFunc
	done chan struct{}
	// relisted is the relist request that interrupted the stream.
	relisted *relistRequest
	// reread requests a relist when it fires.
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

// open makes s the current stream. A goroutine closes it when ctx ends or a relist is requested, which ends
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
	l := d.opts.List
	return client.EncodedWatchOptions{
		WatchOptions: client.WatchOptions{
			Namespace: l.Namespace, LabelSelector: l.LabelSelector, FieldSelector: l.FieldSelector,
			ResourceVersion: version, Timeout: d.opts.Timeout,
		},
		SendInitialEvents: initial,
		Silence:           d.opts.Silence,
	}
}

func (d *driver) list(ctx context.Context, atLeast string) Input {
	o := d.opts.List
	o.Limit = d.opts.PageSize
	if o.ResourceVersion = atLeast; atLeast != "" {
		o.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	into := d.sink.Begin()
	for {
		page, err := d.lw.List(ctx, o)
		if err != nil && o.Continue != "" && apierrors.IsExpired(err) {
			// The version of the first page has expired: read everything in one page, at the latest version.
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
				version := strings.Clone(ev.Object.ResourceVersion)
				into.Commit(version)
				return Input{Outcome: Caught, Version: version}
			}
		}
	}
}

// follow passes the next event to the sink.
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
		version := strings.Clone(ev.Object.ResourceVersion)
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

// missedError reports that a watch has sent an event that cannot be read.
type missedError struct{ err *client.DecodeError }

func (e *missedError) Error() string { return e.err.Error() }

func (d *driver) report(err error) {
	if d.opts.OnError != nil {
		d.opts.OnError(err)
	}
}

// For returns the ListerWatcher of a client. Served reads the discovery documents of the server, which every
// user may do by default.
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
func (l clientLW[T]) Watch(ctx context.Context, opts client.EncodedWatchOptions) (Stream, error) {
	opts.DropManagedFields = l.drop
	w, err := l.c.WatchEncoded(ctx, opts)
	if err != nil {
		return nil, err
	}
	return w, nil
}
