package kubelet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/logind"
)

// ShutdownPolicy delays the shutdown of the machine until the pods have ended.
type ShutdownPolicy struct {
	// Periods are how long pods get to end, by priority. Pods of the lowest priority end first; the next
	// period begins when they have ended and their volumes are unmounted, or their period is over. See
	// [ShutdownPeriods].
	Periods []ShutdownPeriod
	// Connect connects to the service that announces shutdowns; nil means systemd's logind, on Linux only.
	// Without a connection the kubelet runs, and tries again every second.
	Connect func(ctx context.Context) (Login, error)
}

// ShutdownPeriod is how long pods get to end: those whose priority is at least Priority and lower than that
// of the next period. Pods of a lower priority than all periods belong to the lowest one.
type ShutdownPeriod struct {
	Priority int32
	// Grace is a number of whole seconds; a shorter grace period of a pod holds.
	Grace time.Duration
}

// ShutdownPeriods returns two periods: all pods but critical ones end within total without critical, and then
// the critical ones within critical. Fractions of seconds are cut off.
func ShutdownPeriods(total, critical time.Duration) []ShutdownPeriod {
	return []ShutdownPeriod{{0, (total - critical).Truncate(time.Second)}, {criticalPriority, critical.Truncate(time.Second)}}
}

// criticalPriority is the lowest one of critical pods.
const criticalPriority = 2_000_000_000

// Login is the service of the machine that announces its shutdown. Methods are called one at a time.
type Login interface {
	// MaxDelay returns how long a shutdown is delayed at most, and SetMaxDelay changes that, perhaps only
	// after it has returned.
	MaxDelay(ctx context.Context) (time.Duration, error)
	SetMaxDelay(ctx context.Context, d time.Duration) error
	// ShuttingDown reports whether the machine is about to be shut down already.
	ShuttingDown(ctx context.Context) (bool, error)
	// Inhibit delays the shutdown until the lock is closed.
	Inhibit(ctx context.Context) (lock io.Closer, err error)
	// Shutdowns returns what is announced from now on: true if the machine is about to be shut down, false
	// if that was cancelled. The channel is closed when the connection has ended, or ctx.
	Shutdowns(ctx context.Context) (<-chan bool, error)
	Close() error
}

func (p *ShutdownPolicy) withDefaults() (*ShutdownPolicy, error) {
	if p == nil {
		return nil, nil //nolint:nilnil // shutdowns are not delayed
	}
	out := *p
	out.Periods = slices.Clone(p.Periods)
	slices.SortStableFunc(out.Periods, func(a, b ShutdownPeriod) int { return cmp.Compare(a.Priority, b.Priority) })
	if len(out.Periods) == 0 {
		return nil, errors.New("no period")
	}
	for _, period := range out.Periods {
		if period.Grace < 0 || period.Grace%time.Second != 0 {
			return nil, fmt.Errorf("the grace of priority %d, %v, is no number of whole seconds", period.Priority, period.Grace)
		}
	}
	if out.Connect == nil {
		if goruntime.GOOS != "linux" {
			return nil, errors.New("logind, which announces shutdowns, is on Linux only")
		}
		out.Connect = func(ctx context.Context) (Login, error) { return logind.Dial(ctx, logind.Options{}) }
	}
	return &out, nil
}

// shutdown ends the pods before the machine is shut down. Nil never does. Safe for concurrent use.
type shutdown struct {
	k *Kubelet
	ShutdownPolicy
	path string // of the file with the times of the last one
	log  *slog.Logger

	mu  sync.Mutex
	now bool
}

func newShutdown(k *Kubelet) *shutdown {
	if k.opts.Shutdown == nil {
		return nil
	}
	return &shutdown{k: k, ShutdownPolicy: *k.opts.Shutdown, log: k.log, path: filepath.Join(k.opts.RootDir, "graceful_node_shutdown_state")}
}

// begun reports whether the machine is being shut down.
func (s *shutdown) begun() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *shutdown) setBegun(now bool) {
	s.mu.Lock()
	s.now = now
	s.mu.Unlock()
	s.k.node.poke()
}

const shuttingDown = "node is shutting down"

// admit returns why a node that is being shut down does not start a pod; nil if it is not.
func (s *shutdown) admit() *verdict {
	if !s.begun() {
		return nil
	}
	return refusal("NodeShutdown", "Pod was rejected as the node is shutting down.")
}

// loginRetry is how long to wait before the next connection to the service.
const loginRetry = time.Second

func (s *shutdown) run(ctx context.Context) {
	s.showLast()
	last := ""
	for {
		err := s.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if text := err.Error(); text != last { // one that stays is logged once
			s.log.Warn("shutdowns of the machine are not followed", "err", err)
			last = text
		}
		if backoff.Sleep(ctx, loginRetry) != nil {
			return
		}
	}
}

// podsLook is how long to wait before the next look whether the pods are known.
const podsLook = 100 * time.Millisecond

var errLoginLost = errors.New("the connection to the login service has ended")

// follow delays shutdowns and ends the pods when one is announced. It returns why it does so no more.
func (s *shutdown) follow(ctx context.Context) error {
	login, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	defer login.Close()
	// Before there is a lock, or a shutdown in between would go unseen.
	announced, err := login.Shutdowns(ctx)
	if err != nil {
		return err
	}
	lock, err := s.delay(ctx, login)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	for {
		var begins, ok bool
		select {
		case <-ctx.Done():
			return ctx.Err()
		case begins, ok = <-announced:
		}
		switch {
		case !ok:
			return errLoginLost
		case begins:
			s.begin(ctx)
			_ = lock.Close() // what the machine waits for; the connection shows whether it failed
		default:
			s.cancelled()
			_ = lock.Close()
			if lock, err = login.Inhibit(ctx); err != nil {
				lock = io.NopCloser(nil)
				return err
			}
		}
	}
}

