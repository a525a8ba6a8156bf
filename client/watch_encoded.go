package client

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/internal/scan"
)

// EventType says what happened to an object.
type EventType string

// The events of a watch.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
	// Error is an event that carries a Status, or one that could not be read.
	Error EventType = "ERROR"
)

const (
	// bookmarkEvery is what is asked for; a watch that is silent for three of these is taken for dead.
	bookmarkEvery = 3 * time.Second
	// defaultSilence is how long a watch may be silent on servers that promise nothing. Real servers send a
	// bookmark about every minute. A dead connection is noticed earlier, by the transport's pings.
	defaultSilence = 150 * time.Second
	// maxFrame bounds one watch event, in bytes.
	maxFrame = 64 << 20
)

var (
	errNoName = errors.New("the object has no name")
	// ErrSilent ends a watch on which nothing, not even a bookmark, came for too long.
	ErrSilent = errors.New("client: the watch has gone silent")
)

// EncodedWatchOptions say what one connection of a watch delivers.
type EncodedWatchOptions struct {
	WatchOptions
	// SendInitialEvents asks for every existing object as Added and a marked bookmark after them
	// (watch-list).
	SendInitialEvents bool
	// DropManagedFields is as in EncodedOptions.
	DropManagedFields bool
	// Silence is how long nothing may come before the watch ends with ErrSilent. A program that was stopped,
	// or had no processor, for so long gets a fourth of it to read what has come meanwhile. 0 means what the
	// server promises, times three, or 150 s if it promises nothing; negative means for ever.
	Silence time.Duration
}

// EncodedEvent is one event of a watch.
type EncodedEvent struct {
	// Type says what happened.
	Type EventType
	// Object after the event; for Deleted its last state with the version of the deletion.
	Object Encoded
	// Err is set for Type Error: an *apierrors.StatusError from the server, or a *DecodeError for an event
	// that cannot be read, after which the watch goes on.
	Err error
}

// EncodedWatch is one connection of a watch. Next and Close may be called from different goroutines.
type EncodedWatch struct {
	stream  *Stream
	reader  *bufio.Reader
	form    Form
	drop    bool
	res     Resource
	line    []byte
	silence *silence // nil for none
}

// WatchEncoded opens one connection of a watch. It does not resume; see Watch and package informers.
func (c *Client[T]) WatchEncoded(ctx context.Context, o EncodedWatchOptions) (*EncodedWatch, error) {
	if c.err != nil {
		return nil, c.err
	}
	r := c.request("GET", types.NamespacedName{Namespace: o.Namespace}, "")
	if !isSegment(o.Namespace) {
		return nil, fmt.Errorf("client: watch of %s: %q cannot be a namespace", c.res.GVR.GroupResource(), o.Namespace)
	}
	q := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}}
	selectors(q, o.LabelSelector, o.FieldSelector)
	set(q, "resourceVersion", o.ResourceVersion)
	if o.SendInitialEvents {
		q.Set("sendInitialEvents", "true")
		q.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = 5*time.Minute + rand.N(5*time.Minute)
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
	w := &EncodedWatch{stream: s, form: form, drop: o.DropManagedFields, res: c.res}
	most := o.Silence
	if most == 0 {
		most = defaultSilence
		if n, err := strconv.Atoi(s.Header[metav1.BookmarkHeader]); err == nil && n > 0 {
			most = 3 * time.Duration(n) * time.Second
		}
	}
	body := io.Reader(s.Body)
	if most > 0 {
		w.silence = newSilence(most, s.Body)
		body = w.silence
	}
	w.reader = bufio.NewReaderSize(body, 16<<10)
	return w, nil
}

// Close ends the watch; a Next under way returns.
func (w *EncodedWatch) Close() error {
	if w.silence != nil {
		w.silence.end()
	}
	return w.stream.Body.Close()
}

// Next returns the next event. At the end of the stream the error is io.EOF, ErrSilent or that of the
// connection. Events that cannot be read are returned as Type Error and the watch goes on.
func (w *EncodedWatch) Next() (EncodedEvent, error) {
	if w.silence != nil {
		// The time in which the caller is busy does not count as silence.
		w.silence.begin()
	}
	frame, err := w.frame()
	if w.silence != nil && w.silence.end() && err != nil {
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
		// Grown as bytes come, so that a lying length costs nothing.
		w.line = w.line[:0]
		for len(w.line) < int(n) {
			at := len(w.line)
			to := at + min(int(n)-at, 1<<20)
			w.line = slices.Grow(w.line, to-at)[:to]
			if _, err := io.ReadFull(w.reader, w.line[at:]); err != nil {
				return nil, noEOF(err)
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
					return nil, noEOF(err)
				}
				return nil, err
			}
		}
		if len(w.line) > 1 {
			return w.line, nil
		}
	}
}

func noEOF(err error) error {
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
