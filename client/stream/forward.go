package stream

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/coder/websocket"

	"github.com/keelson-dev/keelson/apimachinery/spdy"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

const (
	forwardProtocol = "portforward.k8s.io"
	tunnelProtocol  = "SPDY/3.1+" + forwardProtocol
)

// Forwarder carries connections to the ports of one pod over one connection to the server.
type Forwarder struct {
	conn   *spdy.Conn
	done   <-chan struct{} // closed by cancel
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// Forward connects to a pod for forwarding. The Forwarder works until it is closed, the connection breaks, or
// ctx ends.
func Forward(ctx context.Context, c client.Conn, pod types.NamespacedName, p Protocol) (*Forwarder, error) {
	r := client.Request{Resource: pods, Namespace: pod.Namespace, Name: pod.Name, Subresource: "portforward"}
	ctx, cancel := context.WithCancel(ctx)
	f := &Forwarder{done: ctx.Done(), cancel: cancel}
	err := f.dial(ctx, c, r, p)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("stream: portforward %s: %w", pod, err)
	}
	f.wg.Go(func() {
		select {
		case <-f.done:
		case <-f.conn.Done():
			cancel()
		}
		f.conn.End()
	})
	return f, nil
}

func (f *Forwarder) dial(ctx context.Context, c client.Conn, r client.Request, p Protocol) error {
	if p != SPDY {
		ws, err := dialWebSocket(ctx, c, r, tunnelProtocol)
		if err == nil {
			f.wg.Go(func() { keepAlive(ctx, ws) })
			f.conn, err = spdy.New(websocket.NetConn(ctx, ws, websocket.MessageBinary))
			return err
		}
		if p == WebSocket || !fallBack(ctx, err) {
			return err
		}
	}
	var err error
	f.conn, _, err = dialSPDY(ctx, c, r, forwardProtocol)
	return err
}

// Done is closed when the Forwarder has stopped working.
func (f *Forwarder) Done() <-chan struct{} { return f.done }

// ended reports whether the Forwarder has stopped working.
func (f *Forwarder) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// closeAtEnd closes c if the Forwarder stops working before stop is called.
func (f *Forwarder) closeAtEnd(c io.Closer) (stop func()) {
	returned := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-f.done:
			c.Close()
		case <-returned:
		}
	})
	return func() {
		close(returned)
		wg.Wait()
	}
}

// Close ends every connection and returns when all goroutines have.
func (f *Forwarder) Close() error {
	f.cancel()
	f.wg.Wait()
	return nil
}

// Dial opens a connection to a port of the pod, which has a method CloseWrite. If nothing listens on the
// port, the first Read returns a *PortError, or already Dial.
func (f *Forwarder) Dial(ctx context.Context, port int) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.ended() {
		return nil, fmt.Errorf("stream: %w", net.ErrClosed)
	}
	to, err := f.conn.OpenPort(port)
	if err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	return to, nil
}

// PortError reports that the node could not connect to a port, or that the connection failed there.
type PortError = spdy.PortError

// Serve forwards every connection that l accepts to a port of the pod, until l is closed or the Forwarder
// stops. It closes l and returns when all its connections have ended; the error is l's, or nil if the
// Forwarder stopped.
func (f *Forwarder) Serve(l net.Listener, port int) error {
	stop := f.closeAtEnd(l)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.Close()
	for {
		local, err := l.Accept()
		if err != nil {
			if f.ended() {
				return nil
			}
			return err
		}
		wg.Go(func() { f.carry(local, port) })
	}
}

func (f *Forwarder) carry(local net.Conn, port int) {
	defer local.Close()
	stop := f.closeAtEnd(local)
	defer stop()
	remote, err := f.Dial(context.Background(), port)
	if err != nil {
		return
	}
	defer remote.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := io.Copy(remote, local)
		if err == nil {
			_ = remote.(*spdy.Port).CloseWrite()
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
