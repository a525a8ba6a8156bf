package kubelet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecsi"
)

// login is a simulated login service.
type login struct {
	mu       sync.Mutex
	max      time.Duration
	stubborn bool // its longest delay cannot be changed
	away     bool // it accepts no connections
	refuses  bool // it gives no locks
	under    bool // a shutdown is under way
	dials    int
	locks    int // held
	released time.Time
	// announced belongs to the current connection, and is nil without one.
	announced chan bool
}

func (l *login) policy(periods ...kubelet.ShutdownPeriod) *kubelet.ShutdownPolicy {
	return &kubelet.ShutdownPolicy{Periods: periods, Connect: func(context.Context) (kubelet.Login, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.dials++
		if l.away {
			return nil, errors.New("nobody is there")
		}
		return l, nil
	}}
}

func (l *login) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// held is how many locks are held, and when the last was released.
func (l *login) held() (int, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locks, l.released
}

// announce announces a shutdown, or its cancellation, to the connection that there is.
func (l *login) announce(begins bool) {
	l.mu.Lock()
	c := l.announced
	l.under = begins
	l.mu.Unlock()
	c <- begins
}

// hangUp ends the connection.
func (l *login) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.announced)
	l.announced = nil
}

func (l *login) MaxDelay(context.Context) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.max, nil
}

func (l *login) SetMaxDelay(_ context.Context, d time.Duration) error {
	time.AfterFunc(time.Second, func() { // as logind, which reads its configuration later
		l.set(func() {
			if !l.stubborn {
				l.max = d
			}
		})
	})
	return nil
}

func (l *login) ShuttingDown(context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.under, nil
}

func (l *login) Inhibit(context.Context) (io.Closer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuses {
		return nil, errors.New("a shutdown is under way")
	}
	l.locks++
	return &lock{l: l}, nil
}

func (l *login) Shutdowns(context.Context) (<-chan bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.announced = make(chan bool)
	return l.announced, nil
}

func (l *login) Close() error { return nil }

// lock is one of a login's.
type lock struct {
	l    *login
	once sync.Once
}

func (k *lock) Close() error {
	k.once.Do(func() { k.l.set(func() { k.l.locks--; k.l.released = time.Now() }) })
	return nil
}

