package reflector

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
)

var (
	expired   = apierrors.NewResourceExpired("too old")
	missing   = apierrors.NewNotFound(schema.GroupResource{Resource: "websites"}, "")
	refused   = apierrors.New(422, metav1.StatusReasonInvalid, "sendInitialEvents")
	throttled = apierrors.NewTooManyRequests("slow down", 7)
	broken    = errors.New("connection reset")
)

// walk feeds inputs to a machine, with all jitter, and returns the last command.
func walk(t *testing.T, m Machine, ins ...Input) (Machine, Command) {
	var cmd Command
	for _, in := range ins {
		m, cmd = m.Step(in, 0.999999)
	}
	return m, cmd
}

func failed(err error) Input { return Input{Outcome: Failed, Err: err} }

func TestSteps(t *testing.T) {
	start := Input{Outcome: Start}
	caught, listed := Input{Outcome: Caught, Version: "10"}, Input{Outcome: Listed, Version: "10"}
	moved := func(v string) Input { return Input{Outcome: Moved, Version: v} }
	woke, absent, served := Input{Outcome: Woke}, Input{Outcome: Absent}, Input{Outcome: Served}
	for _, tc := range []struct {
		name  string
		plain bool
		ins   []Input
		want  Command
	}{
		{"begins with a watch-list", false, []Input{start}, Command{Do: WatchList}},
		{"or a list", true, []Input{start}, Command{Do: List}},
		{"then follows", false, []Input{start, caught}, Command{Do: Follow}},
		{"or watches", true, []Input{start, listed}, Command{Do: Watch, Version: "10"}},
		{"watch-list refused", false, []Input{start, failed(refused)}, Command{Do: List}},
		{"watch-list failed inside", false, []Input{start, failed(apierrors.NewInternalError(broken))}, Command{Do: List}},
		{"a useful watch resumes at once", false, []Input{start, caught, moved("12"), failed(io.EOF)}, Command{Do: Watch, Version: "12"}},
		{"silence is an end", false, []Input{start, caught, moved("12"), failed(client.ErrSilent)}, Command{Do: Watch, Version: "12"}},
		{"a useless one waits", false, []Input{start, caught, failed(io.EOF), failed(io.EOF)}, Command{Do: Wait, After: 200 * time.Millisecond}},
		{"and resumes", false, []Input{start, caught, failed(broken), woke}, Command{Do: Watch, Version: "10"}},
		{"expired reads again at once", false, []Input{start, caught, moved("12"), failed(expired)}, Command{Do: WatchList}},
		{"expired twice waits", false, []Input{start, caught, failed(expired), failed(expired)}, Command{Do: Wait, After: 200 * time.Millisecond}},
		{"expired after failures reads at once: the server is well", false, []Input{start, caught, failed(broken), woke, failed(broken), woke, failed(broken), woke, failed(expired)}, Command{Do: WatchList}},
		{"missing asks", false, []Input{start, failed(missing)}, Command{Do: CheckServed}},
		{"absent says so once", false, []Input{start, failed(missing), absent}, Command{Do: Wait, After: 500 * time.Millisecond, NotServed: true}},
		{"and then only waits", false, []Input{start, failed(missing), absent, woke, failed(missing), absent}, Command{Do: Wait, After: 500 * time.Millisecond}},
		{"what was read is not gone at once", false, []Input{start, failed(missing), absent, woke, caught, failed(missing), absent}, Command{Do: Wait, After: 2 * time.Second}},
		{"but when the server insists", false, []Input{start, caught, failed(missing), absent, woke, failed(missing), absent, woke, failed(missing), absent}, Command{Do: Wait, After: 800 * time.Millisecond, NotServed: true}},
		{"insisting is in a row", false, []Input{start, caught, failed(missing), absent, woke, failed(missing), absent, woke, failed(missing), served, woke, failed(missing), absent}, Command{Do: Wait, After: 2 * time.Second}},
		{"a 404 of something else resumes", false, []Input{start, caught, moved("12"), failed(missing), served, woke}, Command{Do: Watch, Version: "12"}},
		{"and one without an answer", false, []Input{start, caught, moved("12"), failed(missing), failed(missing), woke}, Command{Do: Watch, Version: "12"}},
		{"or reads", false, []Input{start, failed(missing), failed(broken), woke}, Command{Do: WatchList}},
		{"server says when to retry", false, []Input{start, failed(throttled)}, Command{Do: Wait, After: 7 * time.Second}},
		{"a version refused reads again", true, []Input{start, listed, failed(apierrors.NewBadRequest("version")), woke}, Command{Do: List}},
		{"a bookmark of the past is ignored", false, []Input{start, caught, moved("12"), moved("11"), failed(io.EOF)}, Command{Do: Watch, Version: "12"}},
		{"asked to read", true, []Input{start, listed, {Outcome: Relist, Version: "99"}}, Command{Do: List, Version: "99"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, cmd := walk(t, NewMachine(tc.plain), tc.ins...)
			require.Equal(t, tc.want.Do, cmd.Do)
			require.Equal(t, tc.want.Version, cmd.Version)
			require.Equal(t, tc.want.NotServed, cmd.NotServed)
			require.InDelta(t, tc.want.After, cmd.After, float64(time.Millisecond))
		})
	}
}

