package kubelet_test

import (
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
