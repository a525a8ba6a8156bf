package admission_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

func TestPriorityOfPods(t *testing.T) {
	p := planetest.StartForPods(t)
	admin := p.Admin()
	got := planetest.Create(t, admin, planetest.Pod("plain"))
	require.EqualValues(t, 0, *got.Spec.Priority)
	require.Equal(t, corev1.PreemptLowerPriority, *got.Spec.PreemptionPolicy)
	never := corev1.PreemptNever
	planetest.Create(t, admin, &schedulingv1.PriorityClass{ObjectMeta: planetest.Meta("", "high"), Value: 1000, PreemptionPolicy: &never})
	got = planetest.Create(t, admin, planetest.Pod("high", func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" }))
	require.EqualValues(t, 1000, *got.Spec.Priority)
	require.Equal(t, never, *got.Spec.PreemptionPolicy)
	got = planetest.Create(t, admin, planetest.Pod("system", func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }))
	require.EqualValues(t, 2000001000, *got.Spec.Priority)
	err := planetest.TryCreate(t, admin, planetest.Pod("unknown", func(p *corev1.Pod) { p.Spec.PriorityClassName = "nope" }))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "no PriorityClass with name nope was found")
	err = planetest.TryCreate(t, admin, planetest.Pod("number", func(p *corev1.Pod) { p.Spec.Priority = new(int32(7)) }))
	require.ErrorContains(t, err, "the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name")
	planetest.Create(t, admin, &schedulingv1.PriorityClass{ObjectMeta: planetest.Meta("", "everyone"), Value: 5, GlobalDefault: true})
	p.Eventually("the default class applies", func() bool {
		got := planetest.Create(t, admin, planetest.Pod("x", func(p *corev1.Pod) { p.Name, p.GenerateName = "", "d-" }))
		return got.Spec.PriorityClassName == "everyone" && *got.Spec.Priority == 5
	})

	const one = "PriorityClass everyone is already marked as default. Only one default can exist"
	err = planetest.TryCreate(t, admin, &schedulingv1.PriorityClass{ObjectMeta: planetest.Meta("", "another"), Value: 6, GlobalDefault: true})
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, one)
	classes := client.For[*schedulingv1.PriorityClass](admin)
	mark := func(name string) error {
		_, err := classes.Patch(t.Context(), planetest.Key("", name), client.Patch{Type: "application/merge-patch+json", Data: []byte(`{"globalDefault":true,"description":"d"}`)})
		return err
	}
	require.ErrorContains(t, mark("high"), one)
	require.NoError(t, mark("everyone"))
	planetest.Create(t, admin, &schedulingv1.PriorityClass{ObjectMeta: planetest.Meta("", "plain"), Value: 6})
}

func TestDefaultsOfPodsAndNodes(t *testing.T) {
	p := planetest.StartForPods(t)
	admin := p.Admin()
	got := planetest.Create(t, admin, planetest.Pod("plain"))
	require.Len(t, got.Spec.Tolerations, 2)
	for i, k := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		require.Equal(t, corev1.Toleration{Key: k, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}, got.Spec.Tolerations[i])
	}
	got = planetest.Create(t, admin, planetest.Pod("all", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }))
	require.Len(t, got.Spec.Tolerations, 1)
	require.Equal(t, corev1.PullIfNotPresent, got.Spec.Containers[0].ImagePullPolicy)

	node := planetest.Create(t, admin, &corev1.Node{ObjectMeta: planetest.Meta("", "n")})
	require.Equal(t, []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}}, node.Spec.Taints)

	planetest.Create(t, admin, &nodev1.RuntimeClass{ObjectMeta: planetest.Meta("", "vm"), Handler: "vm", Overhead: &nodev1.Overhead{PodFixed: quantities("cpu", "250m")},
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"vm": "yes"}, Tolerations: []corev1.Toleration{{Key: "vm", Operator: corev1.TolerationOpExists}}}})
	vm := func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("vm") }
	got = planetest.Create(t, admin, planetest.Pod("vm", vm))
	require.Equal(t, "250m", new(got.Spec.Overhead["cpu"]).String())
	require.Equal(t, map[string]string{"vm": "yes"}, got.Spec.NodeSelector)
	require.ErrorContains(t, planetest.TryCreate(t, admin, planetest.Pod("clash", vm, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"vm": "no"} })), "conflict")
	require.ErrorContains(t, planetest.TryCreate(t, admin, planetest.Pod("none", func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("nope") })), `pod rejected: RuntimeClass "nope" not found`)
	require.ErrorContains(t, planetest.TryCreate(t, admin, planetest.Pod("over", func(p *corev1.Pod) { p.Spec.Overhead = quantities("cpu", "1") })), "Pod Overhead set without corresponding RuntimeClass")
}

