package resourceclaim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/builtin/resourceclaim"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

var account = client.User{Name: "system:serviceaccount:kube-system:resource-claim-controller", Groups: []string{"system:authenticated"}}

// start starts a cluster whose controller has only its own rights, and a template called gpu.
func start(t *testing.T) *controllertest.Cluster {
	c := controllertest.Start(t, controllertest.Options{})
	c.Run(c.ManagerOver(c.Conn(), "controllers", func(m *manager.Manager) error {
		if err := garbagecollector.Add(m, garbagecollector.Options{}); err != nil {
			return err
		}
		return resourceclaim.Add(m.As(c.Conn(account)), resourceclaim.Options{})
	}))
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: controllertest.Name("default", "gpu")}
	template.Spec.Labels, template.Spec.Spec = map[string]string{"use": "gpu"}, spec()
	controllertest.Create(c, template)
	return c
}

func spec() resourcev1.ResourceClaimSpec {
	request := resourcev1.DeviceRequest{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request}}}
}

// pod creates a pod with a claim of the template gpu and the claim shared.
func pod(c *controllertest.Cluster, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "own", ResourceClaimTemplateName: new("gpu")}, {Name: "other", ResourceClaimName: new("shared")}}
	return controllertest.Create(c, p)
}

// own returns the claim that was made for a pod.
func own(c *controllertest.Cluster, name string) *resourcev1.ResourceClaim {
	p := controllertest.Get[*corev1.Pod](c, "default", name)
	return controllertest.Get[*resourcev1.ResourceClaim](c, "default", *p.Status.ResourceClaimStatuses[0].ResourceClaimName)
}

// allocate does what the scheduler does: a finalizer, an allocation and reservations.
func allocate(c *controllertest.Cluster, name string, pods ...*corev1.Pod) {
	controllertest.Update(c, "default", name, func(r *resourcev1.ResourceClaim) { metav1.AddFinalizer(r, resourcev1.Finalizer) })
	controllertest.UpdateStatus(c, "default", name, func(r *resourcev1.ResourceClaim) {
		r.Status.Allocation = &resourcev1.AllocationResult{}
		for _, p := range pods {
			r.Status.ReservedFor = append(r.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID})
		}
	})
}

func run(c *controllertest.Cluster, name string) {
	controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
}

func finish(c *controllertest.Cluster, name string) {
	controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
}

// A pod with a claim of its own.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t)
		pod(c, "web")
		c.Settle()
		claim := own(c, "web")
		fmt.Println(claim.GenerateName, claim.OwnerReferences[0].Kind, claim.Labels, claim.Annotations)
	})
	// Output: web-own- Pod map[use:gpu] map[resource.kubernetes.io/pod-claim-name:own]
}

// A pod waits for its template, and has a new claim if the one it had is deleted.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Delete[*resourcev1.ResourceClaimTemplate](c, "default", "gpu")
		web := pod(c, "web")
		c.Sleep(time.Second)
		e := controllertest.List[*corev1.Event](c, "default")[0]
		require.Equal(t, "FailedResourceClaimCreation", e.Reason)
		require.Contains(t, e.Message, `PodResourceClaim own: resource claim template "gpu"`)
		template := &resourcev1.ResourceClaimTemplate{ObjectMeta: controllertest.Name("default", "gpu")}
		template.Spec.Spec = spec()
		controllertest.Create(c, template)
		c.Sleep(time.Minute)
		first := own(c, "web")
		require.True(t, metav1.IsControlledBy(first, web.UID))
		require.Nil(t, first.OwnerReferences[0].BlockOwnerDeletion)
		controllertest.Delete[*resourcev1.ResourceClaim](c, "default", first.Name)
		c.Sleep(time.Minute)
		require.NotEqual(t, first.UID, own(c, "web").UID)
		require.Len(t, controllertest.List[*resourcev1.ResourceClaim](c, "default"), 1)
		for _, f := range controllertest.Get[*corev1.Pod](c, "default", "web").ManagedFields {
			if f.Manager == resourceclaim.FieldManager {
				require.Equal(t, "status", f.Subresource)
				return
			}
		}
		t.Error("no fields are managed as " + resourceclaim.FieldManager)
	})
}

// The names of claims fit, with parts of both of their names.
func TestLongNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		name := strings.Repeat("p", 90)
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: strings.Repeat("c", 22), ResourceClaimTemplateName: new("gpu")}}
		controllertest.Create(c, p)
		c.Settle()
		require.Regexp(t, "^p{45}-c{11}.{5}$", own(c, name).Name)
	})
}

