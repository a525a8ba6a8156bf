package kubelet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

func TestAPodWithoutItsUserNamespaceIsRefused(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) { p.Spec.HostUsers = new(false) }, "c")
		time.Sleep(5 * time.Second)
		st := r.get("web").Status
		require.Equal(t, corev1.PodFailed, st.Phase)
		require.Equal(t, "PodFeatureUnsupported", st.Reason)
		require.Contains(t, st.Message, "hostUsers")
		require.Empty(t, r.rt.Running())
	})
}

// review kubelet.md S2-10: the name of the class was taken for that of the runtime's handler.
func TestRuntimeClass(t *testing.T) {
	var l *line
	bubble(t, func(r *rig) {
		r.wrap = func(c client.Conn) client.Conn { l = newLine(c); return l }
	}, func(r *rig) {
		class := &nodev1.RuntimeClass{ObjectMeta: controllertest.Name("", "sandboxed"), Handler: "runsc"}
		controllertest.Create(r.c, class)
		with := func(name string) func(*corev1.Pod) {
			return func(p *corev1.Pod) { p.Spec.RuntimeClassName = &name }
		}
		r.pod("plain", nil, "c")
		r.pod("web", with("sandboxed"), "c")
		time.Sleep(5 * time.Second)
		require.True(t, ready(r.get("web")))
		require.Equal(t, "runsc", r.rt.Handler("web"))
		require.Empty(t, r.rt.Handler("plain"))

		// What is known is enough while the server is away.
		l.set(refused)
		r.rt.KillSandbox("web")
		time.Sleep(time.Minute)
		require.Contains(t, r.rt.Running(), "web/c")
		require.Equal(t, "runsc", r.rt.Handler("web"))
		l.set(intact)
		time.Sleep(time.Minute)

		controllertest.Delete[*nodev1.RuntimeClass](r.c, "", "sandboxed")
		r.rt.KillSandbox("web")
		time.Sleep(30 * time.Second)
		require.NotContains(t, r.rt.Running(), "web/c", "without its class it does not run")
		controllertest.Create(r.c, &nodev1.RuntimeClass{ObjectMeta: controllertest.Name("", "sandboxed"), Handler: "kata"})
		time.Sleep(time.Minute)
		require.Contains(t, r.rt.Running(), "web/c")
		require.Equal(t, "kata", r.rt.Handler("web"))
	})
}

// kubectl debug --target showed no processes, without a word.
func TestEphemeralContainersJoinTheirTargets(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.pod("web", nil, "a", "b")
		time.Sleep(5 * time.Second)
		pod := r.get("web")
		e := corev1.EphemeralContainer{TargetContainerName: "b"}
		e.Name, e.Image, e.ImagePullPolicy = "debug", "img", corev1.PullIfNotPresent
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, e)
		_, err := client.Subresource[*corev1.Pod](client.For[*corev1.Pod](r.c.Admin()), "ephemeralcontainers").
			Update(r.t.Context(), types.NamespacedName{Namespace: "default", Name: "web"}, pod)
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		c := r.rt.Config("web", "debug")
		require.NotNil(t, c)
		n := c.Linux.SecurityContext.NamespaceOptions
		require.Equal(t, cri.NamespaceMode_TARGET, n.Pid)
		require.Contains(t, r.get("web").Status.ContainerStatuses[1].ContainerID, n.TargetId)
		require.NotEmpty(t, n.TargetId)
	})
}
