package podindex_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/internal/podindex"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func TestPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pods podindex.Pods
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			pods = podindex.Of(m.Informers())
			podindex.Of(m.Informers()) // a second user shares the indexes
			return nil
		}}})
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
		create := func(namespace, name, node, controller string) {
			p := &corev1.Pod{ObjectMeta: controllertest.Name(namespace, name)}
			p.Spec.NodeName = node
			p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
			if controller != "" {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: controller, UID: types.UID("uid-of-" + controller), Controller: new(true)}}
			}
			controllertest.Create(c, p)
		}
		create("default", "a", "node1", "owner")
		create("default", "b", "node1", "")
		create("default", "c", "", "")
		create("other", "d", "node2", "")
		c.Settle()
		names := func(list []*corev1.Pod, err error) []string {
			require.NoError(t, err)
			var out []string
			for _, p := range list {
				out = append(out, p.Name)
			}
			slices.Sort(out)
			return out
		}
		require.Equal(t, []string{"a", "b"}, names(pods.OnNode("node1")))
		require.Equal(t, []string{"d"}, names(pods.OnNode("node2")))
		require.Empty(t, names(pods.OnNode("")), "pods without a node are in no index")
		require.Equal(t, []string{"a"}, names(pods.ControlledBy("uid-of-owner")))
		require.Equal(t, []string{"b", "c"}, names(pods.Orphans("default")))
		require.Equal(t, []string{"d"}, names(pods.Orphans("other")))
	})
}