// unpulls is a plugin that reverts the change of AlwaysPullImages, as a webhook may.
type unpulls struct{}

func (unpulls) Name() string                     { return "Unpulls" }
func (unpulls) Handles(admission.Operation) bool { return true }
func (unpulls) Admit(_ context.Context, a *admission.Attributes) error {
	if pod, ok := a.Object.(*corev1.Pod); ok && pod.Labels["unpull"] != "" {
		for i := range pod.Spec.Containers {
			pod.Spec.Containers[i].ImagePullPolicy = corev1.PullIfNotPresent
		}
		if n := len(pod.Spec.EphemeralContainers); n > 0 {
			pod.Spec.EphemeralContainers[n-1].ImagePullPolicy = corev1.PullNever
		}
	}
	return nil
}

// AlwaysPullImages decides last about new images, and does not change existing ones.
func TestAlwaysPullImagesHasTheLastWord(t *testing.T) {
	p := planetest.StartForPods(t, func(o *controlplane.Options) {
		o.EnableAdmission, o.Plugins = []string{"AlwaysPullImages"}, []admission.Plugin{unpulls{}}
	})
	admin := p.Admin()
	unpull := func(p *corev1.Pod) { p.Labels = map[string]string{"unpull": "yes"} }
	err := planetest.TryCreate(t, admin, planetest.Pod("x", unpull))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `spec.containers[0].imagePullPolicy: Unsupported value: "IfNotPresent": supported values: "Always"`)
	now := planetest.Create(t, admin, planetest.Pod("x"))
	pods := client.For[*corev1.Pod](admin)
	debug := client.Subresource[*corev1.Pod](pods, "ephemeralcontainers")
	with := func(name string) *corev1.Pod {
		p, err := pods.Get(t.Context(), planetest.Key("default", "x"))
		require.NoError(t, err)
		p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "d"}})
		return p
	}
	got, err := debug.Update(t.Context(), planetest.Key("default", "x"), with("first"))
	require.NoError(t, err)
	require.Equal(t, corev1.PullAlways, got.Spec.EphemeralContainers[0].ImagePullPolicy)
	second := with("second")
	unpull(second)
	_, err = debug.Update(t.Context(), planetest.Key("default", "x"), second)
	require.ErrorContains(t, err, `spec.ephemeralContainers[1].imagePullPolicy: Unsupported value: "Never"`)

	// A pod created before the plugin was enabled can still be labelled.
	old := planetest.Start(t)
	old.Account("default", "default")
	before := planetest.Create(t, old.Admin(), planetest.Pod("y"))
	require.Equal(t, corev1.PullIfNotPresent, before.Spec.Containers[0].ImagePullPolicy)
	require.Equal(t, corev1.PullAlways, now.Spec.Containers[0].ImagePullPolicy)
	f := func(p *corev1.Pod) error {
		for _, factory := range admission.Factories() {
			if factory.Name == "AlwaysPullImages" {
				plugin, err := factory.New(nil, admission.Options{})
				require.NoError(t, err)
				a := &admission.Attributes{Operation: admission.Update, Resource: corev1.GroupVersion.WithResource("pods"), Object: p, Old: before}
				require.NoError(t, plugin.(admission.Mutator).Admit(t.Context(), a))
				return plugin.(admission.Validator).Validate(t.Context(), a)
			}
		}
		return nil
	}
	changed := planetest.Pod("y")
	changed.Labels = map[string]string{"a": "b"}
	require.NoError(t, f(changed))
	require.Equal(t, corev1.PullIfNotPresent, changed.Spec.Containers[0].ImagePullPolicy, "it is immutable")
	changed.Spec.Containers[0].Image = "another"
	require.NoError(t, f(changed))
	require.Equal(t, corev1.PullAlways, changed.Spec.Containers[0].ImagePullPolicy)
}
