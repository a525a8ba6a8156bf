package kubelet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// rig is a control plane in memory, a simulated runtime and a kubelet, all on virtual time.
type rig struct {
	t       *testing.T
	c       *controllertest.Cluster
	rt      *fakecri.Runtime
	k       *kubelet.Kubelet
	host    *host
	opts    kubelet.Options
	line    *line // of the kubelet to the API server
	observe func(client.Write)
	// intercept lets requests of the kubelet fail.
	intercept func(context.Context, *client.Request) error
	wrap      func(client.Conn) client.Conn // the kubelet's connection
	alone     bool                          // it has none
	user      []client.User                 // of the connection; none is an administrator
	stop      func()
}

// bubble runs f with a rig whose node is ready.
func bubble(t *testing.T, prepare func(*rig), f func(*rig)) { seeded(t, 0, prepare, f) }

// seeded is bubble with the seed of the cluster; 0 is none.
func seeded(t *testing.T, seed uint64, prepare func(*rig), f func(*rig)) {
	bubbleOf(t, controllertest.Options{Seed: seed}, prepare, f)
}

// bubbleOf is bubble with a cluster of these options.
func bubbleOf(t *testing.T, cluster controllertest.Options, prepare func(*rig), f func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, c: controllertest.Start(t, cluster), rt: fakecri.New("img"), host: &host{}}
		dir := t.TempDir()
		r.opts = kubelet.Options{NodeName: "n1", ClusterDNS: []string{"10.96.0.10"}, RootDir: filepath.Join(dir, "kubelet"), LogDir: filepath.Join(dir, "logs"), NoCgroups: true, StopPods: true, DiskForMemory: true, Host: r.host,
			StaticPodInterval: 2 * time.Second,
			Capacity:          corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")}}
		if prepare != nil {
			prepare(r)
		}
		ctx, cancel := context.WithCancel(t.Context())
		dial, wait := r.rt.Serve(ctx)
		r.opts.RuntimeDial = dial
		r.start()
		time.Sleep(3 * time.Second)
		f(r)
		r.stop()
		cancel()
		wait()
	})
}

func (r *rig) start() {
	r.line = newLine(r.c.Conn(r.user...))
	r.line.intercept = r.intercept
	conn := client.Conn(r.line)
	if r.observe != nil {
		conn = client.Observe(conn, r.observe)
	}
	if r.wrap != nil {
		conn = r.wrap(conn)
	}
	if r.alone {
		conn = nil
	}
	k, err := kubelet.New(conn, r.opts)
	require.NoError(r.t, err)
	r.k, r.stop = k, r.c.Run(k)
}

// pod makes a pod of containers, bound to the node.
func (r *rig) pod(name string, edit func(*corev1.Pod), containers ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.NodeName = "n1"
	for _, c := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c, Image: "img", ImagePullPolicy: corev1.PullIfNotPresent})
	}
	if edit != nil {
		edit(p)
	}
	mountUnused(p)
	return controllertest.Create(r.c, p)
}

// mountUnused mounts the volumes that no container of a pod mounts into its first one, so that they are made.
func mountUnused(p *corev1.Pod) {
	used := map[string]bool{}
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for _, c := range list {
			for _, m := range c.VolumeMounts {
				used[m.Name] = true
			}
			for _, d := range c.VolumeDevices {
				used[d.Name] = true
			}
		}
	}
	for _, v := range p.Spec.Volumes {
		if c := &p.Spec.Containers[0]; !used[v.Name] {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/unused/" + v.Name})
		}
	}
}

func (r *rig) get(name string) *corev1.Pod {
	return controllertest.Get[*corev1.Pod](r.c, "default", name)
}

func (r *rig) exists(name string) bool {
	return controllertest.Exists[*corev1.Pod](r.c, "default", name)
}

func (r *rig) delete(name string, grace int64) {
	controllertest.Delete[*corev1.Pod](r.c, "default", name, client.DeleteOptions{GracePeriodSeconds: &grace})
}

func ready(p *corev1.Pod) bool { return truth(p, corev1.PodReady) }

