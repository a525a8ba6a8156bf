package stream

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/moby/spdystream"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

const (
	forwardProtocol = "portforward.k8s.io"
	tunnelProtocol  = "SPDY/3.1+" + forwardProtocol
)

// Forwarder carries connections to the ports of one pod over one connection to the server.
type Forwarder struct {
	conn   *spdyConn
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex
	next int
}

// Forward connects to a pod for forwarding. The Forwarder works until it is closed, the connection breaks, or
// ctx ends.
func Forward(ctx context.Context, c client.Conn, pod types.NamespacedName, p Protocol) (*Forwarder, error) {
	r := client.Request{Resource: pods, Namespace: pod.Namespace, Name: pod.Name, Subresource: "portforward"}
	f := &Forwarder{}
	f.ctx, f.cancel = context.WithCancel(ctx)
	err := f.dial(c, r, p)
	if err != nil {
		f.cancel()
		return nil, fmt.Errorf("stream: portforward %s: %w", pod, err)
	}
	f.wg.Go(func() {
		select {
		case <-f.ctx.Done():
		case <-f.conn.done:
			f.cancel()
		}
		f.conn.end()
	})
	return f, nil
}

func (f *Forwarder) dial(c client.Conn, r client.Request, p Protocol) error {
	if p != SPDY {
		ws, err := dialWebSocket(f.ctx, c, r, tunnelProtocol)
		if err == nil {
			f.wg.Go(func() { keepAlive(f.ctx, ws) })
			f.conn, err = serveSPDY(websocket.NetConn(f.ctx, ws, websocket.MessageBinary))
			return err
		}
		if p == WebSocket || !fallBack(f.ctx, err) {
			return err
		}
	}
	var err error
	f.conn, _, err = dialSPDY(f.ctx, c, r, forwardProtocol)
	return err
}

// Done is closed when the Forwarder has stopped working.
func (f *Forwarder) Done() <-chan struct{} { return f.ctx.Done() }

// Close ends every connection and returns when all goroutines have.
func (f *Forwarder) Close() error {
	f.cancel()
	f.wg.Wait()
	return nil
}

// Dial opens a connection to a port of the pod. Whether something listens there shows on the first Read,
// which then returns a *PortError.
func (f *Forwarder) Dial(ctx context.Context, port int) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.ctx.Err() != nil {
		return nil, fmt.Errorf("stream: %w", net.ErrClosed)
	}
	f.mu.Lock()
	id := f.next
	f.next++
	f.mu.Unlock()
	headers := func(t string) http.Header {
		return http.Header{"Streamtype": {t}, "Port": {strconv.Itoa(port)}, "Requestid": {strconv.Itoa(id)}}
	}
	errs, err := f.conn.open(headers("error"))
	if err != nil {
		return nil, fmt.Errorf("stream: port %d: %w", port, err)
	}
	_ = errs.Close()
	data, err := f.conn.open(headers("data"))
	if err != nil {
		_ = errs.Reset()
		return nil, fmt.Errorf("stream: port %d: %w", port, err)
	}
	pc := &podConn{Stream: data, errs: errs, port: port, told: make(chan struct{})}
	f.wg.Go(func() {
		b, err := io.ReadAll(io.LimitReader(errs, maxStatus))
		if err == nil && len(b) > 0 {
			pc.failure = &PortError{Port: port, Message: string(b)}
		}
		close(pc.told)
		if pc.failure != nil {
			// What waits for data must hear of it.
			_ = data.Reset()
		}
	})
	return pc, nil
}

// PortError says that the node could not connect to a port.
type PortError struct {
	// Port of the pod.
	Port int
	// Message of the node.
	Message string
}

// Error gives the port and the message.
func (e *PortError) Error() string { return fmt.Sprintf("stream: port %d: %s", e.Port, e.Message) }

// podConn is one forwarded connection.
type podConn struct {
	*spdystream.Stream
	errs    *spdystream.Stream
	port    int
	told    chan struct{}
	failure error // set before told is closed
	once    sync.Once
}

// Read implements net.Conn.
func (c *podConn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if err != nil && n == 0 {
		// The node reports why on another stream, which may be a little behind.
		t := time.NewTimer(100 * time.Millisecond)
		defer t.Stop()
		select {
		case <-c.told:
			if c.failure != nil {
				return 0, c.failure
			}
		case <-t.C:
		}
	}
	return n, err
}

// CloseWrite ends the outgoing direction; what the pod still sends can be read.
func (c *podConn) CloseWrite() error { return c.Stream.Close() }

// Close implements net.Conn.
func (c *podConn) Close() error {
	c.once.Do(func() {
		_ = c.Stream.Close()
		_ = c.Stream.Reset()
		_ = c.errs.Reset()
	})
	return nil
}

// Serve forwards every connection that l accepts to a port of the pod, until l is closed or the Forwarder
// stops. It closes l and returns when all its connections have ended; the error is l's, or nil if the
// Forwarder stopped.
func (f *Forwarder) Serve(l net.Listener, port int) error {
	stop := context.AfterFunc(f.ctx, func() { l.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.Close()
	for {
		local, err := l.Accept()
		if err != nil {
			if f.ctx.Err() != nil {
				return nil
			}
			return err
		}
		wg.Go(func() { f.carry(local, port) })
	}
}

func (f *Forwarder) carry(local net.Conn, port int) {
	defer local.Close()
	stop := context.AfterFunc(f.ctx, func() { local.Close() })
	defer stop()
	remote, err := f.Dial(f.ctx, port)
	if err != nil {
		return
	}
	defer remote.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := io.Copy(remote, local)
		if err == nil {
			_ = remote.(*podConn).CloseWrite()
		} else {
			_ = remote.Close()
		}
	}()
	_, err = io.Copy(local, remote)
	if half, ok := local.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
	} else {
		local.Close()
	}
	<-done
}
