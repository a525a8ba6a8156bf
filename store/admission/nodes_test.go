package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// node returns a node with labels that the plugin TaintNodesByCondition accepts.
func node(name string, labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func bind(t *testing.T, admin client.Conn, pod string, b *corev1.Binding) error {
	t.Helper()
	_, err := client.Subresource[*corev1.Binding](client.For[*corev1.Pod](admin), "binding").Create(t.Context(), planetest.Key("default", pod), b)
	return err
}

// A pod has the zone and the region of its node, whatever it said itself; other labels of nodes stay there.
func TestPodTopologyLabels(t *testing.T) {
	const zone, region = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
	admin := planetest.StartForPods(t).Admin()
	planetest.Create(t, admin, node("n1", map[string]string{zone: "a", region: "r", "topology.kubernetes.io/rack": "7", "disk": "ssd"}))
	planetest.Create(t, admin, node("bare", map[string]string{"disk": "ssd"}))
	labelled := func(pod string) map[string]string {
		got, err := client.For[*corev1.Pod](admin).Get(t.Context(), planetest.Key("default", pod))
		require.NoError(t, err)
		return got.Labels
	}
	own := func(p *corev1.Pod) { p.Labels = map[string]string{"app": "x", zone: "elsewhere"} }
	to := func(name string) *corev1.Binding {
		return &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: name}}
	}

	planetest.Create(t, admin, planetest.Pod("bound", own))
	require.Equal(t, map[string]string{"app": "x", zone: "elsewhere"}, labelled("bound"), "before it has a node")
	b := to("n1")
	b.Labels = map[string]string{"added": "by the scheduler"}
	require.True(t, apierrors.IsInvalid(bind(t, admin, "bound", b)), "a label of the binding becomes one of the pod")
	b.Labels = map[string]string{"added": "by-the-scheduler"}
	require.NoError(t, bind(t, admin, "bound", b))
	require.Equal(t, map[string]string{"app": "x", zone: "a", region: "r", "added": "by-the-scheduler"}, labelled("bound"))

	planetest.Create(t, admin, planetest.Pod("static", own, func(p *corev1.Pod) { p.Spec.NodeName = "n1" }))
	require.Equal(t, map[string]string{"app": "x", zone: "a", region: "r"}, labelled("static"))

	for _, name := range []string{"bare", "missing"} {
		planetest.Create(t, admin, planetest.Pod("on-"+name))
		require.NoError(t, bind(t, admin, "on-"+name, to(name)))
		require.Empty(t, labelled("on-"+name))
	}

	off := planetest.StartForPods(t, func(o *controlplane.Options) { o.DisableAdmission = []string{"PodTopologyLabels"} }).Admin()
	planetest.Create(t, off, node("n1", map[string]string{zone: "a"}))
	planetest.Create(t, off, planetest.Pod("bound"))
	require.NoError(t, bind(t, off, "bound", to("n1")))
	got, err := client.For[*corev1.Pod](off).Get(t.Context(), planetest.Key("default", "bound"))
	require.NoError(t, err)
	require.Empty(t, got.Labels)
}

// A pod is not resized to more than its node can give, on a node of another system or on a missing one.
func TestPodResizeValidator(t *testing.T) {
	p := planetest.StartForPods(t)
	admin := p.Admin()
	n := planetest.Create(t, admin, node("n1", map[string]string{"kubernetes.io/os": "linux"}))
	n.Status.Allocatable = quantities("cpu", "2", "memory", "1Gi")
	n, err := client.For[*corev1.Node](admin).UpdateStatus(t.Context(), n)
	require.NoError(t, err)
	pods := client.For[*corev1.Pod](admin)
	planetest.Create(t, admin, planetest.Pod("free", requesting("1", "128Mi")))
	planetest.Create(t, admin, planetest.Pod("x", requesting("1", "128Mi"), func(p *corev1.Pod) { p.Spec.NodeName = "n1" }))
	resize := func(name, cpu, memory string) error {
		now, err := pods.Get(t.Context(), planetest.Key("default", name))
		require.NoError(t, err)
		requesting(cpu, memory)(now)
		_, err = client.Subresource[*corev1.Pod](pods, "resize").Update(t.Context(), planetest.Key("default", name), now)
		return err
	}
	refused := func(err error, cause metav1.CauseType, text string) {
		t.Helper()
		require.True(t, apierrors.IsForbidden(err), err)
		require.ErrorContains(t, err, text)
		if cause != "" {
			_, ok := apierrors.CauseOf(err, cause)
			require.True(t, ok, err)
		}
	}
	require.NoError(t, resize("free", "64", "1Ti"), "it has no node yet")
	require.NoError(t, resize("x", "2", "1Gi"))
	refused(resize("x", "2001m", "128Mi"), "NodeCapacity", "node didn't have enough allocatable resources: cpu, requested: 2001, allocatable: 2000")
	refused(resize("x", "3", "2Gi"), "NodeCapacity", "cpu, requested: 3000, allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824")
	require.NoError(t, resize("x", "2", "1Gi"), "what changes nothing")

	n.Labels["kubernetes.io/os"] = "windows"
	_, err = client.For[*corev1.Node](admin).Update(t.Context(), n)
	require.NoError(t, err)
	// The server's cache follows its store: until then resizes are made, each to something else.
	tries := 0
	refusedAtLast := func(cause metav1.CauseType, text string) {
		t.Helper()
		p.Eventually(text, func() bool {
			tries++
			if err = resize("x", "1", fmt.Sprintf("%dKi", tries)); err == nil {
				return false
			}
			refused(err, cause, text)
			return true
		})
	}
	refusedAtLast("UnsupportedPlatform", `pod resize is only supported on linux nodes, node "n1" is "windows"`)
	require.NoError(t, client.For[*corev1.Node](admin).Delete(t.Context(), planetest.Key("", "n1")))
	p.Eventually("the node is gone", func() bool {
		err := resize("x", "1", "64Mi")
		require.True(t, apierrors.IsForbidden(err), err)
		return strings.Contains(err.Error(), `node "n1" not found`)
	})
}

