package kubelet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// critical makes a pod one of the system that wants that many CPUs.
func critical(cpus, class string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		wants(cpus)(p)
		p.Spec.PriorityClassName = class
	}
}

// The classes of critical pods, the second of which displaces the first.
const (
	ofCluster = "system-cluster-critical"
	ofNode    = "system-node-critical"
)

// A critical pod that finds no room gets it: others make way, as few as possible, and end in their grace
// periods before it starts. Those that it may not displace stay.
func TestCriticalPodsAreGivenRoom(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.pod("small", wants("500m"), "a")
		r.pod("fitting", wants("2"), "a")
		r.pod("large", wants("1500m"), "a")
		time.Sleep(3 * time.Second)
		require.Len(t, r.rt.Running(), 3)

		r.pod("system", critical("2", ofCluster), "a")
		time.Sleep(40 * time.Second)
		require.ElementsMatch(t, []string{"small/a", "large/a", "system/a"}, r.rt.Running(), "the pod that is closest to what is needed went")
		st := r.get("fitting").Status
		require.Equal(t, corev1.PodFailed, st.Phase)
		require.Equal(t, "Preempting", st.Reason)
		require.Equal(t, "Preempted in order to admit critical pod", st.Message)
		c := r.condition("fitting", corev1.DisruptionTarget)
		require.NotNil(t, c)
		require.Equal(t, "TerminationByKubelet", c.Reason)
		require.Contains(t, strings.Join(r.eventsOf("fitting"), "\n"), "Preempting")

		// Of two at once, each gets what it needs.
		r.pod("one", critical("500m", ofCluster), "a")
		r.pod("two", critical("1500m", ofNode), "a")
		time.Sleep(40 * time.Second)
		require.ElementsMatch(t, []string{"system/a", "one/a", "two/a"}, r.rt.Running())

		// Nothing is left that may be displaced by one of the same priority.
		r.pod("third", critical("1", ofCluster), "a")
		r.pod("ordinary", wants("1"), "a")
		time.Sleep(3 * time.Second)
		require.Equal(t, "UnexpectedAdmissionError", r.get("third").Status.Reason)
		require.Contains(t, r.get("third").Status.Message, "no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]")
		require.Equal(t, "OutOfcpu", r.get("ordinary").Status.Reason)
		require.Len(t, r.rt.Running(), 3)

		// A higher one displaces them.
		r.pod("higher", critical("1500m", ofNode), "a")
		time.Sleep(40 * time.Second)
		require.ElementsMatch(t, []string{"one/a", "two/a", "higher/a"}, r.rt.Running())
		require.Equal(t, "Preempting", r.get("system").Status.Reason)
	})
}

// A critical pod that is bound while the kubelet is away gets its room as well.
func TestCriticalPodsAfterARestart(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.StopPods = false }, func(r *rig) {
		r.pod("large", wants("3"), "a")
		time.Sleep(3 * time.Second)
		r.stop()
		r.pod("system", critical("2", ofCluster), "a")
		r.opts.StopPods = true
		r.start()
		time.Sleep(45 * time.Second)
		require.Equal(t, []string{"system/a"}, r.rt.Running())
		require.Equal(t, "Preempting", r.get("large").Status.Reason)
	})
}

// A static pod gets room from others, and one for which no room can be made is rejected, before and after the
// ledger has been opened; it does not run beside what there is room for.
func TestStaticPodsWithoutRoom(t *testing.T) {
	static := func(r *rig, name, cpus string) {
		text := fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: a, image: img,
imagePullPolicy: IfNotPresent, resources: {requests: {cpu: %q}}}]}}`, name, cpus)
		require.NoError(r.t, os.WriteFile(filepath.Join(r.opts.StaticPodDir, name+".yaml"), []byte(text), 0o600))
	}
	bubble(t, func(r *rig) {
		r.opts.StaticPodDir = r.t.TempDir()
		static(r, "first", "3")
		static(r, "huge", "5")
	}, func(r *rig) {
		r.pod("ordinary", wants("1"), "a")
		time.Sleep(3 * time.Second)
		require.ElementsMatch(t, []string{"first-n1/a", "ordinary/a"}, r.rt.Running())
		require.Equal(t, "UnexpectedAdmissionError", r.get("huge-n1").Status.Reason)
		require.Equal(t, corev1.PodFailed, r.get("huge-n1").Status.Phase)

		static(r, "second", "1")
		time.Sleep(40 * time.Second)
		require.ElementsMatch(t, []string{"first-n1/a", "second-n1/a"}, r.rt.Running())
		require.Equal(t, "Preempting", r.get("ordinary").Status.Reason)

		static(r, "third", "1")
		time.Sleep(40 * time.Second)
		require.ElementsMatch(t, []string{"first-n1/a", "second-n1/a"}, r.rt.Running())
		require.Equal(t, "UnexpectedAdmissionError", r.get("third-n1").Status.Reason)
		require.Contains(t, r.get("third-n1").Status.Message, "no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]")

		// A smaller one of the same name runs.
		static(r, "third", "0")
		time.Sleep(40 * time.Second)
		require.ElementsMatch(t, []string{"first-n1/a", "second-n1/a", "third-n1/a"}, r.rt.Running())
	})
}

// Extended resources that others put into the Node stay there, count for pods, and outlive the kubelet if it
// has met a plugin; else the machine may be another one.
func TestExtendedResourcesOfOthers(t *testing.T) {
	s := &sockets{}
	bubble(t, func(r *rig) { r.opts.StopPods, r.opts.Plugins = false, s.options() }, func(r *rig) {
		amount := func() string {
			st := controllertest.Get[*corev1.Node](r.c, "", "n1").Status
			return amountOf(st.Capacity) + " " + amountOf(st.Allocatable)
		}
		patch := func() {
			_, err := client.For[*corev1.Node](r.c.Conn()).Patch(r.t.Context(), types.NamespacedName{Name: "n1"},
				client.Patch{Type: types.MergePatchType, Data: []byte(`{"status":{"capacity":{"example.com/dongle":"4"}}}`)}, client.PatchOptions{Subresource: "status"})
			require.NoError(t, err)
		}
		patch()
		time.Sleep(time.Minute)
		require.Equal(t, "4 4", amount())
		r.pod("greedy", wantsDongles("5"), "a")
		r.pod("modest", wantsDongles("3"), "a")
		time.Sleep(3 * time.Second)
		require.Equal(t, "OutOfexample.com/dongle", r.get("greedy").Status.Reason)
		require.Equal(t, []string{"modest/a"}, r.rt.Running())
		r.stop()
		r.opts.StopPods, r.opts.Plugins = true, s.options()
		r.start()
		time.Sleep(time.Minute)
		require.Equal(t, "0 0", amount(), "no plugin has ever been here")
		require.Equal(t, []string{"modest/a"}, r.rt.Running())
		patch()
		time.Sleep(time.Minute)
		require.Equal(t, "4 4", amount())
	})
}

func amountOf(list corev1.ResourceList) string {
	q, ok := list["example.com/dongle"]
	if !ok {
		return "none"
	}
	return q.String()
}

func wantsDongles(n string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		list := corev1.ResourceList{"example.com/dongle": resource.MustParse(n)}
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
	}
}
