package kubelet_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/internal/calls"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// TestHistories makes and deletes pods with probes, hooks, volumes and images that never come, static ones
// too, kills what they run in, lets calls of the runtime fail in every way, breaks the lines to the runtime
// and the API server, loses track of containers and restarts the kubelet, at random. Whatever happened: no
// container ever has two processes, objects go only after their containers, what has ended stays ended, no
// more runs than there is room for; what is wanted runs in the end, with or without the API server; and
// nothing is left of the others.
func TestHistories(t *testing.T) {
	for _, seed := range seeds.Slow(t, 8, 4326266055) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { newHistory(t, seed).run() })
	}
}

// history is one random run.
type history struct {
	*rig
	t    *testing.T
	seed uint64
	rnd  *rand.Rand // of what is done

	wanted map[string]bool
	next   int
	over   map[string]corev1.PodPhase // by UID

	mu     sync.Mutex
	faulty bool
	sick   bool
}

func newHistory(t *testing.T, seed uint64) *history {
	return &history{t: t, seed: seed, rnd: seeds.Stream(seed, 1),
		wanted: map[string]bool{}, over: map[string]corev1.PodPhase{}}
}

func (h *history) run() {
	seeded(h.t, h.seed, func(r *rig) {
		h.rig = r
		r.opts.StopPods = false
		r.t.Chdir(filepath.Dir(r.opts.RootDir))
		r.opts.StaticPodDir = "manifests" // a name that is the same in each run: uids depend on it
		require.NoError(h.t, os.Mkdir(r.opts.StaticPodDir, 0o755))
		r.rt.Events = h.rnd.IntN(2) == 0
		r.opts.ContainerEvents = r.rt.Events
		r.rt.Play, r.rt.Fault = h.play, h.fault
		r.intercept = func(_ context.Context, q *client.Request) error {
			calls.Take(h.seed, fmt.Sprint(q.Method, q.URLPath(), q.Query, string(q.Body)))
			return nil
		}
		r.rt.Execute = func(c *cri.ContainerConfig, cmd []string) (string, int32) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.sick && cmd[0] != "hook" && calls.Chance(h.seed, fmt.Sprint(c.Labels, cmd)).IntN(2) == 0 {
				return "sick", 1
			}
			return "", 0
		}
		r.observe = func(w client.Write) {
			// A mirror that a user deletes is removed and created again while its static pod runs.
			if w.Resource.Resource == "pods" && w.Verb == "delete" && w.Removed && w.Key.Name != "s-n1" {
				for _, running := range r.rt.Running() {
					require.False(h.t, strings.HasPrefix(running, w.Key.Name+"/"), "seed %d: object of %s goes while it runs", h.seed, running)
				}
			}
		}
	}, func(*rig) {
		h.setConfigMap(true)
		for range 60 {
			h.act()
			// The nanoseconds keep this apart from everything else that sleeps.
			time.Sleep(time.Duration(h.rnd.IntN(3000))*time.Millisecond + 3)
			h.check()
		}
		h.conclude()
	})
}

func (h *history) play(c *cri.ContainerConfig) fakecri.Script {
	h.mu.Lock()
	defer h.mu.Unlock()
	chance := calls.Chance(h.seed, fmt.Sprint("run of ", c.Labels))
	s := fakecri.Script{StopAfter: time.Duration(chance.IntN(4)) * time.Second}
	if strings.HasPrefix(c.Metadata.Name, "job") {
		s.RunFor, s.ExitCode = time.Duration(chance.IntN(20)+1)*time.Second, int32(chance.IntN(2))
	}
	return s
}

func (h *history) fault(method string, request any) fakecri.Fault {
	chance := calls.Take(h.seed, method+" "+subject(request))
	h.mu.Lock()
	defer h.mu.Unlock()
	if method == "PullImage" {
		return fakecri.Hang // the image exists nowhere
	}
	if !h.faulty {
		return 0
	}
	switch n := chance.IntN(100); {
	case n < 12:
		return fakecri.Before
	case n < 20:
		return fakecri.After
	case n < 22 && (strings.HasPrefix(method, "Stop") || strings.HasPrefix(method, "Remove")):
		return fakecri.Instead
	case n == 22:
		return fakecri.Hang
	}
	return 0
}

