package garbagecollector_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

var (
	configMaps = schema.GroupResource{Resource: "configmaps"}
	secrets    = schema.GroupResource{Resource: "secrets"}
)

func add(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) }

// flakyBubble runs the collector over a connection that can be made to fail.
func flakyBubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster, conn *flaky)) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		conn := newFlaky(c.Conn())
		c.Run(c.ManagerOver(conn, "collector", add))
		c.Settle()
		f(t, c, conn)
	})
}

func ref(kind string, owner metav1.Object) metav1.OwnerReference {
	m := metav1.MetaOf(owner)
	return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: m.Name, UID: m.UID, BlockOwnerDeletion: new(true)}
}

// secret makes a Secret with owners.
func secret(c *controllertest.Cluster, namespace, name string, owners ...metav1.OwnerReference) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: controllertest.Name(namespace, name)}
	s.OwnerReferences = owners
	return controllertest.Create(c, s)
}

func owner(c *controllertest.Cluster, name string) *corev1.ConfigMap {
	return controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)})
}

func secretThere(c *controllertest.Cluster, namespace, name string) bool {
	return controllertest.Exists[*corev1.Secret](c, namespace, name)
}

// A cluster-scoped object cannot have a namespaced owner: the reference is ambiguous, so it proves nothing.
func TestClusterScopedObjectsThatNameNamespacedOwnersAreKept(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		a := owner(c, "a")
		c.Settle()
		role := func(name string, refs ...metav1.OwnerReference) {
			r := &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", name)}
			r.OwnerReferences = refs
			controllertest.Create(c, r)
		}
		absent := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "b", UID: "4d5ed5d3-0000-4000-8000-000000000000"}
		role("of-one-that-lives", ref("ConfigMap", a))
		role("of-one-that-never-was", absent)
		c.Sleep(time.Minute)
		var events []string
		for _, e := range controllertest.List[*corev1.Event](c, "default") {
			events = append(events, e.Type+" "+e.Reason+" "+e.InvolvedObject.Kind+" "+e.InvolvedObject.Name+": "+e.Message)
		}
		require.Contains(t, events, "Warning OwnerRefInvalidNamespace ClusterRole of-one-that-lives: ownerRef [v1/ConfigMap, namespace: , name: a, uid: "+
			string(a.UID)+"] does not exist in namespace \"\"")
		del(c, "a", metav1.DeletePropagationBackground)
		c.Sleep(time.Hour)
		require.True(t, controllertest.Exists[*rbacv1.ClusterRole](c, "", "of-one-that-lives"))
		require.True(t, controllertest.Exists[*rbacv1.ClusterRole](c, "", "of-one-that-never-was"))
	})
}

// One 404 for a collection, and for each object in it, says nothing about the objects.
func TestACollectionThatIsNotServedForAWhileLosesNothing(t *testing.T) {
	flakyBubble(t, func(t *testing.T, c *controllertest.Cluster, conn *flaky) {
		a := owner(c, "a")
		secret(c, "default", "child", ref("ConfigMap", a))
		c.Settle()
		for _, gr := range []schema.GroupResource{configMaps, secrets} {
			conn.hide(gr)
			c.Sleep(15 * time.Minute)
			conn.show(gr)
			c.Sleep(15 * time.Minute)
			require.True(t, secretThere(c, "default", "child"), "its owner is there")
		}
		conn.hide(configMaps)
		c.Sleep(time.Minute)
		del(c, "a", metav1.DeletePropagationBackground)
		c.Sleep(time.Minute)
		require.True(t, secretThere(c, "default", "child"), "nobody can know yet")
		conn.show(configMaps)
		c.Sleep(30 * time.Minute)
		require.False(t, secretThere(c, "default", "child"))
	})
}

