package builtin_test

import (
	"context"
	"encoding/json"
	"math/rand"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	fuzz "github.com/google/gofuzz"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

// kinds returns a scheme of all kinds of Kubernetes with their rules.
func kinds(t testing.TB) *scheme.Scheme {
	t.Helper()
	s := scheme.New()
	require.NoError(t, api.AddToScheme(s))
	for _, g := range api.AllGated() {
		require.NoError(t, g.AddToScheme(s))
	}
	require.NoError(t, api.AddRules(s))
	return s
}

// definitions returns the definitions of all built-in kinds that are stored.
func definitions(t testing.TB) []*registry.Definition {
	t.Helper()
	r, err := registry.New(memory.New(memory.Options{}), registry.Options{})
	require.NoError(t, err)
	k, err := builtin.New(r, builtin.Options{})
	require.NoError(t, err)
	defs, err := k.Definitions(kinds(t))
	require.NoError(t, err)
	return defs
}

// start runs a registry of the built-in kinds over a memory store until the test ends.
func start(t testing.TB) *registry.Registry {
	t.Helper()
	s := memory.New(memory.Options{})
	r, err := registry.New(s, registry.Options{})
	require.NoError(t, err)
	k, err := builtin.New(r, builtin.Options{})
	require.NoError(t, err)
	defs, err := k.Definitions(kinds(t))
	require.NoError(t, err)
	_, err = r.Add(defs...)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		_ = r.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = s.Close()
	})
	return r
}

