package spdy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/moby/spdystream"
)

// PortError is what the peer reports about a connection to a port that failed.
type PortError struct {
	// Port of the pod.
	Port int
	// Message of the peer.
	Message string
}

// Error returns the port and the message.
func (e *PortError) Error() string { return fmt.Sprintf("port %d: %s", e.Port, e.Message) }

// Port is a connection to a port.
type Port struct {
	*Stream
	report *report
}

// OpenPort opens a connection to a port. What the peer reports of its failure is the *PortError of this call
// or of a Read.
func (c *Conn) OpenPort(port int) (*Port, error) {
	c.mu.Lock()
	number := c.ports
	c.ports++
	c.mu.Unlock()
	open := func(kind string) (*Stream, error) {
		return c.Open(http.Header{"Streamtype": {kind}, "Port": {strconv.Itoa(port)}, "Requestid": {strconv.Itoa(number)}})
	}
	from, err := open("error")
	if err != nil {
		return nil, fmt.Errorf("port %d: %w", port, err)
	}
	_ = from.Close() // nothing is sent on it
	data, err := open("data")
	p := &Port{Stream: data, report: &report{from: from, port: port, received: make(chan struct{})}}
	c.mu.Lock()
	if c.aborted {
		err = net.ErrClosed
	} else {
		c.reports.Go(p.receive) // ends with the stream
	}
	c.mu.Unlock()
	if err == nil {
		return p, nil
	}
	err = fmt.Errorf("port %d: %w", port, err)
	if errors.Is(err, spdystream.ErrReset) {
		// A connection can end before the peer has accepted its stream.
		err = p.report.or(err)
	}
	_ = p.Close()
	return nil, err
}

// Read returns what the port sends. The error at its end is a *PortError if the peer reports one in time.
func (p *Port) Read(b []byte) (int, error) {
	n, err := p.Stream.Read(b)
	if err != nil && n == 0 {
		err = p.report.or(err)
	}
	return n, err
}

// CloseWrite ends what is sent; what the port sends can still be read.
func (p *Port) CloseWrite() error { return p.Stream.Close() }

// Close ends both directions.
func (p *Port) Close() error {
	if p.Stream != nil {
		_ = p.Stream.Close()
		_ = p.Reset()
	}
	return p.report.from.Reset()
}

// Ended waits until the peer has reported how the connection ended, or closed the stream of such reports. It
// returns nil or a *PortError.
func (p *Port) Ended() error {
	<-p.report.received
	return p.report.failure
}

// receive reads the report. A failure ends the data, for who reads or writes it.
func (p *Port) receive() {
	r := p.report
	text, _ := io.ReadAll(io.LimitReader(r.from, MaxStatus))
	if len(text) > 0 {
		r.failure = &PortError{Port: r.port, Message: string(text)}
	}
	close(r.received)
	if r.failure != nil && p.Stream != nil {
		_ = p.Reset()
	}
}

// report is what the peer reports of the failure of a connection, on a stream of its own.
type report struct {
	from     *Stream
	port     int
	received chan struct{}
	failure  error // set before received is closed
}

// or returns the failure, or err if none is reported soon. Streams have no common order: the reason of an end
// may arrive after it.
func (r *report) or(err error) error {
	late := time.NewTimer(100 * time.Millisecond)
	defer late.Stop()
	select {
	case <-r.received:
	case <-late.C:
	}
	select {
	case <-r.received:
		if r.failure != nil {
			return r.failure
		}
	default:
	}
	return err
}