func truth(p *corev1.Pod, t corev1.PodConditionType) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == t {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func TestAPodRunsAndGoes(t *testing.T) {
	var deletes, statuses atomic.Int32
	var r0 *rig
	bubble(t, func(r *rig) {
		r0 = r
		r.rt.Play = func(*cri.ContainerConfig) fakecri.Script { return fakecri.Script{StopAfter: 5 * time.Second} }
		r.observe = func(w client.Write) {
			if w.Resource.Resource != "pods" {
				return
			}
			if w.Verb == "delete" {
				deletes.Add(1)
				require.Empty(r0.t, r0.rt.Running(), "the object goes after the containers")
			} else if w.Subresource == "status" {
				statuses.Add(1)
			}
		}
	}, func(r *rig) {
		node := controllertest.Get[*corev1.Node](r.c, "", "n1")
		require.Equal(t, "n1", node.Labels["kubernetes.io/hostname"])
		require.Equal(t, "fake://1", node.Status.NodeInfo.ContainerRuntimeVersion)
		lease := controllertest.Get[*coordinationv1.Lease](r.c, "kube-node-lease", "n1")
		before := lease.Spec.RenewTime.Time

		r.pod("web", nil, "a", "b")
		time.Sleep(2 * time.Second)
		p := r.get("web")
		require.True(t, ready(p))
		require.Equal(t, corev1.PodRunning, p.Status.Phase)
		require.NotEmpty(t, p.Status.PodIP)
		require.Equal(t, []string{"web/a", "web/b"}, r.rt.Running())
		written := statuses.Load()
		time.Sleep(10 * time.Minute)
		require.Equal(t, written, statuses.Load(), "nothing happened, nothing is written")
		require.LessOrEqual(t, written, int32(4))
		lease = controllertest.Get[*coordinationv1.Lease](r.c, "kube-node-lease", "n1")
		require.Less(t, time.Since(lease.Spec.RenewTime.Time), 11*time.Second)
		require.True(t, lease.Spec.RenewTime.After(before))

		r.delete("web", 30)
		time.Sleep(4 * time.Second)
		require.True(t, r.exists("web"))
		time.Sleep(4 * time.Second)
		require.False(t, r.exists("web"))
		require.EqualValues(t, 1, deletes.Load())
		boxes, containers := r.rt.Counts()
		require.Zero(t, boxes+containers)
		entries, err := os.ReadDir(filepath.Join(r.opts.RootDir, "pods"))
		require.NoError(t, err)
		require.Empty(t, entries)
	})
}

func TestAShorterGracePeriodCounts(t *testing.T) {
	bubble(t, func(r *rig) {
		r.rt.Play = func(*cri.ContainerConfig) fakecri.Script { return fakecri.Script{StopAfter: time.Hour} }
	}, func(r *rig) {
		r.pod("slow", nil, "a")
		time.Sleep(2 * time.Second)
		r.delete("slow", 300)
		time.Sleep(10 * time.Second)
		require.Equal(t, []string{"slow/a"}, r.rt.Running())
		r.delete("slow", 1)
		time.Sleep(3 * time.Second)
		require.False(t, r.exists("slow"))
		require.Empty(t, r.rt.Running())
	})
}

func TestCrashesBackOff(t *testing.T) {
	bubble(t, func(r *rig) {
		r.rt.Play = func(*cri.ContainerConfig) fakecri.Script {
			return fakecri.Script{RunFor: 500 * time.Millisecond, ExitCode: 1}
		}
	}, func(r *rig) {
		r.pod("crash", nil, "a")
		time.Sleep(9 * time.Second)
		p := r.get("crash")
		st := p.Status.ContainerStatuses[0]
		require.EqualValues(t, 1, st.RestartCount, "the first restart comes at once")
		require.Equal(t, "CrashLoopBackOff", st.State.Waiting.Reason)
		require.Contains(t, st.State.Waiting.Message, "back-off 10s restarting failed container=a pod=crash_default(")
		require.EqualValues(t, 1, st.LastTerminationState.Terminated.ExitCode)
		require.Equal(t, corev1.PodRunning, p.Status.Phase)
		// 10, 20, 40, 80, 160, 300, 300 ... seconds between an end and the next start.
		at := func(d time.Duration) int32 {
			time.Sleep(d)
			return r.get("crash").Status.ContainerStatuses[0].RestartCount
		}
		require.EqualValues(t, 2, at(10*time.Second))
		require.EqualValues(t, 3, at(21*time.Second))
		require.EqualValues(t, 4, at(42*time.Second))
		require.EqualValues(t, 5, at(83*time.Second))
		require.EqualValues(t, 6, at(164*time.Second))
		require.EqualValues(t, 7, at(305*time.Second))
		require.EqualValues(t, 10, at(3*303*time.Second))
		_, containers := r.rt.Counts()
		require.LessOrEqual(t, containers, 2, "one dead run is kept")
	})
}

func TestInitContainersAndSidecars(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	var failures atomic.Int32
	failures.Store(2)
	bubble(t, func(r *rig) {
		r.rt.Play = func(c *cri.ContainerConfig) fakecri.Script {
			switch c.Metadata.Name {
			case "first":
				if failures.Add(-1) >= 0 {
					return fakecri.Script{RunFor: time.Second, ExitCode: 1}
				}
				return fakecri.Script{RunFor: time.Second}
			case "main":
				return fakecri.Script{RunFor: 30 * time.Second}
			}
			return fakecri.Script{}
		}
		r.rt.Execute = func(c *cri.ContainerConfig, _ []string) (string, int32) { return "", 0 }
	}, func(r *rig) {
		r.pod("job", func(p *corev1.Pod) {
			p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
			p.Spec.InitContainers = []corev1.Container{
				{Name: "side", Image: "img", ImagePullPolicy: corev1.PullNever, RestartPolicy: &always,
					StartupProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}}, InitialDelaySeconds: 5}},
				{Name: "first", Image: "img", ImagePullPolicy: corev1.PullNever},
			}
		}, "main")
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"job/side"}, r.rt.Running(), "the others wait for the sidecar's startup probe")
		require.Equal(t, corev1.PodPending, r.get("job").Status.Phase)
		time.Sleep(4 * time.Second)
		require.Equal(t, corev1.PodPending, r.get("job").Status.Phase)
		time.Sleep(15 * time.Second) // two failures, of which the second waits ten seconds
		require.Equal(t, []string{"job/main", "job/side"}, r.rt.Running())
		p := r.get("job")
		require.EqualValues(t, 2, p.Status.InitContainerStatuses[1].RestartCount)
		require.True(t, truth(p, corev1.PodInitialized))
		require.True(t, ready(p))
		time.Sleep(35 * time.Second)
		p = r.get("job")
		require.Equal(t, corev1.PodSucceeded, p.Status.Phase)
		require.NotNil(t, p.Status.InitContainerStatuses[0].State.Terminated, "the sidecar ended last")
		require.Empty(t, r.rt.Running())
		r.delete("job", 30)
		time.Sleep(2 * time.Second)
		require.False(t, r.exists("job"))
	})
}

