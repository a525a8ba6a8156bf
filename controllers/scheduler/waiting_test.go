package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A pod that has its verdict does not wait any more, before its goroutine has taken note of that: for a
// plugin that allows it then it is too late.
func TestAVerdictEndsTheWait(t *testing.T) {
	waits := func() (*Scheduler, *waitingPod) {
		p := &waitingPod{WaitingPod: WaitingPod{Pod: NewPod(bigPod("p", "new", "1")), Plugins: []string{"a"}}, verdict: make(chan *Status, 1)}
		s := &Scheduler{waiting: newWaiting()}
		s.waiting.pods["p"] = p
		return s, p
	}
	for name, refuse := range map[string]func(s *Scheduler, p *waitingPod) *Status{
		"the time is up": func(s *Scheduler, p *waitingPod) *Status { return s.waiting.wait(t.Context(), p, time.Millisecond) },
		"rejected": func(s *Scheduler, p *waitingPod) *Status {
			require.True(t, s.Reject("p", "b", "no"))
			require.False(t, s.Allow("p", "a"))
			return s.waiting.wait(t.Context(), p, time.Hour)
		},
	} {
		s, p := waits()
		require.Equal(t, Unschedulable, refuse(s, p).Code, name)
		require.False(t, s.Allow("p", "a"), name)
		require.Empty(t, s.Waiting(), name)
	}
	s, p := waits()
	require.True(t, s.Allow("p", "a"))
	require.False(t, s.Reject("p", "b", "too late"))
	require.True(t, s.waiting.wait(t.Context(), p, time.Hour).OK())
}