// delay delays the next shutdown until the lock is closed. If one is under way, which cannot be delayed any
// more, the pods get what is left of its time, and there is no lock.
func (s *shutdown) delay(ctx context.Context, login Login) (lock io.Closer, err error) {
	under, err := login.ShuttingDown(ctx)
	if err != nil {
		return nil, err
	}
	if under {
		s.begin(ctx)
		return io.NopCloser(nil), nil
	}
	if s.begun() {
		s.cancelled() // while there was no connection
	}
	if err := s.extend(ctx, login); err != nil {
		return nil, err
	}
	return login.Inhibit(ctx)
}

func (s *shutdown) cancelled() {
	s.event("Shutdown manager detected shutdown cancellation")
	s.setBegun(false)
}

// begin ends the pods since the machine is about to be shut down, once for each shutdown.
func (s *shutdown) begin(ctx context.Context) {
	if s.begun() {
		return
	}
	s.event("Shutdown manager detected shutdown event")
	s.setBegun(true)
	s.awaitPods(ctx)
	s.endPods(ctx)
}

// awaitPods returns when the pods of the node are known, which at the start of a kubelet takes a while. It
// waits for as long as all periods take at most: there may be no API server any more.
func (s *shutdown) awaitPods(ctx context.Context) {
	most := time.Duration(0)
	for _, p := range s.Periods {
		most += p.Grace
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for !s.k.podsKnown() && backoff.Sleep(ctx, podsLook) == nil {
	}
}

func (s *shutdown) event(message string) {
	s.log.Info(message)
	s.k.recorder.About(s.k.node.about(), nil, events.Normal, "NodeShutdown", message)
}

// delayLooks are the times between looks at the longest delay after it was changed.
var delayLooks = []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond}

// extend sets the longest delay of a shutdown if it is shorter than all periods.
func (s *shutdown) extend(ctx context.Context, login Login) error {
	want := time.Duration(0)
	for _, p := range s.Periods {
		want += p.Grace
	}
	have, err := login.MaxDelay(ctx)
	if err != nil || have >= want {
		return err
	}
	if err := login.SetMaxDelay(ctx, want); err != nil {
		return err
	}
	for _, wait := range delayLooks {
		if err := backoff.Sleep(ctx, wait); err != nil {
			return err
		}
		if have, err = login.MaxDelay(ctx); err != nil || have >= want {
			return err
		}
	}
	return fmt.Errorf("a shutdown is delayed by %v at most, and the pods get %v", have, want)
}

// endPods ends all pods, one period after the other.
func (s *shutdown) endPods(ctx context.Context) {
	times := shutdownTimes{Start: time.Now().UTC()}
	s.keep(times)
	for i, list := range s.groups() {
		if len(list) > 0 {
			s.endGroup(ctx, s.Periods[i], list)
		}
	}
	if ctx.Err() == nil {
		times.End = time.Now().UTC()
		s.keep(times)
	}
}

// groups are the pods that have not ended, those too that are ending, by period.
func (s *shutdown) groups() [][]*worker {
	groups := make([][]*worker, len(s.Periods))
	for _, w := range s.k.allWorkers() {
		if w.hasHalted() {
			continue
		}
		pod, _ := w.desired()
		priority := int32(0)
		if p := pod.Spec.Priority; p != nil {
			priority = *p
		}
		after := slices.IndexFunc(s.Periods, func(p ShutdownPeriod) bool { return p.Priority > priority })
		if after < 0 {
			after = len(s.Periods)
		}
		i := max(after-1, 0)
		groups[i] = append(groups[i], w)
	}
	return groups
}

const terminatedMessage = "Pod was terminated in response to imminent node shutdown."

// endGroup ends pods and waits until their volumes are unmounted, for as long as their period at most.
func (s *shutdown) endGroup(ctx context.Context, p ShutdownPeriod, list []*worker) {
	ctx, cancel := context.WithTimeout(ctx, p.Grace)
	defer cancel()
	for _, w := range list {
		grace := int64(p.Grace / time.Second)
		w.order(&verdict{phase: corev1.PodFailed, reason: "Terminated", message: terminatedMessage, grace: &grace,
			condition: &corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: byKubelet, Message: terminatedMessage}})
	}
	for _, w := range list {
		select {
		case <-w.unmounted:
		case <-ctx.Done():
			s.log.Info("pods have not ended in their period of the shutdown", "priority", p.Priority, "grace", p.Grace)
			return
		}
	}
}

// shutdownTimes are when the last shutdown began and when all pods had ended, in UTC.
type shutdownTimes struct {
	Start time.Time `json:"startTime"`
	End   time.Time `json:"endTime"`
}

// keep writes the times, for the metrics of the next kubelet. The file is that of
// k8s.io/kubernetes/pkg/kubelet/nodeshutdown/storage.go, v1.36.3.
func (s *shutdown) keep(t shutdownTimes) {
	s.k.metrics.shutdown(t)
	b, err := json.Marshal(t)
	if err == nil {
		err = atomicfile.WriteSync(s.path, b) // the machine is about to go down
	}
	if err != nil {
		s.log.Warn("keep the times of the shutdown failed", "err", err)
	}
}

// showLast shows the times of the last shutdown.
func (s *shutdown) showLast() {
	var t shutdownTimes
	b, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil {
		s.log.Warn("read the times of the last shutdown failed", "err", err)
		return
	}
	s.k.metrics.shutdown(t)
}
