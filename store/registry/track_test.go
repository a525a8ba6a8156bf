package registry_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/registry"
)

// scalers are the two versions of HorizontalPodAutoscaler, whose metrics have different paths.
type scalers struct {
	t *testing.T
	r *registry.Registry
}

// apply applies fields of the spec in a version as a manager.
func (s *scalers) apply(version, manager string, force bool, spec map[string]any) error {
	s.t.Helper()
	res := s.r.Resource(schema.GroupVersionResource{Group: "autoscaling", Version: version, Resource: "horizontalpodautoscalers"})
	require.NotNil(s.t, res)
	config := map[string]any{
		"apiVersion": "autoscaling/" + version, "kind": "HorizontalPodAutoscaler",
		"metadata": map[string]any{"name": "h", "namespace": "default"}, "spec": spec,
	}
	w := registry.Write{FieldManager: manager, Tracked: true}
	_, _, err := res.Update(s.t.Context(), key("h"), func(current registry.Current) (metav1.Object, error) {
		obj, err := res.Apply(s.t.Context(), current, config, w, force)
		if err == nil && current.Object == nil {
			obj.SetNamespace("default")
		}
		return obj, err
	}, registry.UpdateOptions{Write: w, Create: func(context.Context) error { return nil }, Patch: true})
	return err
}

// owned returns the paths that a manager owns, and in which version.
func (s *scalers) owned(manager string) (version string, paths []string) {
	s.t.Helper()
	gvr := schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	obj, err := s.r.Access().GetLatest(s.t.Context(), gvr, key("h"))
	require.NoError(s.t, err)
	for _, e := range metav1.MetaOf(obj).ManagedFields {
		if e.Manager != manager {
			continue
		}
		set, err := managedfields.ParseSet(e.FieldsV1.Raw)
		require.NoError(s.t, err)
		set.Each(func(p managedfields.Path) { paths = append(paths, p.String()) })
		version = e.APIVersion
	}
	slices.Sort(paths)
	return version, paths
}

func cpuMetric(percent int64) []any {
	return []any{map[string]any{"type": "Resource", "resource": map[string]any{
		"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": percent}}}}
}

// A manager that applied in one version conflicts with, and loses to, one that applies in another, although
// the paths differ.
func TestOwnersOfOtherVersions(t *testing.T) {
	s := &scalers{t: t, r: start(t)}
	target := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
	require.NoError(t, s.apply("v2", "maker", false, map[string]any{"maxReplicas": int64(4), "scaleTargetRef": target}))
	require.NoError(t, s.apply("v2", "two", false, map[string]any{"metrics": cpuMetric(70)}))

	err := s.apply("v1", "one", false, map[string]any{"targetCPUUtilizationPercentage": int64(50)})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	require.ErrorContains(t, err, `conflict with "two": .spec.metrics`)

	require.NoError(t, s.apply("v1", "one", true, map[string]any{"targetCPUUtilizationPercentage": int64(50)}))
	version, paths := s.owned("one")
	require.Equal(t, "autoscaling/v1", version)
	require.Equal(t, []string{".spec.targetCPUUtilizationPercentage"}, paths)
	_, paths = s.owned("two")
	require.Empty(t, paths)

	err = s.apply("v2", "two", false, map[string]any{"metrics": cpuMetric(60)})
	require.ErrorContains(t, err, `conflict with "one": .spec.targetCPUUtilizationPercentage`)

	// Applied in the other version now, without the field: it goes.
	require.NoError(t, s.apply("v2", "one", false, map[string]any{"minReplicas": int64(2)}))
	version, paths = s.owned("one")
	require.Equal(t, "autoscaling/v2", version)
	require.Equal(t, []string{".spec.minReplicas"}, paths)
	require.NoError(t, s.apply("v2", "two", false, map[string]any{"metrics": cpuMetric(60)}), "no other manager owns it")
}
