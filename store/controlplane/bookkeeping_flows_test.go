package controlplane_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/registry"
)

// What clients do to the default objects of priority and fairness is undone within a minute, where an object
// is mandatory or its annotation says that it is kept; what they make their own stays.
func TestDefaultFlowsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stop := runServer(t, apiserver.Options{}, controlplane.BookkeepingOptions{})
		defer stop()
		const kept = "apf.kubernetes.io/autoupdate-spec"
		schemas, levels := flowcontrolv1.GroupVersion.WithResource("flowschemas"), flowcontrolv1.GroupVersion.WithResource("prioritylevelconfigurations")
		schema := func(name string) *flowcontrolv1.FlowSchema {
			f, err := registry.Get[*flowcontrolv1.FlowSchema](t.Context(), s.Access(), schemas, planetest.Key("", name))
			require.NoError(t, err, name)
			return f
		}
		level := func(name string) *flowcontrolv1.PriorityLevelConfiguration {
			p, err := registry.Get[*flowcontrolv1.PriorityLevelConfiguration](t.Context(), s.Access(), levels, planetest.Key("", name))
			require.NoError(t, err, name)
			return p
		}
		change := func(name string, change func(f *flowcontrolv1.FlowSchema)) {
			_, err := s.Access().Update(t.Context(), schemas, planetest.Key("", name), func(obj metav1.Object) error {
				change(obj.(*flowcontrolv1.FlowSchema))
				return nil
			}, registry.Write{})
			require.NoError(t, err)
		}
		time.Sleep(2 * time.Minute)
		require.EqualValues(t, 1, metav1.MetaOf(schema("probes")).Generation, "nothing is written while nothing differs")
		before := schema("probes").ResourceVersion

		change("probes", func(f *flowcontrolv1.FlowSchema) { f.Spec.MatchingPrecedence = 3 })
		change("service-accounts", func(f *flowcontrolv1.FlowSchema) {
			f.Spec.MatchingPrecedence = 8999
			f.Annotations[kept] = "false"
		})
		change("system-nodes", func(f *flowcontrolv1.FlowSchema) {
			f.Spec.MatchingPrecedence = 501
			f.Annotations = nil
		})
		change("kube-scheduler", func(f *flowcontrolv1.FlowSchema) { f.Annotations = nil })
		change("exempt", func(f *flowcontrolv1.FlowSchema) { f.Annotations = map[string]string{kept: "false"} })
		_, err := s.Access().Update(t.Context(), levels, planetest.Key("", "exempt"), func(obj metav1.Object) error {
			obj.(*flowcontrolv1.PriorityLevelConfiguration).Spec.Exempt.LendablePercent = new(int32(50))
			return nil
		}, registry.Write{})
		require.NoError(t, err)
		require.NoError(t, s.Access().Delete(t.Context(), levels, planetest.Key("", "system"), nil, registry.Write{}))
		require.NoError(t, s.Access().Delete(t.Context(), schemas, planetest.Key("", "catch-all"), nil, registry.Write{}))
		for name, annotation := range map[string]string{"former": "true", "own": "", "given-up": "false"} {
			f := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{kept: annotation}},
				Spec: flowcontrolv1.FlowSchemaSpec{PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "system"}, MatchingPrecedence: 77}}
			_, err := s.Access().Create(t.Context(), schemas, f, registry.Write{})
			require.NoError(t, err)
		}
		time.Sleep(90 * time.Second)
		require.NotEqual(t, before, schema("probes").ResourceVersion)
		require.EqualValues(t, 2, schema("probes").Spec.MatchingPrecedence)
		require.EqualValues(t, 8999, schema("service-accounts").Spec.MatchingPrecedence)
		require.EqualValues(t, 501, schema("system-nodes").Spec.MatchingPrecedence, "somebody has changed it")
		require.Equal(t, "false", schema("system-nodes").Annotations[kept])
		require.Equal(t, "true", schema("kube-scheduler").Annotations[kept], "nobody has")
		require.Equal(t, "true", schema("exempt").Annotations[kept])
		require.EqualValues(t, 50, *level("exempt").Spec.Exempt.LendablePercent)
		require.EqualValues(t, 30, *level("system").Spec.Limited.NominalConcurrencyShares)
		require.EqualValues(t, 10000, schema("catch-all").Spec.MatchingPrecedence)
		_, err = s.Access().Get(t.Context(), schemas, planetest.Key("", "former"))
		require.True(t, apierrors.IsNotFound(err))
		schema("own")
		schema("given-up")
	})
}