// subject names what a call of the runtime is about.
func subject(request any) string {
	switch q := request.(type) {
	case *cri.ContainerEventResponse:
		return fmt.Sprint(q.ContainerId, q.ContainerEventType)
	case *cri.ExecSyncRequest:
		return fmt.Sprint(q.ContainerId, q.Cmd)
	case interface{ GetContainerId() string }:
		return q.GetContainerId()
	case *cri.CreateContainerRequest:
		return q.PodSandboxId + "/" + q.Config.Metadata.Name
	case interface{ GetPodSandboxId() string }:
		return q.GetPodSandboxId()
	case *cri.RunPodSandboxRequest:
		return q.Config.Metadata.Uid
	case *cri.ListContainersRequest:
		return fmt.Sprint(q.GetFilter().GetPodSandboxId(), q.GetFilter().GetLabelSelector())
	case *cri.ListPodSandboxRequest:
		return fmt.Sprint(q.GetFilter().GetLabelSelector())
	}
	return ""
}

// set changes what goes wrong.
func (h *history) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// repair ends all that goes wrong with the runtime.
func (h *history) repair() {
	h.set(func() { h.faulty, h.sick = false, false })
	h.rt.SetAway(false)
}

// any is one of the pods that are wanted; empty if there are none.
func (h *history) any() string {
	names := slices.Sorted(maps.Keys(h.wanted))
	if len(names) == 0 {
		return ""
	}
	return names[h.rnd.IntN(len(names))]
}

func (h *history) act() {
	switch h.rnd.IntN(16) {
	case 0, 1, 2:
		h.make("p", h.dress)
	case 3:
		// Two of which there is room for one, in one moment.
		h.make("big", wants("3"))
		h.make("big", wants("3"))
	case 4:
		h.make("pull", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "nowhere" })
	case 5, 6:
		if name := h.any(); name != "" {
			h.delete(name, []int64{0, 1, 30}[h.rnd.IntN(3)])
			delete(h.wanted, name)
		}
	case 7:
		h.rt.Kill(h.any(), "main", 1)
	case 8:
		h.rt.KillSandbox(h.any())
	case 9:
		h.rt.LoseTrack(h.any(), "main")
	case 10:
		h.set(func() { h.faulty = !h.faulty })
	case 11:
		h.set(func() { h.sick = !h.sick })
	case 12:
		h.rt.SetAway(h.rnd.IntN(2) == 0)
	case 13:
		h.line.set([]outage{intact, refused, silent}[h.rnd.IntN(3)])
	case 14:
		h.setConfigMap(h.rnd.IntN(2) == 0)
		h.setManifest(h.rnd.IntN(2) == 0)
	case 15:
		h.repair() // or the start would fail
		h.stop()
		h.start()
	}
}

func (h *history) make(kind string, edit func(*corev1.Pod)) {
	name := fmt.Sprint(kind, h.next)
	h.next++
	h.wanted[name] = true
	h.pod(name, edit, "main")
}

// dress gives a pod some of what pods have.
func (h *history) dress(p *corev1.Pod) {
	c := &p.Spec.Containers[0]
	one := func() bool { return h.rnd.IntN(3) == 0 }
	if one() {
		p.Spec.InitContainers = []corev1.Container{{Name: "job-init", Image: "img", ImagePullPolicy: corev1.PullNever}}
	}
	if one() {
		c.LivenessProbe, c.ReadinessProbe = execProbe("live"), execProbe("ready")
	}
	if one() {
		hook := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"hook"}}}
		c.Lifecycle = &corev1.Lifecycle{PostStart: hook, PreStop: hook}
	}
	if one() {
		p.Spec.Volumes = []corev1.Volume{fromConfigMap("settings")}
	}
	if one() {
		c.Name = "job"
		p.Spec.RestartPolicy = []corev1.RestartPolicy{"Never", "OnFailure", "Always"}[h.rnd.IntN(3)]
	}
}