// A reservation ends with its pod, the allocation with the last one, and the claim of a pod with that pod.
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Create(c, &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", "shared"), Spec: spec()})
		a, b := pod(c, "a"), pod(c, "b")
		c.Settle()
		made := own(c, "a").Name
		allocate(c, made, a)
		allocate(c, "shared", a, b)
		run(c, "a")
		c.Sleep(time.Minute)
		require.Len(t, controllertest.Get[*resourcev1.ResourceClaim](c, "default", "shared").Status.ReservedFor, 2)

		finish(c, "a")
		c.Sleep(time.Minute)
		require.False(t, controllertest.Exists[*resourcev1.ResourceClaim](c, "default", made))
		shared := controllertest.Get[*resourcev1.ResourceClaim](c, "default", "shared")
		require.Equal(t, []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "b", UID: b.UID}}, shared.Status.ReservedFor)
		require.NotNil(t, shared.Status.Allocation)

		controllertest.Delete[*corev1.Pod](c, "default", "b") // it is on no node
		c.Sleep(time.Minute)
		shared = controllertest.Get[*resourcev1.ResourceClaim](c, "default", "shared")
		require.Empty(t, shared.Status.ReservedFor)
		require.Nil(t, shared.Status.Allocation)
		require.Empty(t, shared.Finalizers)
	})
}

// A claim that is allocated without reservations stays allocated until it is deleted; another consumer than a
// pod stays.
func TestUnreserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		for _, name := range []string{"free", "used"} {
			controllertest.Create(c, &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", name), Spec: spec()})
			allocate(c, name)
		}
		controllertest.UpdateStatus(c, "default", "used", func(r *resourcev1.ResourceClaim) {
			r.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{APIGroup: "example.com", Resource: "jobs", Name: "x", UID: "1"}}
		})
		c.Sleep(time.Minute)
		require.NotNil(t, controllertest.Get[*resourcev1.ResourceClaim](c, "default", "free").Status.Allocation)
		controllertest.Delete[*resourcev1.ResourceClaim](c, "default", "free")
		controllertest.Delete[*resourcev1.ResourceClaim](c, "default", "used")
		c.Sleep(time.Minute)
		require.False(t, controllertest.Exists[*resourcev1.ResourceClaim](c, "default", "free"))
		require.Len(t, controllertest.Get[*resourcev1.ResourceClaim](c, "default", "used").Status.ReservedFor, 1)
	})
}

// A pod that was created on a node is entered in its allocated claims; another pod of its name is not its
// heir.
func TestPodsOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Create(c, &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", "shared"), Spec: spec()})
		allocate(c, "shared")
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "web")}
		p.Spec.Containers, p.Spec.NodeName = []corev1.Container{{Name: "main", Image: "app:1"}}, "node-1"
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "other", ResourceClaimName: new("shared")}}
		web := controllertest.Create(c, p)
		c.Sleep(time.Minute)
		reserved := controllertest.Get[*resourcev1.ResourceClaim](c, "default", "shared").Status.ReservedFor
		require.Equal(t, []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "web", UID: web.UID}}, reserved)

		require.NoError(t, client.For[*corev1.Pod](c.Conn()).Delete(t.Context(), web.Key(), client.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
		again := pod(c, "web")
		c.Sleep(time.Minute)
		require.NotEqual(t, web.UID, again.UID)
		require.Empty(t, controllertest.Get[*resourcev1.ResourceClaim](c, "default", "shared").Status.ReservedFor)
	})
}

// A claim whose creation got no reply is the one that the pod has, when it is seen.
func TestLostReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		c.Settle()
		create := controllertest.Requests{Verbs: []string{"create"}, Resource: "resourceclaims.resource.k8s.io"}
		c.Inject(controllertest.Fault{Requests: create, Times: 1, Effect: controllertest.LoseReply()})
		late := c.Hold(controllertest.Requests{Verbs: []string{"watch"}, Resource: "resourceclaims.resource.k8s.io"})
		c.Break(controllertest.Requests{Verbs: []string{"watch"}, Resource: "resourceclaims.resource.k8s.io"})
		pod(c, "web")
		c.Sleep(time.Second)
		require.Len(t, controllertest.List[*resourcev1.ResourceClaim](c, "default"), 1)
		require.Empty(t, controllertest.Get[*corev1.Pod](c, "default", "web").Status.ResourceClaimStatuses)
		late.Release()
		c.Sleep(time.Minute)
		require.Len(t, controllertest.List[*resourcev1.ResourceClaim](c, "default"), 1)
		require.Len(t, controllertest.Get[*corev1.Pod](c, "default", "web").Status.ResourceClaimStatuses, 1)
	})
}