// nodeReady is the condition Ready of the node.
func (r *rig) nodeReady() string {
	for _, c := range controllertest.Get[*corev1.Node](r.c, "", "n1").Status.Conditions {
		if c.Type == corev1.NodeReady {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

// takes is a script of containers that need that long to end, by pod.
func takes(times map[string]time.Duration) func(*cri.ContainerConfig) fakecri.Script {
	return func(c *cri.ContainerConfig) fakecri.Script {
		return fakecri.Script{StopAfter: times[c.Labels["io.kubernetes.pod.name"]]}
	}
}

func ofClass(class string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.PriorityClassName = class }
}

const terminated = "Pod was terminated in response to imminent node shutdown."

// requireTerminated checks the status of a pod that has ended for a shutdown.
func (r *rig) requireTerminated(names ...string) {
	for _, name := range names {
		st := r.get(name).Status
		require.Equal(r.t, "Failed Terminated "+terminated, fmt.Sprint(st.Phase, " ", st.Reason, " ", st.Message), name)
		c := r.condition(name, corev1.DisruptionTarget)
		require.NotNil(r.t, c, name)
		require.Equal(r.t, "True TerminationByKubelet "+terminated, fmt.Sprint(c.Status, " ", c.Reason, " ", c.Message), name)
	}
}

// Before a shutdown pods end in two phases, critical ones last, and then the machine goes on. One that is
// cancelled leaves the node as it was.
func TestPodsEndBeforeAShutdown(t *testing.T) {
	l := &login{max: 5 * time.Second}
	bubble(t, func(r *rig) {
		r.opts.Shutdown = l.policy(kubelet.ShutdownPeriods(30*time.Second, 10*time.Second)...)
		r.rt.Play = takes(map[string]time.Duration{"web": 5 * time.Second, "slow": time.Hour, "leaving": time.Hour, "system": 3 * time.Second})
	}, func(r *rig) {
		l.set(func() { require.Equal(t, 30*time.Second, l.max, "it was too short") })
		n, _ := l.held()
		require.Equal(t, 1, n)
		r.pod("web", nil, "a")
		r.pod("slow", func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(300)) }, "a")
		r.pod("leaving", nil, "a")
		r.pod("system", ofClass(ofCluster), "a")
		time.Sleep(3 * time.Second)
		r.delete("leaving", 300)
		time.Sleep(2 * time.Second)
		require.Len(t, r.rt.Running(), 4)

		began := time.Now()
		l.announce(true)
		time.Sleep(2 * time.Second)
		require.Equal(t, "False KubeletNotReady: node is shutting down", r.nodeReady())
		r.pod("late", ofClass(ofNode), "a")
		time.Sleep(4 * time.Second)
		require.Equal(t, "Failed NodeShutdown Pod was rejected as the node is shutting down.", fmt.Sprint(r.get("late").Status.Phase, " ", r.get("late").Status.Reason, " ", r.get("late").Status.Message))
		r.requireTerminated("web")
		require.Equal(t, corev1.PodRunning, r.get("slow").Status.Phase, "it ends within its period")
		require.ElementsMatch(t, []string{"slow/a", "leaving/a", "system/a"}, r.rt.Running())
		require.Contains(t, r.metrics(), fmt.Sprintf("kubelet_graceful_shutdown_start_time_seconds %g\n", float64(began.Unix())))
		require.Contains(t, r.metrics(), "kubelet_graceful_shutdown_end_time_seconds 0\n")

		time.Sleep(time.Until(began.Add(22 * time.Second)))
		r.requireTerminated("slow")
		require.False(t, r.exists("leaving"), "its grace period was shortened")
		require.Equal(t, []string{"system/a"}, r.rt.Running())
		n, _ = l.held()
		require.Equal(t, 1, n)
		time.Sleep(3 * time.Second)
		r.requireTerminated("system")
		n, released := l.held()
		require.Zero(t, n)
		require.Equal(t, 23*time.Second, released.Sub(began).Round(time.Second))
		require.Contains(t, r.metrics(), fmt.Sprintf("kubelet_graceful_shutdown_end_time_seconds %g\n", float64(released.Unix())))
		state, err := os.ReadFile(filepath.Join(r.opts.RootDir, "graceful_node_shutdown_state"))
		require.NoError(t, err)
		require.Contains(t, string(state), `{"startTime":"`+began.UTC().Format("2006-01-02T15:04:05"))

		l.announce(false)
		time.Sleep(3 * time.Second)
		require.Equal(t, "True KubeletReady: kubelet is posting ready status", r.nodeReady())
		n, _ = l.held()
		require.Equal(t, 1, n)
		r.pod("next", nil, "a")
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"next/a"}, r.rt.Running())
		events := strings.Join(r.eventsOf("n1"), "\n")
		require.Contains(t, events, "NodeShutdown: Shutdown manager detected shutdown event")
		require.Contains(t, events, "NodeShutdown: Shutdown manager detected shutdown cancellation")
	})
}

// Each pod has the period of its priority, and periods without pods take no time.
func TestPrioritiesOfAShutdown(t *testing.T) {
	l := &login{max: time.Hour}
	bubble(t, func(r *rig) {
		period := func(priority int32, seconds int) kubelet.ShutdownPeriod {
			return kubelet.ShutdownPeriod{Priority: priority, Grace: time.Duration(seconds) * time.Second}
		}
		r.opts.Shutdown = l.policy(period(2_000_000_000, 10), period(10, 20), period(1000, 30), period(100, 40))
		r.rt.Play = func(*cri.ContainerConfig) fakecri.Script { return fakecri.Script{StopAfter: time.Hour} }
		for name, value := range map[string]int32{"least": -5, "ten": 10, "ninety": 90, "hundred": 100, "most": 1_000_000_000} {
			controllertest.Create(r.c, &schedulingv1.PriorityClass{ObjectMeta: controllertest.Name("", name), Value: value})
		}
	}, func(r *rig) {
		for _, class := range []string{"least", "ten", "ninety", "hundred", "most", ofNode} {
			r.pod(class, func(p *corev1.Pod) {
				p.Spec.PriorityClassName, p.Spec.TerminationGracePeriodSeconds = class, new(int64(300))
			}, "a")
		}
		r.pod("none", nil, "a")
		time.Sleep(3 * time.Second)
		began := time.Now()
		l.announce(true)
		at := func(seconds int, want ...string) {
			time.Sleep(time.Until(began.Add(time.Duration(seconds) * time.Second)))
			var left []string
			for _, name := range r.rt.Running() {
				left = append(left, strings.TrimSuffix(name, "/a"))
			}
			require.ElementsMatch(t, want, left, "after %d s", seconds)
		}
		at(19, "least", "ten", "ninety", "none", "hundred", "most", ofNode)
		at(21, "hundred", "most", ofNode)
		at(59, "hundred", "most", ofNode)
		at(61, "most", ofNode)
		at(89, "most", ofNode)
		at(91, ofNode)
		at(102)
		n, released := l.held()
		require.Zero(t, n)
		require.Equal(t, 100*time.Second, released.Sub(began).Round(time.Second))
	})
}

