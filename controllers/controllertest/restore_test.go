package controllertest_test

import (
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/registry"
)

// A cluster that is restored in place goes on from the snapshot: informers read the collections again, have
// what it has, and follow what comes later, and so do controllers.
func TestRestoreInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{addReplicaSets}})
		set := informers.NewSet(c.Conn(), informers.SetOptions{})
		maps := informers.For[*corev1.ConfigMap](set)
		var deleted []string
		maps.AddHandler(func(e informers.Event[*corev1.ConfigMap]) {
			if e.Type == informers.Deleted {
				deleted = append(deleted, e.Key.Name)
			}
		}, informers.HandlerOptions{})
		c.Run(set)
		kept := controllertest.Create(c, configMap("kept"))
		controllertest.Create(c, configMap("lost"))
		controllertest.Create(c, replicaSet("web", 2))
		c.Settle()
		snapshot := c.Snapshot()

		controllertest.Update(c, "default", "kept", func(m *corev1.ConfigMap) { m.Data = map[string]string{"k": "later"} })
		controllertest.Delete[*corev1.ConfigMap](c, "default", "lost")
		controllertest.Create(c, configMap("new"))
		controllertest.Update(c, "default", "web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(5)) })
		c.Settle()
		require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 5)

		c.Restore(snapshot)
		require.Greater(t, c.Snapshot().Revision(), snapshot.Revision())
		require.Equal(t, kept, controllertest.Get[*corev1.ConfigMap](c, "default", "kept"))
		require.True(t, controllertest.Exists[*corev1.ConfigMap](c, "default", "lost"))
		require.False(t, controllertest.Exists[*corev1.ConfigMap](c, "default", "new"))
		c.Sleep(time.Minute)
		names := func() (names []string) {
			list, err := maps.Lister().List(informers.ListOptions{Namespace: "default"})
			require.NoError(t, err)
			for _, m := range list {
				names = append(names, m.Name+m.Data["k"])
			}
			return names
		}
		require.ElementsMatch(t, []string{"kept", "lost"}, names())
		require.Equal(t, []string{"lost", "new"}, deleted)
		require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 2)
		controllertest.Update(c, "default", "kept", func(m *corev1.ConfigMap) { m.Data = map[string]string{"k": "again"} })
		controllertest.Update(c, "default", "web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(3)) })
		c.Settle()
		require.ElementsMatch(t, []string{"keptagain", "lost"}, names())
		require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 3)
	})
}

// What cannot be restored or continued is refused with a sentence.
func TestSnapshotsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := controllertest.Start(t, controllertest.Options{})
		require.Contains(t, fatal(t, func(r testing.TB) { one.With(r).Restore(controllertest.Snapshot{}) }), "the snapshot is empty")
		definition := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: as, kind: A}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`
		files := fstest.MapFS{"a.yaml": {Data: []byte(definition)}}
		other := fstest.MapFS{"a.yaml": {Data: []byte(definition)}}
		of := controllertest.Start(t, controllertest.Options{CRDs: files}).Snapshot()
		require.Empty(t, fatal(t, func(r testing.TB) { controllertest.StartFrom(r, of, controllertest.Options{CRDs: other}) }))
		other["b.yaml"] = &fstest.MapFile{Data: []byte(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: bs.example.com}}`)}
		require.Contains(t, fatal(t, func(r testing.TB) { controllertest.StartFrom(r, of, controllertest.Options{CRDs: other}) }),
			"the snapshot has another schema: Options.CRDs has bs.example.com, which the cluster of the snapshot was started without")
		delete(other, "b.yaml")
		other["a.yaml"] = &fstest.MapFile{Data: []byte(definition[:len(definition)-2] + ", preserveUnknownFields: false}}")}
		require.Contains(t, fatal(t, func(r testing.TB) { controllertest.StartFrom(r, of, controllertest.Options{CRDs: other}) }),
			"the snapshot has another schema: as.example.com in Options.CRDs differs from that of the snapshot")
		info := one.Admin().Scheme().ForResource(corev1.GroupVersion.WithResource("configmaps"))
		kinds := controllertest.Options{Server: apiserver.Options{Kinds: []registry.Definition{{Info: info}}}}
		require.Contains(t, fatal(t, func(r testing.TB) {
			controllertest.StartFrom(r, controllertest.Start(t, kinds).Snapshot(), controllertest.Options{})
		}), "the snapshot has another schema: Options.Server.Kinds lacks /v1, Resource=configmaps")
	})
}

// outer is a T of outside the bubble.
type outer struct{ *recorder }

func (outer) Deadline() (time.Time, bool) { return time.Time{}, false }

func TestStartNeedsTheTOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		require.Contains(t, r.fatal(func() { controllertest.Start(outer{r}, controllertest.Options{}) }), "this T is of outside the bubble")
	})
}
