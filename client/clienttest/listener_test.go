package clienttest

import (
	"context"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		big := make([]byte, 3*pipeBuffer)
		for i := range big {
			big[i] = byte(i)
		}
		go func() {
			n, err := a.Write(big)
			require.NoError(t, err)
			require.Equal(t, len(big), n)
			require.NoError(t, a.(*end).CloseWrite())
		}()
		got, err := io.ReadAll(b)
		require.NoError(t, err)
		require.Equal(t, big, got)
		_, err = b.Write([]byte("still open"))
		require.NoError(t, err)
		buf := make([]byte, 100)
		n, err := a.Read(buf)
		require.NoError(t, err)
		require.Equal(t, "still open", string(buf[:n]))

		require.NoError(t, a.SetReadDeadline(time.Now().Add(time.Second)))
		start := time.Now()
		_, err = a.Read(buf)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		require.NoError(t, a.SetReadDeadline(time.Time{}))
		go func() {
			time.Sleep(time.Hour)
			a.Close()
		}()
		_, err = a.Read(buf)
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = b.Write([]byte("x"))
		require.Error(t, err)
	})
}

func TestMovingADeadlineWakesAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := Pipe()
		go func() {
			time.Sleep(time.Second)
			_ = a.SetDeadline(time.Now())
		}()
		_, err := a.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
}

func TestListenerCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.Dial(ctx, "", "")
		require.ErrorIs(t, err, context.DeadlineExceeded, "nobody accepts")
		require.NoError(t, l.Close())
		_, err = l.Dial(t.Context(), "", "")
		require.ErrorContains(t, err, "refused")
		_, err = l.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	})
}