// A runtime that does not stop containers, and volumes that are not unmounted, hold the machine up for the
// periods and no longer.
func TestWhatHangsDelaysAShutdownForItsPeriod(t *testing.T) {
	l := &login{max: time.Minute}
	var fault fakecri.Fault
	var mu sync.Mutex
	withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{}, func(t *testing.T, x *disks) {
		x.claim("a", nil)
		x.pod("data", uses("a"), "c")
		x.pod("system", ofClass(ofCluster), "c")
		time.Sleep(3 * time.Second)
		require.Len(t, x.rt.Running(), 2)

		// The critical pod, perhaps the driver, ends after the volumes that it unmounts.
		x.set("NodeUnpublishVolume", fakecri.Before)
		began := time.Now()
		l.announce(true)
		time.Sleep(5 * time.Second)
		x.requireTerminated("data")
		require.Equal(t, []string{"system/c"}, x.rt.Running())
		x.set()
		time.Sleep(14 * time.Second)
		_, released := l.held()
		require.Less(t, released.Sub(began), 20*time.Second, "the volume was unmounted")
		require.Greater(t, released.Sub(began), 5*time.Second)
		require.Empty(t, x.d.Published())

		l.announce(false)
		x.pod("more", uses("a"), "c")
		x.pod("system2", ofClass(ofCluster), "c")
		time.Sleep(3 * time.Second)
		require.Len(t, x.rt.Running(), 2)
		mu.Lock()
		fault = fakecri.Hang
		mu.Unlock()
		began = time.Now()
		l.announce(true)
		time.Sleep(29 * time.Second)
		n, _ := l.held()
		require.Equal(t, 1, n)
		time.Sleep(2 * time.Second)
		n, released = l.held()
		require.Zero(t, n)
		require.Equal(t, 30*time.Second, released.Sub(began).Round(time.Second))
		mu.Lock()
		fault = 0
		mu.Unlock()
	}, func(r *rig) {
		r.opts.Shutdown = l.policy(kubelet.ShutdownPeriods(30*time.Second, 10*time.Second)...)
		r.rt.Fault = func(method string, _ any) fakecri.Fault {
			mu.Lock()
			defer mu.Unlock()
			if method == "StopContainer" {
				return fault
			}
			return 0
		}
	})
}

// The service may be away, give no lock, or not delay for long enough: the node runs, and the kubelet tries
// again. A shutdown that is announced to the next connection ends the pods as well.
func TestALoginServiceThatFails(t *testing.T) {
	l := &login{max: time.Second, away: true, stubborn: true}
	bubble(t, func(r *rig) {
		r.opts.Shutdown = l.policy(kubelet.ShutdownPeriods(30*time.Second, 10*time.Second)...)
	}, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(10 * time.Second)
		require.Equal(t, []string{"web/a"}, r.rt.Running())
		held := func() int { n, _ := l.held(); return n }
		l.set(func() {
			require.InDelta(t, 13, l.dials, 2)
			l.away = false
		})
		time.Sleep(10 * time.Second)
		require.Zero(t, held())
		l.set(func() { l.stubborn, l.refuses = false, true })
		time.Sleep(10 * time.Second)
		require.Zero(t, held())
		l.set(func() { l.refuses = false })
		time.Sleep(5 * time.Second)
		require.Equal(t, 1, held())
		for range 3 {
			l.hangUp()
			time.Sleep(2 * time.Second)
			require.Equal(t, 1, held(), "a new connection, and no lock is left over")
		}
		l.announce(true)
		time.Sleep(3 * time.Second)
		r.requireTerminated("web")
		require.Zero(t, held())
		// A lock that is refused after a cancellation ends the connection, and a later one gets it.
		l.set(func() { l.refuses = true })
		l.announce(false)
		time.Sleep(3 * time.Second)
		require.Contains(t, r.nodeReady(), "True")
		l.set(func() { l.refuses = false })
		time.Sleep(3 * time.Second)
		require.Equal(t, 1, held())
	})
}

