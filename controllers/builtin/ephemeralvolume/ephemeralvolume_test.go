package ephemeralvolume_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/ephemeralvolume"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// start starts a cluster whose controller has only its own rights.
func start(t *testing.T) *controllertest.Cluster {
	return controllertest.Start(t, controllertest.Options{
		As: client.User{Name: "system:serviceaccount:kube-system:ephemeral-volume-controller"},
		Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			return ephemeralvolume.Add(m, ephemeralvolume.Options{})
		}},
	})
}

// spec returns the claim of the tests.
func spec() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}
}

// create creates a pod with an ephemeral volume called scratch.
func create(c *controllertest.Cluster, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
	template := &corev1.PersistentVolumeClaimTemplate{Spec: spec()}
	template.Labels = map[string]string{"use": "scratch"}
	p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: template}}}}
	return controllertest.Create(c, p)
}

// A pod with a volume of its own.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t)
		create(c, "web")
		c.Settle()
		for _, claim := range controllertest.List[*corev1.PersistentVolumeClaim](c, "default") {
			fmt.Println(claim.Name, "of", claim.OwnerReferences[0].Kind, claim.OwnerReferences[0].Name)
		}
	})
	// Output: web-scratch of Pod web
}

// A claim is created once, again if it is deleted, and one of another owner is waited for.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		foreign := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "web-scratch"), Spec: spec()}
		controllertest.Create(c, foreign)
		c.Settle()
		pod := create(c, "web")
		c.Sleep(time.Minute)
		require.Nil(t, metav1.ControllerOf(controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "web-scratch")))
		e := controllertest.List[*corev1.Event](c, "default")[0]
		require.Equal(t, "FailedBinding", e.Reason)
		require.Equal(t, `ephemeral volume scratch: PVC "default/web-scratch" was not created for pod "default/web" (pod is not owner)`, e.Message)
		for range 2 {
			controllertest.Update(c, "default", "web-scratch", func(p *corev1.PersistentVolumeClaim) { p.Finalizers = nil })
			controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", "web-scratch")
			c.Settle()
			claim := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "web-scratch")
			require.True(t, metav1.IsControlledBy(claim, pod.UID))
			require.Equal(t, map[string]string{"use": "scratch"}, claim.Labels)
			require.Equal(t, "1Gi", claim.Spec.Resources.Requests[corev1.ResourceStorage].String())
		}
	})
}