func TestProbes(t *testing.T) {
	var healthy, accepting atomic.Bool
	healthy.Store(true)
	bubble(t, func(r *rig) {
		r.rt.Execute = func(_ *cri.ContainerConfig, cmd []string) (string, int32) {
			if cmd[0] == "live" && !healthy.Load() || cmd[0] == "ready" && !accepting.Load() {
				return "not " + cmd[0], 1
			}
			return "", 0
		}
	}, func(r *rig) {
		probe := func(cmd string, failures int32) *corev1.Probe {
			return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{cmd}}}, PeriodSeconds: 1, FailureThreshold: failures}
		}
		r.pod("web", func(p *corev1.Pod) {
			p.Spec.Containers[0].LivenessProbe, p.Spec.Containers[0].ReadinessProbe = probe("live", 3), probe("ready", 1)
		}, "a")
		time.Sleep(4 * time.Second)
		require.False(t, ready(r.get("web")))
		require.Equal(t, corev1.PodRunning, r.get("web").Status.Phase)
		accepting.Store(true)
		time.Sleep(2 * time.Second)
		require.True(t, ready(r.get("web")))
		healthy.Store(false)
		time.Sleep(1500 * time.Millisecond)
		require.Zero(t, r.get("web").Status.ContainerStatuses[0].RestartCount, "the threshold is three")
		// The third failure is 2 s to 3 s after the change, so the new container fails at most twice.
		time.Sleep(1700 * time.Millisecond)
		healthy.Store(true)
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1, r.get("web").Status.ContainerStatuses[0].RestartCount)
		time.Sleep(3 * time.Second)
		require.True(t, ready(r.get("web")))
		var reasons []string
		for _, e := range controllertest.List[*corev1.Event](r.c, "default") {
			reasons = append(reasons, e.Reason+": "+e.Message)
		}
		require.Contains(t, reasons, "Unhealthy: Liveness probe failed: not live")
		require.Contains(t, reasons, "Killing: Container a failed liveness probe, will be restarted")
	})
}

