package client

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/internal/scan"
)

// EventType is the type of an event of the watch protocol. Handlers of package informers get event types of
// their own, informers.EventType.
type EventType string

const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
	// Error is an event that carries a Status, or one that cannot be read.
	Error EventType = "ERROR"
)

const (
	// bookmarkEvery is the requested interval of bookmarks; a watch without events for three intervals is
	// considered dead.
	bookmarkEvery = 3 * time.Second
	// defaultSilence is how long a watch may be silent on servers that grant no interval. kube-apiserver
	// sends a bookmark about every minute. A dead connection is noticed earlier, by the transport's pings.
	defaultSilence = 150 * time.Second
	// maxFrame is the maximum size of one watch event in bytes.
	maxFrame = 64 << 20
)

var (
	errNoName = errors.New("the object has no name")
	// ErrSilent ends a watch on which no event, not even a bookmark, was received for too long.
	ErrSilent = errors.New("client: watch received no event in time")
)

// EncodedWatchOptions are the options of one connection of a watch.
type EncodedWatchOptions struct {
	WatchOptions
	// SendInitialEvents requests every existing object as Added and a bookmark with InitialEventsEnd after
	// them (watch-list).
	SendInitialEvents bool
	// DropManagedFields is as in EncodedOptions.
	DropManagedFields bool
	// Silence is the time without events after which the watch ends with ErrSilent. A process that was
	// stopped, or whose goroutines wait long for a processor, gets up to as much again to read the events
	// received meanwhile, and while they wait for an eighth of it, the watch does not end. 0 means three
	// times the interval of bookmarks that the server grants (see metav1.BookmarkHeader), or 150 s if it
	// grants none; negative means no limit.
	Silence time.Duration
}

// EncodedEvent is one event of a watch.
type EncodedEvent struct {
	// Type of the event.
	Type EventType
	// Object after the event; for Deleted its final state with the version of the deletion.
	Object Encoded
	// Err is set for Type Error: an *apierrors.StatusError from the server, or a *DecodeError for an event
	// that cannot be read, after which the watch continues.
	Err error
}

// EncodedWatch is one connection of a watch. Next and Close may be called from different goroutines.
type EncodedWatch struct {
	stream *Stream
	reader *bufio.Reader
	form   Form
	drop   bool
	res    Resource
	line   []byte
	idle   *idleTimer // nil for none
}