// Every stored kind of Kubernetes has a row, and docs/kinds.md lists the kinds that are served.
func TestEveryKindHasARow(t *testing.T) {
	all := kinds(t)
	general := map[string]bool{}
	for _, d := range definitions(t) {
		if d.Prefix == registry.CustomPrefix(d.Info.GVR.GroupResource()) && !d.Strategy.BareFinalizers {
			general[d.Info.GVK.Kind] = true // made by registry.Define
		}
	}
	require.Empty(t, general)
	for _, d := range definitions(t) {
		scales := slices.ContainsFunc(d.Info.Subresources, func(s scheme.Subresource) bool { return s.Name == "scale" })
		require.Equal(t, scales, d.Scale != nil, "%v: the row and the registered subresources disagree about scale", d.Info.GVR)
	}

	text, err := os.ReadFile("../../docs/kinds.md")
	require.NoError(t, err)
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([A-Z][A-Za-z0-9., ]*) \|`).FindAllStringSubmatch(string(text), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			documented[name[strings.LastIndex(name, " ")+1:]] = true
		}
	}
	served := map[string]bool{}
	for _, info := range all.All() {
		served[info.GVK.Kind] = true
	}
	delete(served, "Scale") // no resource of its own
	require.Equal(t, served, documented)
}

// Every kind is stored under the key and in the version that a Kubernetes cluster uses in etcd. The backend
// adds /registry.
func TestKeysAndVersionsAreUpstreams(t *testing.T) {
	var facts []struct{ APIVersion, Kind, Encoding, ExampleKey string }
	b, err := os.ReadFile("testdata/etcd_keys.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &facts))
	r := start(t)
	found := 0
	for _, f := range facts {
		gvk := schema.FromAPIVersionAndKind(f.APIVersion, f.Kind)
		i := slices.IndexFunc(r.Resources(), func(res *registry.Resource) bool {
			return res.Info().GVK.GroupKind() == gvk.GroupKind() && res.Definition().Stored == nil
		})
		if i < 0 {
			require.Contains(t, []string{"Widget", "RangeAllocation"}, f.Kind)
			continue
		}
		found++
		res := r.Resources()[i]
		at := strings.TrimPrefix(f.ExampleKey, "/registry")
		require.True(t, strings.HasPrefix(at, res.Prefix()), "%s is not under %s", at, res.Prefix())
		require.Equal(t, map[bool]int{true: 2, false: 1}[res.Info().Namespaced], len(strings.Split(strings.TrimPrefix(at, res.Prefix()), "/")))
		require.Equal(t, f.Encoding == "json", res.Definition().JSON, f.Kind)
	}
	require.Greater(t, found, 50)
}

func TestFieldSelectorsAreUpstreams(t *testing.T) {
	var facts []struct {
		Group, Version, Resource string
		FieldSelectors           []string
	}
	b, err := os.ReadFile("testdata/field_selectors.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &facts))
	r := start(t)
	for _, f := range facts {
		res := r.Resource(schema.GroupVersionResource{Group: f.Group, Version: f.Version, Resource: f.Resource})
		if res == nil || f.Group == "events.k8s.io" {
			continue // computed; stored under the names of core events
		}
		require.ElementsMatch(t, f.FieldSelectors, res.Selectable(), f.Resource)
	}
}

func TestNamespacesGoInTwoSteps(t *testing.T) {
	r := start(t)
	a := r.Access()
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	ns := types.NamespacedName{Name: "x"}
	_, err := a.Create(t.Context(), gvr, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, registry.Write{})
	require.NoError(t, err)
	require.NoError(t, a.Delete(t.Context(), gvr, ns, nil, registry.Write{}))
	obj, err := a.GetLatest(t.Context(), gvr, ns)
	require.NoError(t, err)
	require.Equal(t, corev1.NamespaceTerminating, obj.(*corev1.Namespace).Status.Phase)
	require.NoError(t, a.Delete(t.Context(), gvr, ns, nil, registry.Write{}), "again")
	_, err = a.GetLatest(t.Context(), gvr, ns)
	require.NoError(t, err, "still held by spec.finalizers")
}

func TestScalersSurviveBothConversions(t *testing.T) {
	r := start(t)
	a := r.Access()
	key := types.NamespacedName{Namespace: "default", Name: "h"}
	v2 := schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	v1 := schema.GroupVersionResource{Group: "autoscaling", Version: "v1", Resource: "horizontalpodautoscalers"}
	in := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "h", Namespace: "default", Annotations: map[string]string{"mine": "x"}},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 4, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "d", APIVersion: "apps/v1"},
			Metrics: []autoscalingv2.MetricSpec{
				{Type: "Resource", Resource: &autoscalingv2.ResourceMetricSource{Name: "memory", Target: autoscalingv2.MetricTarget{Type: "Utilization", AverageUtilization: new(int32(60))}}},
				{Type: "Resource", Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu", Target: autoscalingv2.MetricTarget{Type: "Utilization", AverageUtilization: new(int32(70))}}},
			},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(30))}}}}
	_, err := a.Create(t.Context(), v2, in, registry.Write{})
	require.NoError(t, err)
	before, err := a.GetLatest(t.Context(), v2, key)
	require.NoError(t, err)
	_, err = a.Update(t.Context(), v1, key, func(obj metav1.Object) error {
		old := obj.(*autoscalingv1.HorizontalPodAutoscaler)
		require.EqualValues(t, 70, *old.Spec.TargetCPUUtilizationPercentage)
		old.Spec.MaxReplicas = 9
		return nil
	}, registry.Write{})
	require.NoError(t, err)
	after, err := a.GetLatest(t.Context(), v2, key)
	require.NoError(t, err)
	was, is := before.(*autoscalingv2.HorizontalPodAutoscaler), after.(*autoscalingv2.HorizontalPodAutoscaler)
	require.EqualValues(t, 9, is.Spec.MaxReplicas)
	require.Equal(t, map[string]string{"mine": "x"}, is.Annotations)
	require.Equal(t, was.Spec.Behavior, is.Spec.Behavior)
	require.ElementsMatch(t, was.Spec.Metrics, is.Spec.Metrics)
}

// The field selectors of a kind read no members other than the declared ones.
func TestFieldPathsAreAllThatFieldsReads(t *testing.T) {
	defs := definitions(t)
	read := func(d *registry.Definition, obj metav1.Object) map[string]string {
		out := map[string]string{}
		d.Fields.Of(obj, func(name, value string) { out[name] = value })
		return out
	}
	selectable := 0
	for i := range defs {
		d := defs[i]
		info := d.Stored
		if info == nil {
			info = d.Info
		}
		if d.JSON || d.Fields.Of == nil {
			continue
		}
		selectable++
		paths := d.Fields.Paths
		if paths == nil {
			paths = d.Fields.Names
		}
		part, err := codec.PartOf(info.Type, paths...)
		require.NoError(t, err, info.GVK)
		for _, seed := range seeds.Of(t, 100) {
			whole, some := info.New(), info.New()
			fuzz.New().RandSource(rand.NewSource(int64(seed))).NilChance(0.2).NumElements(0, 2).MaxDepth(8).Funcs(
				func(q *resource.Quantity, c fuzz.Continue) { *q = resource.MustParse("1") },
				func(v *metav1.RawExtension, c fuzz.Continue) { v.Raw = []byte(`{}`) },
				func(v *metav1.FieldsV1, c fuzz.Continue) { v.Raw = []byte(`{}`) },
				func(v *apiextensionsv1.JSON, c fuzz.Continue) { v.Raw = []byte(`{}`) },
				func(v *string, c fuzz.Continue) { *v = []string{"", "a", "b"}[c.Intn(3)] },
			).Fuzz(whole)
			data, err := codec.MarshalProto(whole)
			require.NoError(t, err)
			require.NoError(t, part.UnmarshalProto(data, some))
			require.Equal(t, read(d, whole), read(d, some), "seed %d: %v", seed, info.GVK)
		}
	}
	require.GreaterOrEqual(t, selectable, 10)
}