// requesting sets the requests of a pod's container; it has limits nowhere.
func requesting(cpu, memory string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = quantities("cpu", cpu, "memory", memory)
	}
}

// The plugin compares what a change needs with what the node of the pod declares.
func TestNodeDeclaredFeatureValidator(t *testing.T) {
	const initContainers, podLevel = "InPlacePodVerticalScalingInitContainers", "InPlacePodLevelResourcesVerticalScaling"
	pod := func(generation int64, node, init, whole string, always bool) *corev1.Pod {
		p := planetest.Pod("x")
		p.Generation, p.Spec.NodeName = generation, node
		p.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: corev1.ResourceRequirements{Requests: quantities("cpu", init)}}}
		if always {
			p.Spec.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		if whole != "" {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: quantities("cpu", whole)}
		}
		return p
	}
	able := node("able", nil)
	able.Status.DeclaredFeatures = []string{podLevel, initContainers}
	half := node("half", nil)
	half.Status.DeclaredFeatures = []string{initContainers}
	world := objects{"nodes": {able, half, node("plain", nil)}}
	validator := plugin(t, "NodeDeclaredFeatureValidator", world, admission.Options{}).(admission.Validator)
	for name, c := range map[string]struct {
		now, old    *corev1.Pod
		subresource string
		refused     string
	}{
		"nothing changes":     {now: pod(1, "plain", "2", "2", false), old: pod(1, "plain", "1", "1", false)},
		"no node":             {now: pod(2, "", "2", "", false), old: pod(1, "", "1", "", false)},
		"init, declared":      {now: pod(2, "half", "2", "", false), old: pod(1, "half", "1", "", false), subresource: "resize"},
		"init, not declared":  {now: pod(2, "plain", "2", "", false), old: pod(1, "plain", "1", "", false), subresource: "resize", refused: "pod update requires features " + initContainers + ` which are not available on node "plain"`},
		"sidecar":             {now: pod(2, "plain", "2", "", true), old: pod(1, "plain", "1", "", true), subresource: "resize"},
		"both, declared":      {now: pod(2, "able", "2", "2", false), old: pod(1, "able", "1", "1", false)},
		"both, one declared":  {now: pod(2, "half", "2", "2", false), old: pod(1, "half", "1", "1", false), refused: "requires features " + podLevel + " which"},
		"both, none declared": {now: pod(2, "plain", "2", "2", false), old: pod(1, "plain", "1", "", false), refused: "requires features " + podLevel + ", " + initContainers + " which"},
		"equal quantities":    {now: pod(2, "plain", "1", "1", false), old: pod(1, "plain", "1", "1000m", false)},
		"a missing node":      {now: pod(2, "gone", "2", "", false), old: pod(1, "gone", "1", "", false), refused: `node "gone" not found`},
		"a status":            {now: pod(2, "plain", "2", "", false), old: pod(1, "plain", "1", "", false), subresource: "status"},
	} {
		err := validator.Validate(t.Context(), &admission.Attributes{Operation: admission.Update, Resource: corev1.GroupVersion.WithResource("pods"), Subresource: c.subresource,
			Namespace: "default", Name: "x", Object: c.now, Old: c.old})
		if c.refused == "" {
			require.NoError(t, err, name)
			continue
		}
		require.True(t, apierrors.IsForbidden(err), name)
		require.ErrorContains(t, err, c.refused, name)
	}
}
