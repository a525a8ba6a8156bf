package kubelet_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// A pod's RuntimeClass is resolved to its handler, whose name may differ.
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

// debug adds an ephemeral container to a pod.
func (r *rig) debug(name string, edit func(*corev1.EphemeralContainer)) {
	pod := r.get(name)
	e := corev1.EphemeralContainer{}
	e.Name, e.Image, e.ImagePullPolicy = "debug", "img", corev1.PullIfNotPresent
	edit(&e)
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, e)
	_, err := client.Subresource[*corev1.Pod](client.For[*corev1.Pod](r.c.Admin()), "ephemeralcontainers").
		Update(r.t.Context(), types.NamespacedName{Namespace: "default", Name: name}, pod)
	require.NoError(r.t, err)
}

// kubectl debug --target showed no processes, without a word.
func TestEphemeralContainersJoinTheirTargets(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.pod("web", nil, "a", "b")
		time.Sleep(5 * time.Second)
		r.debug("web", func(e *corev1.EphemeralContainer) { e.TargetContainerName = "b" })
		time.Sleep(5 * time.Second)
		c := r.rt.Config("web", "debug")
		require.NotNil(t, c)
		n := c.Linux.SecurityContext.NamespaceOptions
		require.Equal(t, cri.NamespaceMode_TARGET, n.Pid)
		require.Contains(t, r.get("web").Status.ContainerStatuses[1].ContainerID, n.TargetId)
		require.NotEmpty(t, n.TargetId)
	})
}

// A pod may have its FQDN as hostname. One that is too long for the kernel keeps the pod pending, with an
// event.
func TestSetHostnameAsFQDN(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.ClusterDomain = "cluster.local" }, func(r *rig) {
		named := func(subdomain string, as *bool) func(*corev1.Pod) {
			return func(p *corev1.Pod) { p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = subdomain, as }
		}
		r.pod("plain", named("sub", nil), "c")
		r.pod("full", named("sub", new(true)), "c")
		r.pod("alone", named("", new(true)), "c")
		r.pod("long", named(strings.Repeat("s", 60), new(true)), "c")
		time.Sleep(5 * time.Second)
		require.Equal(t, "plain", r.rt.SandboxConfig("plain").Hostname)
		require.Equal(t, "full.sub.default.svc.cluster.local", r.rt.SandboxConfig("full").Hostname)
		require.Equal(t, "alone", r.rt.SandboxConfig("alone").Hostname)
		require.Nil(t, r.rt.SandboxConfig("long"))
		require.Equal(t, corev1.PodPending, r.get("long").Status.Phase)
		require.True(t, slices.ContainsFunc(controllertest.List[*corev1.Event](r.c, "default"), func(e *corev1.Event) bool {
			return e.InvolvedObject.Name == "long" && e.Reason == "FailedCreatePodSandBox" &&
				strings.Contains(e.Message, "is too long (64 characters is the max, 91 characters requested)")
		}))
	})
}

// The stop signal of a container reaches the runtime and the status.
func TestStopSignal(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		for name, signal := range map[string]corev1.Signal{"plain": "", "usr1": "SIGUSR1", "min": "SIGRTMIN+3", "max": "SIGRTMAX-2"} {
			r.pod(name, func(p *corev1.Pod) {
				if signal != "" {
					p.Spec.OS = &corev1.PodOS{Name: "linux"}
					p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{StopSignal: &signal}
				}
			}, "c")
		}
		time.Sleep(5 * time.Second)
		require.Equal(t, cri.Signal_RUNTIME_DEFAULT, r.rt.Config("plain", "c").StopSignal)
		require.Nil(t, r.get("plain").Status.ContainerStatuses[0].StopSignal)
		require.Equal(t, cri.Signal_SIGUSR1, r.rt.Config("usr1", "c").StopSignal)
		require.Equal(t, cri.Signal_SIGRTMINPLUS3, r.rt.Config("min", "c").StopSignal)
		require.Equal(t, cri.Signal_SIGRTMAXMINUS2, r.rt.Config("max", "c").StopSignal)
		require.Equal(t, corev1.Signal("SIGRTMIN+3"), *r.get("min").Status.ContainerStatuses[0].StopSignal)
		require.Equal(t, corev1.Signal("SIGRTMAX-2"), *r.get("max").Status.ContainerStatuses[0].StopSignal)
	})
}

// Local seccomp profiles are below the kubelet's root directory.
func TestLocalSeccompProfiles(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{
				Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: new("profiles/a.json")}}
		}, "c")
		time.Sleep(5 * time.Second)
		require.Equal(t, filepath.Join(r.opts.RootDir, "seccomp/profiles/a.json"), r.rt.Config("web", "c").Linux.SecurityContext.Seccomp.LocalhostRef)
	})
}

// A variable comes from a file that an init container has written. Without it the container waits, unless it
// is optional.
func TestVariablesOfFiles(t *testing.T) {
	bubble(t, func(r *rig) {
		r.rt.Play = func(c *cri.ContainerConfig) fakecri.Script {
			if c.Metadata.Name == "init" {
				return fakecri.Script{RunFor: 5 * time.Second}
			}
			return fakecri.Script{}
		}
	}, func(r *rig) {
		from := func(key string, optional bool) corev1.EnvVar {
			return corev1.EnvVar{Name: key, ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: "v", Path: "env", Key: key, Optional: &optional}}}
		}
		r.pod("p", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "img", ImagePullPolicy: corev1.PullNever, VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}}}
			p.Spec.Containers[0].Env = []corev1.EnvVar{from("A", false), from("B", true), {Name: "C", Value: "$(A)!"}}
		}, "main")
		time.Sleep(3 * time.Second)
		write := func(text string) {
			require.NoError(t, os.WriteFile(filepath.Join(r.rt.Config("p", "init").Mounts[0].HostPath, "env"), []byte(text), 0o600))
		}
		write("B='x'\n")
		time.Sleep(10 * time.Second)
		waiting := r.get("p").Status.ContainerStatuses[0].State.Waiting
		require.NotNil(t, waiting)
		require.Equal(t, "CreateContainerConfigError", waiting.Reason)
		require.Contains(t, waiting.Message, `environment variable key "A" not found in file`)
		write("A=x")
		time.Sleep(15 * time.Second)
		require.Equal(t, "couldn't parse env file", r.get("p").Status.ContainerStatuses[0].State.Waiting.Message)
		write("A='a b'")
		time.Sleep(15 * time.Second)
		require.True(t, ready(r.get("p")))
		var env []string
		for _, e := range r.rt.Config("p", "main").Envs {
			if len(e.Key) == 1 {
				env = append(env, e.Key+"="+string(e.Value))
			}
		}
		require.Equal(t, []string{"A=a b", "C=a b!"}, env)
	})
}
