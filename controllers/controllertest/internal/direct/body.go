package direct

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// requestBody is the client's body as the handler reads it. It ends with the handler, or earlier with the
// client's context or the read deadline.
type requestBody struct {
	in io.ReadCloser // nil without a body

	mu     sync.Mutex
	ended  error // of all later reads
	timer  *time.Timer
	closed bool
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (int, error) {
	if err := b.end(); err != nil {
		return 0, err
	}
	n, err := b.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		if ended := b.end(); ended != nil {
			err = ended // the reason that the client's body was closed
		}
	}
	return n, err
}

func (b *requestBody) end() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

// Close implements io.Closer.
func (b *requestBody) Close() error { return b.stop(http.ErrBodyReadAfterClose) }

// stop makes all reads fail with err and closes the client's body, once.
func (b *requestBody) stop(err error) error {
	b.mu.Lock()
	if b.ended == nil {
		b.ended = err
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	first := !b.closed
	b.closed = true
	b.mu.Unlock()
	if first && b.in != nil {
		return b.in.Close()
	}
	return nil
}

// setDeadline makes reads after t fail; the zero time means never. Unlike that of a connection, a deadline
// that has passed cannot be extended.
func (b *requestBody) setDeadline(t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer != nil {
		b.timer.Stop()
	}
	if !t.IsZero() && b.ended == nil {
		b.timer = time.AfterFunc(time.Until(t), func() { _ = b.stop(os.ErrDeadlineExceeded) })
	}
}

// streamed is the body of a response that the client reads while the handler writes.
type streamed struct{ *exchange }

// Read implements io.Reader. With turns it returns the data of one turn, of a watch one event: all that an
// event causes has then happened before the next one, however many were written at once and in whatever
// pieces they come.
func (s *streamed) Read(p []byte) (int, error) {
	if s.server.turns == nil {
		n, err := s.client.Read(p)
		return n, s.readError(err)
	}
	if s.due == 0 {
		if err := s.next(s.server.turns); err != nil {
			return 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.rest.Read(p[:min(len(p), s.due)])
	s.due -= n
	return n, err
}

// next reads what one turn delivers and waits for the turn. Only Read changes rest.
func (s *streamed) next(turns *turns) error {
	for s.due = s.frames.first(s.rest.Bytes()); s.due == 0; s.due = s.frames.first(s.rest.Bytes()) {
		var chunk [4 << 10]byte
		n, err := s.client.Read(chunk[:])
		if n == 0 && s.rest.Len() == 0 {
			return s.readError(err)
		}
		if n == 0 { // it ended in the middle
			s.due = s.rest.Len()
			break
		}
		s.mu.Lock()
		s.rest.Write(chunk[:n]) // an error is returned by the next Read of the connection too
		s.mu.Unlock()
	}
	if s.frames == noFrames && time.Now().Equal(s.turn) {
		return nil // in how many pieces the data of one instant is read is not decided by the seed
	}
	// Nor is the data: the versions of what a server makes at its start follow from the order of goroutines.
	s.count++
	turns.queue(s.name+" "+strconv.Itoa(s.count), s.aborted)
	s.turn = time.Now()
	return nil
}

func (s *streamed) readError(err error) error {
	if err == nil {
		return nil
	}
	return s.reason(err)
}

// Close implements io.Closer. It ends the handler's context.
func (s *streamed) Close() error {
	s.abort(http.ErrBodyReadAfterClose)
	return nil
}

// reason returns why the exchange was ended before its time, or else err.
func (x *exchange) reason(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err != nil {
		return x.err
	}
	return err
}

// switched is the client's end of a connection that the handler took over.
type switched struct {
	*exchange
	in *bufio.Reader
}

// Read implements io.Reader.
func (s *switched) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	if err != nil {
		err = s.reason(err)
	}
	return n, err
}

// Write implements io.Writer. It hides that of the handler.
func (s *switched) Write(p []byte) (int, error) {
	s.server.moved.Add(1)
	n, err := s.client.Write(p)
	if err != nil {
		err = s.reason(err)
	}
	return n, err
}

// CloseWrite ends the stream that the handler reads.
func (s *switched) CloseWrite() error {
	return s.client.(interface{ CloseWrite() error }).CloseWrite()
}

// Close implements io.Closer.
func (s *switched) Close() error {
	s.abort(http.ErrBodyReadAfterClose)
	return nil
}

// refused is the body of a response that a handler wrote to the connection it took over without switching
// protocols.
type refused struct {
	io.ReadCloser
	*exchange
}

// Close implements io.Closer.
func (r *refused) Close() error {
	err := r.ReadCloser.Close()
	r.abort(http.ErrBodyReadAfterClose)
	return err
}