// A kubelet that is killed during a shutdown leaves when it began, which the next one shows; no lock is left.
func TestAKubeletThatEndsDuringAShutdown(t *testing.T) {
	l := &login{max: time.Minute}
	bubble(t, func(r *rig) {
		r.opts.StopPods = false
		r.opts.Shutdown = l.policy(kubelet.ShutdownPeriods(30*time.Second, 10*time.Second)...)
		r.rt.Play = takes(map[string]time.Duration{"web": 15 * time.Second})
	}, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(3 * time.Second)
		began := time.Now()
		l.announce(true)
		time.Sleep(3 * time.Second)
		r.stop()
		n, _ := l.held()
		require.Zero(t, n)
		r.opts.StopPods = true
		l.set(func() { l.under = false })
		r.start()
		time.Sleep(3 * time.Second)
		require.Contains(t, r.metrics(), fmt.Sprintf("kubelet_graceful_shutdown_start_time_seconds %g\n", float64(began.Unix())))
		require.Contains(t, r.metrics(), "kubelet_graceful_shutdown_end_time_seconds 0\n")
		n, _ = l.held()
		require.Equal(t, 1, n)
		r.stop()

		path := filepath.Join(r.opts.RootDir, "graceful_node_shutdown_state")
		require.NoError(t, os.WriteFile(path, []byte(`{"startTime":"2026-01-01T00:00:01Z","endTime":"2026-01-01T00:00:31.5Z"}`), 0o600))
		r.start()
		time.Sleep(3 * time.Second)
		require.Contains(t, r.metrics(), "kubelet_graceful_shutdown_end_time_seconds 1.767225631e+09\n")
		r.stop()
		require.NoError(t, os.WriteFile(path, []byte(`{"startTime":`), 0o600)) // cut
		r.start()
		time.Sleep(3 * time.Second)
		require.Contains(t, r.metrics(), "kubelet_graceful_shutdown_start_time_seconds 0\n")
		l.announce(true)
		time.Sleep(3 * time.Second)
		require.NotContains(t, r.metrics(), "kubelet_graceful_shutdown_start_time_seconds 0\n")
	})
}

func TestShutdownPolicies(t *testing.T) {
	require.Equal(t, []kubelet.ShutdownPeriod{{Priority: 0, Grace: 20 * time.Second}, {Priority: 2_000_000_000, Grace: 10 * time.Second}},
		kubelet.ShutdownPeriods(30500*time.Millisecond, 10200*time.Millisecond))
	for want, p := range map[string]kubelet.ShutdownPolicy{
		"no period": {},
		"the grace of priority 3, 1.5s, is no number of whole seconds": {Periods: []kubelet.ShutdownPeriod{{Priority: 3, Grace: 1500 * time.Millisecond}}},
		"the grace of priority 3, -1s, is no number of whole seconds":  {Periods: []kubelet.ShutdownPeriod{{Priority: 3, Grace: -time.Second}}},
	} {
		_, err := kubelet.New(nil, kubelet.Options{NodeName: "n1", RootDir: t.TempDir(), NoCgroups: true, Shutdown: &p})
		require.EqualError(t, err, "kubelet: Options.Shutdown: "+want)
	}
}

// A kubelet that starts while the machine is being shut down ends its pods at once, starts none, and goes on
// when the shutdown is cancelled, even while it is not connected.
func TestAShutdownThatIsUnderWay(t *testing.T) {
	l := &login{max: time.Minute, refuses: true, under: true}
	bubble(t, func(r *rig) {
		r.opts.StopPods = false
	}, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(3 * time.Second)
		require.Len(t, r.rt.Running(), 1)
		r.stop()
		r.opts.StopPods = true
		r.opts.Shutdown = l.policy(kubelet.ShutdownPeriods(30*time.Second, 10*time.Second)...)
		r.start()
		time.Sleep(5 * time.Second)
		r.requireTerminated("web")
		require.Equal(t, "False KubeletNotReady: node is shutting down", r.nodeReady())
		r.pod("late", nil, "a")
		time.Sleep(3 * time.Second)
		require.Equal(t, "NodeShutdown", r.get("late").Status.Reason)
		n, _ := l.held()
		require.Zero(t, n)

		l.set(func() { l.refuses, l.under = false, false })
		l.hangUp()
		time.Sleep(5 * time.Second)
		require.Equal(t, "True KubeletReady: kubelet is posting ready status", r.nodeReady())
		n, _ = l.held()
		require.Equal(t, 1, n)
		r.pod("next", nil, "a")
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"next/a"}, r.rt.Running())
	})
}