func TestALostSandboxIsReplaced(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(2 * time.Second)
		ip := r.get("web").Status.PodIP
		r.rt.KillSandbox("web")
		time.Sleep(3 * time.Second)
		p := r.get("web")
		require.True(t, ready(p))
		require.NotEqual(t, ip, p.Status.PodIP)
		require.EqualValues(t, 1, p.Status.ContainerStatuses[0].RestartCount)

		r.rt.Forget()
		time.Sleep(3 * time.Second)
		p = r.get("web")
		require.True(t, ready(p))
		require.EqualValues(t, 2, p.Status.ContainerStatuses[0].RestartCount, "counts survive the runtime")
	})
}

func TestARestartedKubeletLeavesPodsAlone(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.StopPods = false }, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) {
			p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}}, InitialDelaySeconds: 20}
		}, "a")
		r.pod("gone", nil, "a")
		time.Sleep(25 * time.Second)
		before := r.get("web")
		require.True(t, ready(before))
		r.stop()
		require.Equal(t, []string{"gone/a", "web/a"}, r.rt.Running())
		r.delete("gone", 0)
		starts := r.rt.Calls("StartContainer")
		r.opts.StopPods = true
		r.start()
		time.Sleep(time.Minute)
		after := r.get("web")
		require.Equal(t, before.Status, after.Status)
		require.Equal(t, before.ResourceVersion, after.ResourceVersion, "nothing was written")
		require.Equal(t, starts, r.rt.Calls("StartContainer"))
		require.Equal(t, []string{"web/a"}, r.rt.Running(), "what has no object any more is removed")
	})
}

func TestImagesThatCannotBePulled(t *testing.T) {
	var there atomic.Bool
	bubble(t, func(r *rig) {
		r.rt.Pull = func(string, *cri.AuthConfig) error {
			if there.Load() {
				return nil
			}
			return errors.New("no such image")
		}
	}, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "other" }, "a")
		r.pod("never", func(p *corev1.Pod) {
			p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = "other", corev1.PullNever
		}, "a")
		reason := func(name string) string {
			if w := r.get(name).Status.ContainerStatuses[0].State.Waiting; w != nil {
				return w.Reason
			}
			return ""
		}
		time.Sleep(500 * time.Millisecond)
		require.Equal(t, "ErrImagePull", reason("web"))
		require.Equal(t, "ErrImageNeverPull", reason("never"))
		time.Sleep(3 * time.Second)
		require.Equal(t, "ImagePullBackOff", reason("web"))
		require.Equal(t, 1, r.rt.Calls("PullImage"))
		time.Sleep(10 * time.Second)
		require.Equal(t, 2, r.rt.Calls("PullImage"))
		there.Store(true)
		time.Sleep(30 * time.Second)
		require.True(t, ready(r.get("web")))
	})
}

func TestPodsThatDoNotFitAreRefused(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		cpu := func(n string) func(*corev1.Pod) {
			return func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
			}
		}
		r.pod("first", cpu("3"), "a")
		time.Sleep(2 * time.Second)
		r.pod("second", cpu("2"), "a")
		time.Sleep(2 * time.Second)
		p := r.get("second")
		require.Equal(t, corev1.PodFailed, p.Status.Phase)
		require.Equal(t, "OutOfcpu", p.Status.Reason)
		require.Equal(t, "Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000", p.Status.Message)
		require.Equal(t, []string{"first/a"}, r.rt.Running())
	})
}

