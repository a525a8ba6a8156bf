package garbagecollector_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func bubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) }}})
		c.Settle()
		f(t, c)
	})
}

// configMap makes an object owned by others of the same kind.
func configMap(c *controllertest.Cluster, name string, owners ...types.UID) types.UID {
	m := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)}
	for i, uid := range owners {
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner" + string(rune('a'+i)), UID: uid, BlockOwnerDeletion: new(true)})
	}
	return controllertest.Create(c, m).UID
}

func there(c *controllertest.Cluster, name string) bool {
	return controllertest.Exists[*corev1.ConfigMap](c, "default", name)
}

func del(c *controllertest.Cluster, name string, p metav1.DeletionPropagation) {
	controllertest.Delete[*corev1.ConfigMap](c, "default", name, client.DeleteOptions{PropagationPolicy: p})
}

func TestBackground(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		a := configMap(c, "ownera")
		child := configMap(c, "child", a)
		m := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "grandchild")}
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "child", UID: child}}
		controllertest.Create(c, m)
		configMap(c, "bystander")
		c.Sleep(time.Minute)
		require.True(t, there(c, "grandchild"))
		del(c, "ownera", metav1.DeletePropagationBackground)
		require.False(t, there(c, "ownera"), "the owner goes first")
		c.Sleep(10 * time.Second)
		require.False(t, there(c, "child"))
		require.False(t, there(c, "grandchild"))
		require.True(t, there(c, "bystander"))
	})
}

func TestForeground(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		a := configMap(c, "ownera")
		configMap(c, "child", a)
		held := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "held")}
		held.Finalizers = []string{"example.com/hold"}
		held.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "ownera", UID: a, BlockOwnerDeletion: new(true)}}
		controllertest.Create(c, held)
		c.Settle()
		del(c, "ownera", metav1.DeletePropagationForeground)
		c.Sleep(10 * time.Second)
		require.False(t, there(c, "child"))
		require.True(t, there(c, "ownera"), "it waits for what it owns")
		require.Equal(t, []string{metav1.FinalizerDeleteDependents}, controllertest.Get[*corev1.ConfigMap](c, "default", "ownera").Finalizers)
		controllertest.Update(c, "default", "held", func(m *corev1.ConfigMap) { m.Finalizers = nil })
		c.Sleep(10 * time.Second)
		require.False(t, there(c, "held"))
		require.False(t, there(c, "ownera"))
	})
}

func TestOrphan(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		a := configMap(c, "ownera")
		configMap(c, "child", a)
		c.Settle()
		del(c, "ownera", metav1.DeletePropagationOrphan)
		c.Sleep(10 * time.Second)
		require.False(t, there(c, "ownera"))
		require.Empty(t, controllertest.Get[*corev1.ConfigMap](c, "default", "child").OwnerReferences)
	})
}

// An object is collected when its last owner is gone, and the references to the others are tidied up.
func TestTwoOwners(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		a, b := configMap(c, "ownera"), configMap(c, "ownerb")
		configMap(c, "child", a, b)
		c.Settle()
		del(c, "ownera", metav1.DeletePropagationBackground)
		c.Sleep(10 * time.Second)
		refs := controllertest.Get[*corev1.ConfigMap](c, "default", "child").OwnerReferences
		require.Len(t, refs, 1)
		require.Equal(t, b, refs[0].UID)
		del(c, "ownerb", metav1.DeletePropagationBackground)
		c.Sleep(10 * time.Second)
		require.False(t, there(c, "child"))
	})
}

func TestAbsentOwners(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		a := configMap(c, "ownera")
		configMap(c, "never", "4d5ed5d3-0000-4000-8000-000000000000")
		m := &corev1.ConfigMap{ObjectMeta: controllertest.Name("kube-system", "elsewhere")}
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "ownera", UID: a}}
		controllertest.Create(c, m)
		unknown := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "unknown")}
		unknown.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Thing", Name: "x", UID: "5d5ed5d3-0000-4000-8000-000000000000"}}
		controllertest.Create(c, unknown)
		c.Sleep(time.Minute)
		require.False(t, there(c, "never"), "its owner never was")
		require.False(t, controllertest.Exists[*corev1.ConfigMap](c, "kube-system", "elsewhere"), "its owner is in another namespace")
		require.True(t, there(c, "unknown"), "nobody can tell whether its owner is there")
	})
}

// Many owners with many dependents are collected without a visible pause.
func TestTwoHundredOwners(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		for i := range 50 {
			name := "o" + string(rune('0'+i/10)) + string(rune('0'+i%10))
			o := owner(c, name)
			for j := range 4 {
				m := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name+"-"+string(rune('0'+j)))}
				m.OwnerReferences = []metav1.OwnerReference{ref("ConfigMap", o)}
				controllertest.Create(c, m)
			}
		}
		c.Settle()
		list := controllertest.List[*corev1.ConfigMap](c, "default")
		require.Len(t, list, 250)
		for _, m := range list {
			if len(m.OwnerReferences) == 0 {
				del(c, m.Name, metav1.DeletePropagationBackground)
			}
		}
		c.Sleep(time.Second)
		require.Empty(t, controllertest.List[*corev1.ConfigMap](c, "default"))
	})
}