func TestWaitsGrowAndEnd(t *testing.T) {
	m, cmd := walk(t, NewMachine(true), Input{Outcome: Start})
	var last time.Duration
	for range 20 {
		m, cmd = m.Step(failed(broken), 0.999999)
		require.Equal(t, Wait, cmd.Do)
		require.GreaterOrEqual(t, cmd.After, last)
		require.LessOrEqual(t, cmd.After, 30*time.Second)
		last = cmd.After
		m, cmd = m.Step(Input{Outcome: Woke}, 0)
		require.Equal(t, List, cmd.Do)
	}
	m, _ = m.Step(Input{Outcome: Listed, Version: "1"}, 0)
	require.Zero(t, m.Failures)
}

// TestAServerThatCannotBeWatchedIsNotReadAllTheTime has every reading succeed and every watch end in a way
// that makes another one necessary.
func TestAServerThatCannotBeWatchedIsNotReadAllTheTime(t *testing.T) {
	for name, err := range map[string]error{"expired": expired, "refused": apierrors.NewBadRequest("version"), "missing": missing} {
		for _, plain := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s plain=%v", name, plain), func(t *testing.T) {
				read := Input{Outcome: Caught, Version: "7"}
				if plain {
					read = Input{Outcome: Listed, Version: "7"}
				}
				m, cmd := walk(t, NewMachine(plain), Input{Outcome: Start})
				var waited, last time.Duration
				readings := 0
				for waited < time.Hour {
					require.Contains(t, []Action{List, WatchList}, cmd.Do)
					readings++
					require.Less(t, readings, 200)
					m, _ = m.Step(read, 0)
					m, cmd = m.Step(failed(err), 0.999999)
					if cmd.Do == CheckServed {
						m, cmd = m.Step(Input{Outcome: Absent}, 0.999999)
					}
					if cmd.Do == Wait {
						require.GreaterOrEqual(t, cmd.After, last)
						waited, last = waited+cmd.After, cmd.After
						m, cmd = m.Step(Input{Outcome: Woke}, 0)
					}
				}
				require.InDelta(t, 30*time.Second, last, float64(time.Millisecond))
				// After one watch that delivers an event, the next end counts as an ordinary one.
				m, _ = m.Step(read, 0)
				m, _ = m.Step(Input{Outcome: Moved, Version: "8"}, 0)
				_, cmd = m.Step(failed(err), 0.999999)
				require.LessOrEqual(t, cmd.After, 500*time.Millisecond)
			})
		}
	}
}

func TestAVersionThatNeverComesIsGivenUp(t *testing.T) {
	m, _ := walk(t, NewMachine(true), Input{Outcome: Start}, Input{Outcome: Listed, Version: "1"})
	m, cmd := m.Step(Input{Outcome: Relist, Version: "999"}, 0)
	require.Equal(t, "999", cmd.Version)
	for range 3 {
		m, _ = m.Step(failed(apierrors.NewTimeout("too large", 1)), 0)
		m, cmd = m.Step(Input{Outcome: Woke}, 0)
	}
	require.Equal(t, Command{Do: List}, cmd)
}

// TestStepNeverStalls walks at random: whatever happens there is something to do, and it fits the state.
func FuzzStep(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, false)
	f.Fuzz(func(t *testing.T, b []byte, plain bool) {
		m, cmd := NewMachine(plain).Step(Input{Outcome: Start}, 0)
		v := 10
		for _, x := range b {
			before := m
			var in Input
			if x%16 == 15 {
				in = Input{Outcome: Relist, Version: fmt.Sprint(v)}
			} else {
				errs := []error{io.EOF, broken, expired, missing, refused, throttled, client.ErrSilent, apierrors.NewInternalError(broken)}
				switch cmd.Do {
				case Wait:
					in = Input{Outcome: Woke}
				case List:
					in = Input{Outcome: Listed, Version: fmt.Sprint(v)}
				case WatchList:
					in = Input{Outcome: Caught, Version: fmt.Sprint(v)}
				case CheckServed:
					in = Input{Outcome: []Outcome{Absent, Served}[int(x/2)%2]}
				case Watch, Follow:
					v++
					in = Input{Outcome: Moved, Version: fmt.Sprint(v)}
				}
				if x%2 == 1 && cmd.Do != Wait {
					in = failed(errs[int(x/2)%len(errs)])
				}
			}
			m, cmd = m.Step(in, float64(x)/256)
			require.NotZero(t, cmd.Do)
			require.LessOrEqual(t, cmd.After, 30*time.Second)
			switch cmd.Do {
			case Watch:
				require.Equal(t, Watching, m.Phase)
				require.NotEmpty(t, cmd.Version)
			case Follow:
				require.Equal(t, Watching, m.Phase)
			case List, WatchList:
				require.Equal(t, Reading, m.Phase)
			}
			again, cmd2 := before.Step(in, float64(x)/256)
			require.Equal(t, m, again, "Step is a pure function")
			require.Equal(t, cmd, cmd2)
		}
	})
}
