package pipenet_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/pipenet"
)

func TestBytesArriveInOrderAndOnce(t *testing.T) {
	a, b := pipenet.Pair()
	sent := make([]byte, 3<<20)
	for i := range sent {
		sent[i] = byte(i * 7 >> 3)
	}
	go func() {
		rest := sent
		for n := 1; len(rest) > 0; n = n*3%5000 + 1 {
			n = min(n, len(rest))
			if _, err := a.Write(rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
		_ = a.Close()
	}()
	got, err := io.ReadAll(b)
	require.NoError(t, err)
	require.Equal(t, sent, got)
	_, err = b.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe, "the reader has closed")
	require.NoError(t, b.Close())
}

// One direction ends, the other continues.
func TestHalfClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipenet.Pair()
		go func() {
			_, _ = a.Write(make([]byte, 200<<10))
			_ = a.(interface{ CloseWrite() error }).CloseWrite()
		}()
		got, err := io.ReadAll(b)
		require.NoError(t, err)
		require.Len(t, got, 200<<10)
		_, err = a.Write([]byte("x"))
		require.ErrorIs(t, err, io.ErrClosedPipe)
		_, err = b.Write([]byte("still open"))
		require.NoError(t, err)
		require.NoError(t, b.Close())
		got, err = io.ReadAll(a)
		require.NoError(t, err)
		require.Equal(t, "still open", string(got), "written before the end")
		require.NoError(t, a.Close())
		_, err = a.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.ErrClosedPipe)
	})
}

// Who closes a connection does not read the other side's answer to that, and writes none.
func TestNothingFollowsClose(t *testing.T) {
	for range 50_000 {
		a, b := pipenet.Pair()
		ended, wrote := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := a.Read(make([]byte, 1))
			ended <- err
			_, err = a.Write([]byte("x"))
			wrote <- err
		}()
		go func() {
			_, _ = io.Copy(io.Discard, b)
			_, _ = b.Write([]byte("x"))
			_ = b.Close()
		}()
		require.NoError(t, a.Close())
		require.ErrorIs(t, <-ended, io.ErrClosedPipe)
		require.ErrorIs(t, <-wrote, io.ErrClosedPipe)
	}
}

func TestMovingADeadlineWakesAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipenet.Pair()
		defer b.Close()
		defer a.Close()
		start := time.Now()
		require.NoError(t, a.SetReadDeadline(start.Add(time.Hour)))
		go func() {
			time.Sleep(time.Second)
			_ = a.SetDeadline(time.Now())
		}()
		_, err := a.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		require.NoError(t, a.SetDeadline(time.Time{}))
		_, err = a.Write([]byte("x"))
		require.NoError(t, err, "a deadline that is removed has no effect")
	})
}

func TestCloseEndsAcceptAndDial(t *testing.T) {
	l := pipenet.New()
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	_, err := l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = l.Dial(t.Context(), "", "")
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestDialEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.New()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.Dial(ctx, "", "")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestAWriterWaitsForItsReaderAndForTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipenet.Pair()
		defer b.Close()
		defer a.Close()
		start := time.Now()
		require.NoError(t, a.SetWriteDeadline(start.Add(time.Minute)))
		n, err := a.Write(make([]byte, 1<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Less(t, n, 1<<20)
		require.Equal(t, time.Minute, time.Since(start))
	})
}

// TLS and HTTP/2 of net/http run over it on virtual time.
func TestHTTP2OverTLSInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, err := certs.NewAuthority("test")
		require.NoError(t, err)
		pair, err := ca.Serving("server", "pipe")
		require.NoError(t, err)
		l := pipenet.New()
		srv := &http.Server{
			Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }),
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair.TLS()}},
		}
		done := make(chan error, 1)
		go func() { done <- srv.ServeTLS(l, "", "") }()
		transport := &http.Transport{DialContext: l.Dial, ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), ServerName: "pipe"}}
		resp, err := (&http.Client{Transport: transport}).Get("https://pipe/")
		require.NoError(t, err)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "HTTP/2.0", string(b))
		transport.CloseIdleConnections()
		require.NoError(t, srv.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
}

func Example() {
	l := pipenet.New()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprint(c, "hello")
	}()
	c, err := l.Dial(context.Background(), "", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	b, _ := io.ReadAll(c)
	fmt.Println(string(b))
	// Output: hello
}
