package kubelet_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	"github.com/keelson-dev/keelson/controllers/internal/fakecri"
)

// TestHistories makes and deletes pods, kills what they run in, lets calls of the runtime fail and restarts the kubelet, at
// random. Whatever happened: objects go only after their containers, what has ended stays ended, and in the end
// exactly the pods that are wanted run, and nothing is left of the others.
func TestHistories(t *testing.T) {
	for _, seed := range seeds.Slow(t, 8) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { history(t, seed) })
	}
}

func history(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	failing := false
	chance := rand.New(rand.NewPCG(seed, 2))
	over := map[string]corev1.PodPhase{}
	var r0 *rig
	bubble(t, func(r *rig) {
		r0 = r
		r.opts.StopPods = false
		r.rt.Play = func(c *cri.ContainerConfig) fakecri.Script {
			mu.Lock()
			defer mu.Unlock()
			s := fakecri.Script{StopAfter: time.Duration(chance.IntN(4)) * time.Second}
			if strings.HasPrefix(c.Metadata.Name, "job") {
				s.RunFor, s.ExitCode = time.Duration(chance.IntN(20)+1)*time.Second, int32(chance.IntN(2))
			}
			return s
		}
		r.rt.Fail = func(string) error {
			mu.Lock()
			defer mu.Unlock()
			if failing && chance.IntN(4) == 0 {
				return errors.New("the runtime is in a bad mood")
			}
			return nil
		}
		r.observe = func(w client.Write) {
			if w.Resource.Resource == "pods" && w.Verb == "delete" && w.Gone {
				for _, running := range r0.rt.Running() {
					require.False(t, strings.HasPrefix(running, w.Key.Name+"/"), "seed %d: object of %s goes while it runs", seed, running)
				}
			}
		}
	}, func(r *rig) {
		wanted := map[string]bool{}
		next := 0
		check := func() {
			for _, p := range controllertest.List[*corev1.Pod](r.c, "default") {
				if was := over[string(p.UID)]; was != "" {
					require.Equal(t, was, p.Status.Phase, "seed %d: %s had ended", seed, p.Name)
				}
				if ph := p.Status.Phase; ph == corev1.PodSucceeded || ph == corev1.PodFailed {
					over[string(p.UID)] = ph
				}
			}
		}
		for range 60 {
			switch rnd.IntN(10) {
			case 0, 1, 2:
				name := fmt.Sprintf("p%d", next)
				next++
				wanted[name] = true
				r.pod(name, func(p *corev1.Pod) {
					if rnd.IntN(3) == 0 {
						p.Spec.InitContainers = []corev1.Container{{Name: "job-init", Image: "img", ImagePullPolicy: corev1.PullNever}}
					}
					if rnd.IntN(3) == 0 {
						p.Spec.Containers[0].Name = "job"
						p.Spec.RestartPolicy = []corev1.RestartPolicy{"Never", "OnFailure", "Always"}[rnd.IntN(3)]
					}
				}, "main")
			case 3, 4:
				for name := range wanted {
					r.delete(name, []int64{0, 1, 30}[rnd.IntN(3)])
					delete(wanted, name)
					break
				}
			case 5:
				for name := range wanted {
					r.rt.Kill(name, "main", 1)
					break
				}
			case 6:
				for name := range wanted {
					r.rt.KillSandbox(name)
					break
				}
			case 7:
				mu.Lock()
				failing = !failing
				mu.Unlock()
			case 8:
				mu.Lock()
				failing = false // or the start would fail
				mu.Unlock()
				r.stop()
				r.start()
			}
			time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
			check()
		}
		mu.Lock()
		failing = false
		mu.Unlock()
		time.Sleep(15 * time.Minute) // back-offs are over
		check()
		have := map[string]bool{}
		for _, p := range controllertest.List[*corev1.Pod](r.c, "default") {
			have[p.Name] = true
			if p.Spec.Containers[0].Name == "main" && len(p.Spec.InitContainers) == 0 {
				require.True(t, ready(p), "seed %d: %s is not ready: %+v", seed, p.Name, p.Status)
			}
		}
		require.Equal(t, wanted, have, "seed %d", seed)
		for _, running := range r.rt.Running() {
			name, _, _ := strings.Cut(running, "/")
			require.True(t, wanted[name], "seed %d: %s runs without being wanted", seed, running)
		}
		entries, err := os.ReadDir(filepath.Join(r.opts.RootDir, "pods"))
		require.NoError(t, err)
		require.LessOrEqual(t, len(entries), len(wanted))
		for name := range wanted {
			r.delete(name, 0)
		}
		time.Sleep(30 * time.Second)
		boxes, containers := r.rt.Counts()
		require.Zero(t, boxes+containers, "seed %d: something is left", seed)
	})
}
