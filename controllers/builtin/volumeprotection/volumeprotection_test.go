package volumeprotection_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/namespace"
	"github.com/keelson-dev/keelson/controllers/builtin/volumeprotection"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func addClaims(m *manager.Manager) error {
	return volumeprotection.AddClaims(m, volumeprotection.ClaimOptions{})
}
func addVolumes(m *manager.Manager) error {
	return volumeprotection.AddVolumes(m, volumeprotection.Options{})
}

func start(t *testing.T, more ...controllertest.Adder) *controllertest.Cluster {
	return controllertest.Start(t, controllertest.Options{Controllers: append(more, addClaims, addVolumes)})
}

func claim(namespace, name string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name(namespace, name)}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{"storage": resource.MustParse("1Gi")}
	return c
}

// pod makes one with a volume; node may be empty.
func pod(c *controllertest.Cluster, name, node string, volume corev1.Volume) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.NodeName = node
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	p.Spec.Volumes = []corev1.Volume{volume}
	return controllertest.Create(c, p)
}

func onClaim(name string) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
}

func there(c *controllertest.Cluster, name string) bool {
	return controllertest.Exists[*corev1.PersistentVolumeClaim](c, "default", name)
}

func kill(c *controllertest.Cluster, name string) {
	controllertest.Delete[*corev1.Pod](c, "default", name, client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
}

// A claim that is deleted goes when no pod uses it any more.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t)
		controllertest.Create(c, claim("default", "data"))
		pod(c, "user", "node", onClaim("data"))
		controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", "data")
		c.Sleep(time.Minute)
		fmt.Println("while the pod is there:", there(c, "data"))
		kill(c, "user")
		c.Sleep(time.Minute)
		fmt.Println("without it:", there(c, "data"))
	})
	// Output:
	// while the pod is there: true
	// without it: false
}

func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		for _, name := range []string{"unused", "waiting", "ended"} {
			controllertest.Create(c, claim("default", name))
		}
		require.Contains(t, controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "unused").Finalizers, volumeprotection.ClaimFinalizer)
		pod(c, "without-a-node", "", onClaim("waiting"))
		pod(c, "ended", "node", onClaim("ended"))
		controllertest.UpdateStatus(c, "default", "ended", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		for _, name := range []string{"unused", "waiting", "ended"} {
			controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", name)
		}
		c.Settle()
		require.False(t, there(c, "unused"))
		require.False(t, there(c, "waiting"), "its pod is on no node")
		require.True(t, there(c, "ended"), "the pod is still there")
		controllertest.Delete[*corev1.Pod](c, "default", "ended", client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		c.Settle()
		require.False(t, there(c, "ended"))
	})
}

// ephemeral is a volume that a claim is made for.
func ephemeral() corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claim("", "").Spec}}}}
}

// An ephemeral volume's claim is held by the pod that it was made for, not by another of that name.
func TestEphemeralVolumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		p := pod(c, "p", "node", ephemeral())
		pod(c, "q", "node", ephemeral())
		mine, other := claim("default", "p-v"), claim("default", "q-v")
		mine.OwnerReferences = []metav1.OwnerReference{metav1.NewControllerRef(p, schema.GroupVersionKind{Version: "v1", Kind: "Pod"})}
		for _, o := range []*corev1.PersistentVolumeClaim{mine, other} {
			controllertest.Create(c, o)
			controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", o.Name)
		}
		c.Settle()
		require.True(t, there(c, "p-v"))
		require.False(t, there(c, "q-v"))
		kill(c, "p")
		c.Settle()
		require.False(t, there(c, "p-v"))
	})
}

func TestVolumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		for _, name := range []string{"free", "bound"} {
			v := &corev1.PersistentVolume{ObjectMeta: controllertest.Name("", name)}
			v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
			v.Spec.Capacity = corev1.ResourceList{"storage": resource.MustParse("1Gi")}
			v.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/data"}
			controllertest.Create(c, v)
		}
		controllertest.UpdateStatus(c, "", "bound", func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeBound })
		controllertest.Update(c, "", "free", func(v *corev1.PersistentVolume) { v.Finalizers = nil })
		c.Settle()
		require.Contains(t, controllertest.Get[*corev1.PersistentVolume](c, "", "free").Finalizers, volumeprotection.VolumeFinalizer, "it is set again")
		controllertest.Delete[*corev1.PersistentVolume](c, "", "free")
		controllertest.Delete[*corev1.PersistentVolume](c, "", "bound")
		c.Settle()
		require.False(t, controllertest.Exists[*corev1.PersistentVolume](c, "", "free"))
		require.True(t, controllertest.Exists[*corev1.PersistentVolume](c, "", "bound"))
		controllertest.UpdateStatus(c, "", "bound", func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeReleased })
		c.Settle()
		require.False(t, controllertest.Exists[*corev1.PersistentVolume](c, "", "bound"))
	})
}