// WatchEncoded opens one connection of a watch. It does not resume; see Watch and package informers.
func (c *Client[T]) WatchEncoded(ctx context.Context, opts EncodedWatchOptions) (*EncodedWatch, error) {
	if c.err != nil {
		return nil, c.err
	}
	r := c.request("GET", types.NamespacedName{Namespace: opts.Namespace}, "")
	if !isSegment(opts.Namespace) {
		return nil, fmt.Errorf("client: watch of %s: %q cannot be a namespace", c.res.GVR.GroupResource(), opts.Namespace)
	}
	q := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}}
	selectors(q, opts.LabelSelector, opts.FieldSelector)
	set(q, "resourceVersion", opts.ResourceVersion)
	if opts.SendInitialEvents {
		q.Set("sendInitialEvents", "true")
		q.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	}
	timeout := opts.Timeout
	if timeout <= 0 {
		timeout = 5*time.Minute + backoff.Spread(ctx, 5*time.Minute)
	}
	q.Set("timeoutSeconds", strconv.Itoa(max(1, int(timeout/time.Second))))
	r.Query, r.Accept = q, c.accept("watch")
	r.Header = map[string]string{metav1.BookmarkHeader: strconv.Itoa(int(bookmarkEvery / time.Second))}
	s, err := c.conn.Stream(ctx, r)
	if err != nil && c.proto.Load() && refusesProto(err) {
		c.proto.Store(false)
		r.Accept = c.accept("watch")
		s, err = c.conn.Stream(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	form, err := formOf(s.ContentType)
	if err != nil {
		s.Body.Close()
		return nil, &DecodeError{Resource: c.res.GVR, Err: err}
	}
	w := &EncodedWatch{stream: s, form: form, drop: opts.DropManagedFields, res: c.res}
	limit := opts.Silence
	if limit == 0 {
		limit = defaultSilence
		if n, err := strconv.Atoi(s.Header[metav1.BookmarkHeader]); err == nil && n > 0 {
			limit = 3 * time.Duration(n) * time.Second
		}
	}
	body := io.Reader(s.Body)
	if limit > 0 {
		w.idle = newIdleTimer(limit, s.Body)
		body = w.idle
	}
	w.reader = bufio.NewReaderSize(body, 16<<10)
	return w, nil
}

// Close ends the watch; a Next in progress returns.
func (w *EncodedWatch) Close() error {
	if w.idle != nil {
		w.idle.end()
	}
	return w.stream.Body.Close()
}

// Next returns the next event. At the end of the stream the error is io.EOF, ErrSilent or that of the
// connection. Events that cannot be read are returned as Type Error and the watch continues.
func (w *EncodedWatch) Next() (EncodedEvent, error) {
	if w.idle != nil {
		// The time between two calls of Next does not count as silence.
		w.idle.begin()
	}
	frame, err := w.frame()
	if w.idle != nil && w.idle.end() && err != nil {
		return EncodedEvent{}, ErrSilent
	}
	if err != nil {
		return EncodedEvent{}, err
	}
	ev, err := w.event(frame)
	if err != nil {
		return EncodedEvent{Type: Error, Err: &DecodeError{Resource: w.res.GVR, Key: ev.Object.Key, Err: err}}, nil
	}
	return ev, nil
}

// frame reads the bytes of one event; they are valid until the next call.
func (w *EncodedWatch) frame() ([]byte, error) {
	if w.form == Protobuf {
		var head [4]byte
		if _, err := io.ReadFull(w.reader, head[:]); err != nil {
			return nil, err
		}
		n := binary.BigEndian.Uint32(head[:])
		if n > maxFrame {
			return nil, &DecodeError{Resource: w.res.GVR, Err: fmt.Errorf("a watch event of %d bytes: %w", n, codec.ErrTooLarge)}
		}
		// Grown as bytes are received, so that a false length allocates nothing.
		w.line = w.line[:0]
		for len(w.line) < int(n) {
			at := len(w.line)
			to := at + min(int(n)-at, 1<<20)
			w.line = slices.Grow(w.line, to-at)[:to]
			if _, err := io.ReadFull(w.reader, w.line[at:]); err != nil {
				return nil, unexpectedEOF(err)
			}
		}
		return w.line, nil
	}
	for {
		w.line = w.line[:0]
		for {
			part, err := w.reader.ReadSlice('\n')
			w.line = append(w.line, part...)
			if len(w.line) > maxFrame {
				return nil, &DecodeError{Resource: w.res.GVR, Err: fmt.Errorf("a watch event: %w", codec.ErrTooLarge)}
			}
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				if len(w.line) > 0 {
					return nil, unexpectedEOF(err)
				}
				return nil, err
			}
		}
		if len(w.line) > 1 {
			return w.line, nil
		}
	}
}

func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (w *EncodedWatch) event(frame []byte) (ev EncodedEvent, err error) {
	var raw []byte
	var typ string
	form := w.form
	if form == Protobuf {
		var body []byte
		if typ, body, err = codec.DecodeEventProto(frame); err != nil {
			return ev, err
		}
		if _, _, raw, err = codec.DecodeEnvelope(body); err != nil {
			return ev, err
		}
	} else if err = scan.Members(frame, func(key, value []byte, _, _ int) bool {
		switch string(key) {
		case "type":
			typ = strings.Clone(scan.Text(value))
		case "object":
			raw = value
		}
		return true
	}); err != nil {
		return ev, err
	}
	ev.Type = EventType(typ)
	switch ev.Type {
	case Error:
		var s metav1.Status
		if form == Protobuf {
			err = codec.UnmarshalProto(raw, &s)
		} else {
			err = codec.Unmarshal(raw, &s)
		}
		if err != nil {
			return ev, err
		}
		ev.Err = apierrors.FromStatus(&s)
		if ev.Err == nil {
			return ev, errors.New("an error event without a failure")
		}
		return ev, nil
	case Added, Modified, Deleted, Bookmark:
	default:
		return ev, fmt.Errorf("unknown event type %q", typ)
	}
	ev.Object, err = scanEncoded(form, copyBody(form, raw, w.drop))
	if err == nil && ev.Type != Bookmark && ev.Object.Key.Name == "" {
		err = errNoName
	}
	return ev, err
}
