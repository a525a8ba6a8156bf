package client

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slowLine is a body of which a byte comes every so often.
type slowLine struct {
	every  time.Duration
	left   int
	closed chan struct{}
}

func (l *slowLine) Read(p []byte) (int, error) {
	wait := time.After(l.every)
	if l.left == 0 {
		wait = nil
	}
	select {
	case <-wait:
		l.left--
		p[0] = 'x'
		return 1, nil
	case <-l.closed:
		return 0, errors.New("closed")
	}
}

func (l *slowLine) Close() error { close(l.closed); return nil }

// TestSilenceIsWhenNothingComes: an event that takes longer than the silence allowed, but comes, is none; a
// stream on which nothing comes is ended in time.
func TestSilenceIsWhenNothingComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := &slowLine{every: 5 * time.Second, left: 10, closed: make(chan struct{})}
		s := newSilence(9*time.Second, line)
		s.begin()
		frame := make([]byte, 10)
		_, err := io.ReadFull(s, frame)
		require.NoError(t, err, "50 s for one event")
		require.False(t, s.end())
		time.Sleep(time.Hour) // the caller is busy
		s.begin()
		start := time.Now()
		_, err = s.Read(frame)
		require.Error(t, err)
		require.True(t, s.end())
		require.Equal(t, 9*time.Second, time.Since(start).Round(time.Second))
	})
}

// TestATimerThatFiresIsNoSilence is a program that was stopped for a minute: its timer fires before it reads
// what has come.
func TestATimerThatFiresIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := &slowLine{every: 0, left: 1, closed: make(chan struct{})}
		s := newSilence(9*time.Second, line)
		s.begin()
		s.fire() // late: nothing has been read since begin
		b := make([]byte, 1)
		_, err := s.Read(b)
		require.NoError(t, err)
		require.False(t, s.end())
		select {
		case <-line.closed:
			t.Fatal("closed")
		default:
		}
	})
}