// A namespace with a claim can be deleted.
func TestANamespaceWithAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, func(m *manager.Manager) error { return namespace.Add(m, namespace.Options{}) })
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "ns")})
		controllertest.Create(c, claim("ns", "data"))
		controllertest.Delete[*corev1.Namespace](c, "", "ns")
		c.Sleep(time.Minute)
		require.False(t, controllertest.Exists[*corev1.Namespace](c, "", "ns"))
	})
}

// server is a connection to a server that reports the last change of a resource, or does not.
type server struct {
	client.Conn
	reports bool
	lists   *atomic.Int64 // of more than one pod
}

func (s server) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if r.Verb() == "list" && r.Resource.Resource == "pods" && r.Query.Get("limit") != "1" {
		s.lists.Add(1)
	}
	resp, err := s.Conn.Do(ctx, r)
	if err == nil && !s.reports {
		delete(resp.Header, metav1.LastChangeHeader)
	}
	return resp, err
}

// onServers runs a test with both kinds of servers. add adds the controller, over such a connection.
func onServers(t *testing.T, f func(t *testing.T, s server, add controllertest.Adder)) {
	for _, reports := range []bool{true, false} {
		t.Run(fmt.Sprint("reports=", reports), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := server{reports: reports, lists: new(atomic.Int64)}
				f(t, s, func(m *manager.Manager) error {
					return addClaims(m.As(server{m.Conn(), s.reports, s.lists}))
				})
			})
		})
	}
}

// Many claims that are deleted together need no list of the pods of their namespace, or few of a server that
// does not report the last change, and one in use stays.
func TestManyClaimsNeedFewLists(t *testing.T) {
	onServers(t, func(t *testing.T, s server, add controllertest.Adder) {
		c := controllertest.Start(t, controllertest.Options{})
		c.Run(c.Manager("controllers", add))
		for i := range 100 {
			controllertest.Create(c, claim("default", fmt.Sprint("data-", i)))
		}
		pod(c, "user", "node", onClaim("data-7"))
		c.Settle()
		require.Zero(t, s.lists.Load())
		require.NoError(t, client.For[*corev1.PersistentVolumeClaim](c.Admin()).DeleteCollection(t.Context(), client.ListOptions{Namespace: "default"}, client.DeleteOptions{}))
		c.Settle()
		left := controllertest.List[*corev1.PersistentVolumeClaim](c, "default")
		require.Len(t, left, 1)
		require.Equal(t, "data-7", left[0].Name)
		kill(c, "user")
		c.Settle()
		require.False(t, there(c, "data-7"))
		if s.reports {
			require.Zero(t, s.lists.Load())
		} else {
			require.Positive(t, s.lists.Load())
			require.Less(t, s.lists.Load(), int64(20))
		}
	})
}

// A pod that the controller's copy does not have yet keeps its claim.
func TestClaimsOfUnseenPods(t *testing.T) {
	onServers(t, func(t *testing.T, _ server, add controllertest.Adder) {
		c := controllertest.Start(t, controllertest.Options{})
		controllertest.Create(c, claim("default", "data"))
		c.Run(c.Manager("controllers", add))
		c.Settle()
		// Its copy of pods gets nothing for a while.
		pods := controllertest.Requests{Verbs: []string{"watch"}, Resource: "pods"}
		late := c.Inject(controllertest.Fault{Requests: pods, Effect: controllertest.Delay(time.Minute)})
		require.Positive(t, c.Break(pods))
		pod(c, "user", "node", onClaim("data"))
		controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", "data")
		c.Sleep(30 * time.Second)
		require.True(t, there(c, "data"))
		late.Remove()
		c.Sleep(2 * time.Minute)
		require.True(t, there(c, "data"))
		kill(c, "user")
		c.Settle()
		require.False(t, there(c, "data"))
	})
}
