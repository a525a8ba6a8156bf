package kubelet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
)

// TestObjectStrategies follows a ConfigMap by each strategy: what a volume holds and how often it is read.
func TestObjectStrategies(t *testing.T) {
	for strategy, most := range map[kubelet.ObjectStrategy]int{kubelet.ObjectsWatched: 0, kubelet.ObjectsCached: 130, kubelet.ObjectsFetched: 1000} {
		t.Run(string(strategy), func(t *testing.T) {
			bubble(t, func(r *rig) { r.opts.Objects = strategy }, func(r *rig) {
				controllertest.Create(r.c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "cm"), Data: map[string]string{"k": "v"}})
				p := r.pod("web", func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{fromConfigMap("cm")} }, "a")
				time.Sleep(5 * time.Second)
				require.Equal(t, "v", r.read(p, "configmap", "cm", "k"))
				controllertest.Update(r.c, "default", "cm", func(cm *corev1.ConfigMap) { cm.Data["k"] = "w" })
				time.Sleep(2 * time.Minute)
				require.Equal(t, "w", r.read(p, "configmap", "cm", "k"))
				before, _ := r.line.count("cm")
				time.Sleep(30 * time.Minute)
				after, _ := r.line.count("cm")
				require.LessOrEqual(t, after-before, most)
				require.Equal(t, most == 0, after == before, "%d reads", after-before)
			})
		})
	}
}

// TestVolumesFollowAChangeAtOnce changes what a volume is made of, once and then ten times a second, and
// creates what another pod waits for.
func TestVolumesFollowAChangeAtOnce(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.Objects = kubelet.ObjectsWatched }, func(r *rig) {
		config := func(name, value string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name), Data: map[string]string{"k": value}}
		}
		controllertest.Create(r.c, config("cm", "v"))
		using := func(name string) func(*corev1.Pod) {
			return func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{fromConfigMap(name)} }
		}
		pods := []*corev1.Pod{r.pod("web-1", using("cm"), "a"), r.pod("web-2", using("cm"), "a")}
		late := r.pod("late", using("later"), "a")
		time.Sleep(3 * time.Minute) // the retries of late are 10 s apart
		require.Equal(t, "v", r.read(pods[0], "configmap", "cm", "k"))
		change := func(value string) {
			controllertest.Update(r.c, "default", "cm", func(cm *corev1.ConfigMap) { cm.Data["k"] = value })
		}
		change("w")
		time.Sleep(100 * time.Millisecond)
		for _, p := range pods {
			require.Equal(t, "w", r.read(p, "configmap", "cm", "k"))
		}
		for i := range 35 { // from 0.1 to 3.6 s after the first
			change(fmt.Sprint(i))
			time.Sleep(100 * time.Millisecond)
		}
		require.Contains(t, []string{"28", "29"}, r.read(pods[1], "configmap", "cm", "k"), "changes of 3 s are followed at their end")
		time.Sleep(500 * time.Millisecond)
		require.Equal(t, "34", r.read(pods[1], "configmap", "cm", "k"))

		controllertest.Create(r.c, config("later", "now"))
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, "now", r.read(late, "configmap", "later", "k"))
	})
}

func TestUnknownObjectStrategyIsRefused(t *testing.T) {
	_, err := kubelet.New(nil, kubelet.Options{NodeName: "n1", Objects: "Poll"})
	require.ErrorContains(t, err, `Options.Objects: "Poll"`)
}

// TestEventsHaveARate lets a pod that restarts all the time write events at the configured rate.
func TestEventsHaveARate(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.EventsPerSecond, r.opts.EventBurst = 0.1, 2 }, func(r *rig) {
		time.Sleep(2 * time.Minute) // the events of the start are written
		begin := len(controllertest.List[*corev1.Event](r.c, "default"))
		for _, name := range []string{"p1", "p2", "p3", "p4", "p5"} {
			r.pod(name, nil, "a") // Pulled, Created, Started
		}
		time.Sleep(5 * time.Second)
		require.LessOrEqual(t, len(controllertest.List[*corev1.Event](r.c, "default"))-begin, 3)
		time.Sleep(3 * time.Minute)
		require.GreaterOrEqual(t, len(controllertest.List[*corev1.Event](r.c, "default"))-begin, 15, "later, not lost")
	})
}