// A reference with the right uid and the wrong name, kind or namespace says nothing about the objects that
// name their owner rightly.
func TestAWrongReferenceDoesNotHarmOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			// Owners that the collector's graph does not have are looked up live.
			return garbagecollector.Add(m, garbagecollector.Options{Ignored: []schema.GroupResource{configMaps}})
		}}})
		c.Settle()
		a := owner(c, "a")
		secret(c, "kube-system", "elsewhere", ref("ConfigMap", a))
		secret(c, "default", "other-kind", ref("Secret", a))
		misnamed := ref("ConfigMap", a)
		misnamed.Name = "b"
		secret(c, "default", "misnamed", misnamed)
		c.Sleep(time.Minute)
		secret(c, "default", "child", ref("ConfigMap", a))
		c.Sleep(time.Hour)
		require.True(t, secretThere(c, "default", "child"))
		require.False(t, secretThere(c, "kube-system", "elsewhere"))
		require.False(t, secretThere(c, "default", "other-kind"))
		require.False(t, secretThere(c, "default", "misnamed"))
	})
}

// A collector that takes over knows no dependents until it has read them.
func TestATakeOverWithDeletionsPending(t *testing.T) {
	for _, late := range []time.Duration{5 * time.Second, 45 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{})
			conn := newFlaky(c.Conn())
			conn.late[secrets] = late
			for _, name := range []string{"orphaning", "foreground"} {
				a := owner(c, name)
				s := secret(c, "default", "child-of-"+name, ref("ConfigMap", a))
				if name == "foreground" {
					controllertest.Update(c, "default", s.Name, func(s *corev1.Secret) { s.Finalizers = []string{"example.com/hold"} })
				}
			}
			del(c, "orphaning", metav1.DeletePropagationOrphan)
			del(c, "foreground", metav1.DeletePropagationForeground)
			c.Run(c.ManagerOver(conn, "collector", add))
			c.Sleep(late / 2)
			require.True(t, there(c, "foreground"))
			c.Sleep(late + time.Minute)
			require.False(t, there(c, "orphaning"))
			require.True(t, there(c, "foreground"))
			require.Empty(t, controllertest.Get[*corev1.Secret](c, "default", "child-of-orphaning").OwnerReferences)
			controllertest.Update(c, "default", "child-of-foreground", func(s *corev1.Secret) { s.Finalizers = nil })
			c.Sleep(late + time.Minute)
			require.False(t, there(c, "foreground"))
		})
	}
}

// A dependent with another owner that lives, or that stops blocking, lets a foreground deletion end.
func TestForegroundDeletionEndsWhenDependentsStay(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		a, b := owner(c, "a"), owner(c, "b")
		secret(c, "default", "of-two", ref("ConfigMap", a), ref("ConfigMap", b))
		held := secret(c, "default", "held", ref("ConfigMap", b))
		controllertest.Update(c, "default", "held", func(s *corev1.Secret) { s.Finalizers = []string{"example.com/hold"} })
		c.Settle()
		del(c, "a", metav1.DeletePropagationForeground)
		c.Sleep(time.Minute)
		require.False(t, there(c, "a"), "what it owns has another owner")
		refs := controllertest.Get[*corev1.Secret](c, "default", "of-two").OwnerReferences
		require.Len(t, refs, 1)
		require.Equal(t, b.UID, refs[0].UID)
		del(c, "b", metav1.DeletePropagationForeground)
		c.Sleep(time.Minute)
		require.True(t, there(c, "b"))
		controllertest.Update(c, "default", held.Name, func(s *corev1.Secret) { s.OwnerReferences[0].BlockOwnerDeletion = new(false) })
		c.Sleep(time.Minute)
		require.False(t, there(c, "b"))
		require.True(t, secretThere(c, "default", "held"), "its finalizer holds it")
	})
}

// A controller may adopt an object in the moment in which its own owner goes.
func TestAReferenceToAnAbsentOwnerIsSeenWheneverItIsAdded(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		a, b := owner(c, "a"), owner(c, "b")
		secret(c, "default", "alone")
		secret(c, "default", "owned", ref("ConfigMap", b))
		del(c, "a", metav1.DeletePropagationBackground)
		c.Sleep(time.Minute)
		for _, name := range []string{"alone", "owned"} {
			controllertest.Update(c, "default", name, func(s *corev1.Secret) { s.OwnerReferences = append(s.OwnerReferences, ref("ConfigMap", a)) })
		}
		c.Sleep(time.Minute)
		require.False(t, secretThere(c, "default", "alone"))
		refs := controllertest.Get[*corev1.Secret](c, "default", "owned").OwnerReferences
		require.Len(t, refs, 1)
		require.Equal(t, b.UID, refs[0].UID)
	})
}