func TestStaticPods(t *testing.T) {
	var dir string
	bubble(t, func(r *rig) {
		dir = filepath.Join(filepath.Dir(r.opts.RootDir), "manifests")
		require.NoError(r.t, os.Mkdir(dir, 0o755))
		r.opts.StaticPodDir = dir
	}, func(r *rig) {
		write := func(image string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), fmt.Appendf(nil,
				"apiVersion: v1\nkind: Pod\nmetadata: {name: s}\nspec: {containers: [{name: a, image: %s, imagePullPolicy: Never}]}\n", image), 0o644))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("kind: [\n"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "secret.yaml"), []byte(
			"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: a, image: img}], volumes: [{name: v, secret: {secretName: y}}]}\n"), 0o644))
		write("img")
		time.Sleep(5 * time.Second)
		p := r.get("s-n1")
		require.True(t, ready(p))
		require.Equal(t, "file", p.Annotations["kubernetes.io/config.source"])
		require.Equal(t, p.Annotations["kubernetes.io/config.hash"], p.Annotations["kubernetes.io/config.mirror"])
		require.Equal(t, "Node", p.OwnerReferences[0].Kind)
		starts := r.rt.Calls("StartContainer")

		r.delete("s-n1", 0)
		time.Sleep(5 * time.Second)
		again := r.get("s-n1")
		require.NotEqual(t, p.UID, again.UID)
		require.True(t, ready(again))
		require.Equal(t, starts, r.rt.Calls("StartContainer"))
		require.False(t, r.exists("x-n1"))

		require.NoError(t, os.Remove(filepath.Join(dir, "a.yaml")))
		time.Sleep(5 * time.Second)
		require.False(t, r.exists("s-n1"))
		require.Empty(t, r.rt.Running())
	})
}

func TestEnvironmentAndVolumes(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		controllertest.Create(r.c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "cm"), Data: map[string]string{"k": "v"}})
		db := controllertest.Create(r.c, &corev1.Service{ObjectMeta: controllertest.Name("default", "my-db"),
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "sql", Port: 5432}}}}).Spec.ClusterIP
		time.Sleep(time.Second)
		r.pod("web", func(p *corev1.Pod) {
			c := &p.Spec.Containers[0]
			c.EnvFrom = []corev1.EnvFromSource{{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}}}
			c.Env = []corev1.EnvVar{
				{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
				{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
				{Name: "URL", Value: "$(MY_DB_SERVICE_HOST):$(MY_DB_SERVICE_PORT_SQL) $(NODE) $(P_k) $(LATER)"},
				{Name: "LATER", Value: "x"},
			}
			c.Command = []string{"run", "$(NODE)", "$$(NODE)", "$(NONE)"}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "cm", MountPath: "/cm"}, {Name: "scratch", MountPath: "/scratch"}}
			p.Spec.Volumes = []corev1.Volume{
				{Name: "cm", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"},
					Items: []corev1.KeyToPath{{Key: "k", Path: "sub/key"}}}}},
				{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			}
		}, "a")
		time.Sleep(2 * time.Second)
		c := r.rt.Config("web", "a")
		require.NotNil(t, c)
		env := map[string]string{}
		for _, e := range c.Envs {
			env[e.Key] = string(e.Value)
		}
		require.Equal(t, db+":5432 n1 v $(LATER)", env["URL"])
		require.Equal(t, "n1", env["NODE"])
		require.Equal(t, r.get("web").Status.PodIP, env["IP"])
		require.Equal(t, "tcp://"+db+":5432", env["MY_DB_PORT"])
		require.Equal(t, "v", env["P_k"])
		require.Equal(t, []string{"run", "n1", "$(NODE)", "$(NONE)"}, c.Command)
		source := func(path string) string {
			i := slices.IndexFunc(c.Mounts, func(m *cri.Mount) bool { return m.ContainerPath == path })
			require.GreaterOrEqual(t, i, 0, path)
			return c.Mounts[i].HostPath
		}
		b, err := os.ReadFile(filepath.Join(source("/cm"), "sub", "key"))
		require.NoError(t, err)
		require.Equal(t, "v", string(b))
		require.DirExists(t, source("/scratch"))
		hosts, err := os.ReadFile(source("/etc/hosts"))
		require.NoError(t, err)
		require.Contains(t, string(hosts), r.get("web").Status.PodIP+"\tweb\n")

		controllertest.Update(r.c, "default", "cm", func(cm *corev1.ConfigMap) { cm.Data["k"] = "changed" })
		time.Sleep(2 * time.Minute)
		b, err = os.ReadFile(filepath.Join(source("/cm"), "sub", "key"))
		require.NoError(t, err)
		require.Equal(t, "changed", string(b))
		r.pod("waits", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "late"}}}}
		}, "a")
		time.Sleep(5 * time.Second)
		require.Equal(t, "ContainerCreating", r.get("waits").Status.ContainerStatuses[0].State.Waiting.Reason)
		controllertest.Create(r.c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "late"}})
		time.Sleep(12 * time.Second)
		require.True(t, ready(r.get("waits")))
	})
}
