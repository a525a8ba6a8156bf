package client

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slowLine is a body that delivers one byte per interval.
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

// TestSilenceIsWhenNothingComes: an event that takes longer than the allowed silence but makes progress is
// not silence; a stream without any data is ended in time.
func TestSilenceIsWhenNothingComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := &slowLine{every: 5 * time.Second, left: 10, closed: make(chan struct{})}
		s := newIdleTimer(9*time.Second, line)
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

// TestATimerThatFiresIsNoSilence stops the program for a minute: its timer fires before it reads what was
// received.
func TestATimerThatFiresIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := &slowLine{every: 0, left: 1, closed: make(chan struct{})}
		s := newIdleTimer(9*time.Second, line)
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

// A process whose goroutines wait for a processor, so that the timer fires late, gets more time to read what
// was received, and closes nothing while the waits are long. After them it closes a dead stream within the
// limit.
func TestSilenceOfStarvedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 8 * time.Second
		start := func() *idleTimer {
			s := newIdleTimer(limit, &slowLine{closed: make(chan struct{})})
			s.begin()
			return s
		}
		fires := func(s *idleTimer, late time.Duration) bool { return s.expired(s.due.Add(late)) }
		next := func(s *idleTimer) time.Duration { return time.Until(s.due) }

		s := start()
		require.Equal(t, 6*time.Second, next(s))
		require.False(t, fires(s, 0))
		require.Equal(t, 2*time.Second, next(s))
		require.True(t, fires(s, 0))
		s.end()

		s = start()
		require.False(t, fires(s, 0))
		require.False(t, fires(s, 500*time.Millisecond), "the grace period was too short for what the delay is now")
		require.Equal(t, 4*time.Second, next(s))
		require.True(t, fires(s, 500*time.Millisecond))
		s.end()

		for _, late := range []time.Duration{limit/8 + 1, limit, time.Hour} {
			s = start()
			for range 100 {
				require.False(t, fires(s, late))
				require.Equal(t, limit, next(s))
			}
			s.reads.Add(1)
			require.False(t, fires(s, 0))
			require.Equal(t, 6*time.Second, next(s), "what was read is no silence")
			require.False(t, fires(s, late))
			require.True(t, fires(s, 0))
			s.end()
		}
	})
}