// Objects that own each other in a circle go when one of them is deleted, whichever way and however many are
// deleted at once.
func TestCyclesEnd(t *testing.T) {
	for _, size := range []int{1, 2, 3, 4, 5} {
		for _, step := range []int{1, 2, 5} {
			bubble(t, func(t *testing.T, c *controllertest.Cluster) {
				var ring []*corev1.ConfigMap
				for i := range size {
					ring = append(ring, owner(c, "ring"+string(rune('0'+i))))
				}
				for i, m := range ring {
					controllertest.Update(c, "default", m.Name, func(m *corev1.ConfigMap) {
						m.OwnerReferences = []metav1.OwnerReference{ref("ConfigMap", ring[(i+1)%size])}
					})
				}
				c.Settle()
				require.Len(t, controllertest.List[*corev1.ConfigMap](c, "default"), size)
				for i := 0; i < size; i += step {
					err := client.For[*corev1.ConfigMap](c.Admin()).Delete(t.Context(), ring[i].Key(), client.DeleteOptions{PropagationPolicy: metav1.DeletePropagationForeground})
					require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
				}
				c.Sleep(time.Minute)
				require.Empty(t, controllertest.List[*corev1.ConfigMap](c, "default"))
			})
		}
	}
}

// What has an owner that the collector knows costs it no request.
func TestKnownOwnersCostNothing(t *testing.T) {
	flakyBubble(t, func(t *testing.T, c *controllertest.Cluster, conn *flaky) {
		a := owner(c, "a")
		c.Settle()
		before := conn.asked.Load()
		for _, name := range []string{"x", "y", "z"} {
			secret(c, "default", name, ref("ConfigMap", a))
		}
		c.Settle()
		require.Equal(t, before, conn.asked.Load())
	})
}

// What refers to an owner of an unknown kind stays, and is looked at again when the kind is served.
func TestAKindThatAppears(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		secret(c, "default", "child", metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: "w", UID: "4d5ed5d3-0000-4000-8000-000000000000"})
		c.Sleep(time.Hour)
		require.True(t, secretThere(c, "default", "child"))
		definition := &metav1.Unstructured{}
		require.NoError(t, codec.Unmarshal([]byte(widgets), definition))
		_, err := client.ForResource[*metav1.Unstructured](c.Admin(), definitions).Create(t.Context(), definition)
		require.NoError(t, err)
		c.Sleep(2 * time.Minute)
		require.False(t, secretThere(c, "default", "child"))
	})
}

// A definition that is stored after the served resources were listed first, and before the definitions were,
// is followed at once.
func TestAKindThatAppearsAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		conn := newFlaky(c.Conn())
		conn.late[definitions.GVR.GroupResource()] = 5 * time.Second
		c.Run(c.ManagerOver(conn, "collector", add))
		c.Sleep(time.Second)
		definition := &metav1.Unstructured{}
		require.NoError(t, codec.Unmarshal([]byte(widgets), definition))
		_, err := client.ForResource[*metav1.Unstructured](c.Admin(), definitions).Create(t.Context(), definition)
		require.NoError(t, err)
		c.Sleep(time.Second)
		v1 := schema.GroupVersion{Group: "example.com", Version: "v1"}
		kind := client.ForResource[*metav1.Unstructured](c.Admin(), client.Resource{Namespaced: true, GVR: v1.WithResource("widgets"), GVK: v1.WithKind("Widget")})
		w := &metav1.Unstructured{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"}, ObjectMeta: controllertest.Name("default", "w")}
		w, err = kind.Create(t.Context(), w)
		require.NoError(t, err)
		secret(c, "default", "child", metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: "w", UID: w.UID})
		c.Sleep(5 * time.Second)
		require.NoError(t, kind.Delete(t.Context(), types.NamespacedName{Namespace: "default", Name: "w"}))
		c.Sleep(5 * time.Second)
		require.False(t, secretThere(c, "default", "child"))
	})
}
