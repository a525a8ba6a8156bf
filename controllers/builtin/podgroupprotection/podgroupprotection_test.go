package podgroupprotection_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/podgroupprotection"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/store/apiserver"
)

type group = schedulingv1alpha2.PodGroup

// options make a cluster that serves PodGroups, whose controller may do no more than its account.
func options(t testing.TB) controllertest.Options {
	served, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, schedulingv1alpha2.AddToScheme(served))
	require.NoError(t, schedulingv1alpha2.AddRules(served))
	known := api.Scheme().Clone()
	require.NoError(t, schedulingv1alpha2.AddToScheme(known))
	return controllertest.Options{Scheme: known, Server: apiserver.Options{Scheme: served}, Controllers: []controllertest.Adder{podgroupprotection.Add},
		As: client.User{Name: "system:serviceaccount:kube-system:podgroup-protection-controller", Groups: []string{"system:authenticated"}}}
}

func member(name, of string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "image"}}
	p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &of}
	return p
}

// A group goes when its last pod has ended or is gone; one that is not being deleted keeps its finalizer.
func TestGroupsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, options(t))
		for _, name := range []string{"ends", "empty", "kept", "removed"} {
			g := &group{ObjectMeta: controllertest.Name("default", name)}
			g.Finalizers = []string{schedulingv1alpha2.Finalizer}
			g.Spec.SchedulingPolicy.Basic = &schedulingv1alpha2.BasicSchedulingPolicy{}
			controllertest.Create(c, g)
		}
		for _, p := range []*corev1.Pod{member("a", "ends"), member("b", "ends"), member("c", "removed"), member("d", "kept")} {
			controllertest.Create(c, p)
		}
		left := func() (names []string) {
			c.Sleep(time.Minute)
			for _, g := range controllertest.List[*group](c, "default") {
				require.Equal(t, []string{schedulingv1alpha2.Finalizer}, g.Finalizers, g.Name)
				names = append(names, g.Name)
			}
			return names
		}
		require.Equal(t, []string{"empty", "ends", "kept", "removed"}, left())
		for _, name := range []string{"ends", "empty", "removed"} {
			controllertest.Delete[*group](c, "default", name)
		}
		require.Equal(t, []string{"ends", "kept", "removed"}, left())
		end := func(name string, phase corev1.PodPhase) {
			controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) { p.Status.Phase = phase })
		}
		end("a", corev1.PodSucceeded)
		end("d", corev1.PodSucceeded)
		require.Equal(t, []string{"ends", "kept", "removed"}, left(), "b has not ended")
		end("b", corev1.PodFailed)
		require.Equal(t, []string{"kept", "removed"}, left())
		controllertest.Delete[*corev1.Pod](c, "default", "c")
		require.Equal(t, []string{"kept"}, left())
	})
}