func (h *history) setConfigMap(there bool) {
	is := controllertest.Exists[*corev1.ConfigMap](h.c, "default", "settings")
	if there && !is {
		controllertest.Create(h.c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "settings"), Data: map[string]string{"k": "v"}})
	} else if !there && is {
		controllertest.Delete[*corev1.ConfigMap](h.c, "default", "settings")
	}
}

func (h *history) setManifest(there bool) {
	path := filepath.Join(h.opts.StaticPodDir, "s.yaml")
	if !there {
		_ = os.Remove(path)
		return
	}
	require.NoError(h.t, os.WriteFile(path, []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: s}\n"+
		"spec: {containers: [{name: main, image: img, imagePullPolicy: Never}]}\n"), 0o644))
}

// check requires what holds at any time.
func (h *history) check() {
	require.Empty(h.t, h.rt.Doubles(), "seed %d: two processes of one container", h.seed)
	big := 0
	for _, running := range h.rt.Running() {
		// What runs without an object was deleted while the kubelet was away, which does not know what it
		// needs.
		if name, _, _ := strings.Cut(running, "/"); strings.HasPrefix(name, "big") && h.exists(name) {
			big++
		}
	}
	require.LessOrEqual(h.t, big, 1, "seed %d: there is no room for these", h.seed)
	for _, p := range controllertest.List[*corev1.Pod](h.c, "default") {
		if was := h.over[string(p.UID)]; was != "" {
			require.Equal(h.t, was, p.Status.Phase, "seed %d: %s had ended", h.seed, p.Name)
		}
		if ph := p.Status.Phase; ph == corev1.PodSucceeded || ph == corev1.PodFailed {
			h.over[string(p.UID)] = ph
		}
	}
}

// lasting reports whether a pod is meant to run forever.
func (h *history) lasting(p *corev1.Pod) bool {
	return !strings.HasPrefix(p.Name, "pull") && p.Spec.Containers[0].Name == "main" && len(p.Spec.InitContainers) == 0 &&
		p.Status.Reason != "OutOfcpu"
}

// conclude requires what holds once nothing goes wrong any more.
func (h *history) conclude() {
	h.repair()
	h.line.set(intact)
	h.setConfigMap(true)
	h.setManifest(true)
	time.Sleep(15 * time.Minute) // back-offs are over
	h.check()
	have := map[string]bool{}
	var lasting []string
	for _, p := range controllertest.List[*corev1.Pod](h.c, "default") {
		if p.Name != "s-n1" {
			have[p.Name] = true
		}
		if h.lasting(p) {
			require.True(h.t, ready(p), "seed %d: %s is not ready: %+v", h.seed, p.Name, p.Status)
			lasting = append(lasting, p.Name+"/main")
		}
	}
	require.Equal(h.t, h.wanted, have, "seed %d", h.seed)
	require.Contains(h.t, lasting, "s-n1/main", "seed %d: the static pod", h.seed)
	for _, running := range h.rt.Running() {
		name, _, _ := strings.Cut(running, "/")
		require.True(h.t, h.wanted[name] || name == "s-n1", "seed %d: %s runs without being wanted", h.seed, running)
	}

	h.line.set(silent)
	for _, name := range lasting {
		pod, container, _ := strings.Cut(name, "/")
		h.rt.Kill(pod, container, 1)
	}
	time.Sleep(6 * time.Minute) // longer than any back-off
	for _, name := range lasting {
		require.Contains(h.t, h.rt.Running(), name, "seed %d: it stays down while the API server is away", h.seed)
	}
	h.line.set(intact)
	time.Sleep(time.Minute)

	entries, err := os.ReadDir(filepath.Join(h.opts.RootDir, "pods"))
	require.NoError(h.t, err)
	require.LessOrEqual(h.t, len(entries), len(h.wanted)+1)
	h.setManifest(false)
	for _, name := range slices.Sorted(maps.Keys(h.wanted)) {
		h.delete(name, 0)
	}
	time.Sleep(45 * time.Second)
	boxes, containers := h.rt.Counts()
	require.Zero(h.t, boxes+containers, "seed %d: something is left", h.seed)
}
