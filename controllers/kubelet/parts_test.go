package kubelet

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

func TestExpand(t *testing.T) {
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"A": "a", "EMPTY": "", "NESTED": "$(A)"}[name]
		return v, ok
	}
	for in, want := range map[string]string{
		"": "", "plain": "plain", "$(A)": "a", "x$(A)y$(A)": "xaya", "$(B)": "$(B)", "$$(A)": "$(A)", "$$$(A)": "$a", "$$$$(A)": "$$(A)",
		"$(A": "$(A", "$A": "$A", "$": "$", "a$": "a$", "$()": "$()", "$(EMPTY)|": "|", "$(NESTED)": "$(A)", "$$": "$", "$(": "$(", "$(A)$": "a$",
	} {
		require.Equal(t, want, expand(in, lookup), in)
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("$(A) $$(A) $(")
	f.Fuzz(func(t *testing.T, s string) {
		out := expand(s, func(string) (string, bool) { return "", false })
		if !strings.Contains(s, "$$") {
			require.Equal(t, s, out, "what is unknown stays")
		}
	})
}

func TestSwapFiles(t *testing.T) {
	dir := t.TempDir()
	read := func(path string) string {
		b, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return "none"
		}
		return string(b)
	}
	f := func(text string) file { return file{[]byte(text), 0o640, -1} }
	require.NoError(t, swapFiles(dir, map[string]file{"a": f("1"), "d/b": f("2"), "d/c": f("3")}, -1))
	require.Equal(t, "1 2 3", read("a")+" "+read("d/b")+" "+read("d/c"))
	first, err := os.Readlink(filepath.Join(dir, dataLink))
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(dir, "a"))
	require.NoError(t, err)
	require.EqualValues(t, 0o640, info.Mode().Perm())

	require.NoError(t, swapFiles(dir, map[string]file{"a": f("1"), "d/b": f("2"), "d/c": f("3")}, -1))
	same, err := os.Readlink(filepath.Join(dir, dataLink))
	require.NoError(t, err)
	require.Equal(t, first, same, "nothing changed, nothing is written")

	require.NoError(t, swapFiles(dir, map[string]file{"d/b": f("4"), "e": f("")}, -1))
	require.Equal(t, "none 4 none ", read("a")+" "+read("d/b")+" "+read("d/c")+" "+read("e"))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 4, "one version, ..data, d and e")

	for _, bad := range []string{"/abs", "../up", "a/../../b", "..data", ""} {
		require.Error(t, swapFiles(dir, map[string]file{bad: f("x")}, -1), bad)
	}
	require.Equal(t, "4", read("d/b"))
}

// TestSwapIsAtOnce reads while versions change: a reader that holds a version's folder sees only its files.
func TestSwapIsAtOnce(t *testing.T) {
	dir := t.TempDir()
	version := func(n int) map[string]file {
		text := []byte(fmt.Sprint(n))
		return map[string]file{"a": {text, 0o644, -1}, "b": {text, 0o644, -1}}
	}
	require.NoError(t, swapFiles(dir, version(0), -1))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 200 {
			if err := swapFiles(dir, version(n), -1); err != nil {
				t.Error(err)
			}
		}
	}()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		target, err := os.Readlink(filepath.Join(dir, dataLink))
		require.NoError(t, err, "..data is always there")
		a, errA := os.ReadFile(filepath.Join(dir, target, "a"))
		b, errB := os.ReadFile(filepath.Join(dir, target, "b"))
		if errA == nil && errB == nil {
			require.Equal(t, string(a), string(b))
		}
	}
}

func TestCopyLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	line := func(second int, stream, tag, text string) string {
		return fmt.Sprintf("2024-05-01T00:00:%02d.5Z %s %s %s\n", second, stream, tag, text)
	}
	require.NoError(t, os.WriteFile(path, []byte(line(1, "stdout", "F", "one")+line(2, "stderr", "F", "two")+line(3, "stdout", "P", "thr")+
		line(3, "stdout", "F", "ee")+"garbage\n"+line(4, "stdout", "F", "")), 0o600))
	get := func(w logWindow) string {
		var b bytes.Buffer
		require.NoError(t, copyLog(t.Context(), path, w, false, nil, &b))
		return b.String()
	}
	require.Equal(t, "one\ntwo\nthree\n\n", get(logWindow{tail: -1}))
	require.Equal(t, "two\n", get(logWindow{tail: -1, stream: "stderr"}))
	require.Equal(t, "\n", get(logWindow{tail: 1}))
	require.Equal(t, "", get(logWindow{tail: 0}))
	require.Equal(t, "one\ntwo\nthree\n\n", get(logWindow{tail: 100}))
	require.Equal(t, "three\n\n", get(logWindow{tail: -1, since: time.Date(2024, 5, 1, 0, 0, 3, 0, time.UTC)}))
	require.Equal(t, "2024-05-01T00:00:03.5Z three\n2024-05-01T00:00:04.5Z \n",
		get(logWindow{tail: -1, timestamps: true, since: time.Date(2024, 5, 1, 0, 0, 3, 0, time.UTC)}))
	require.Error(t, copyLog(t.Context(), path+"x", logWindow{tail: -1}, false, nil, &bytes.Buffer{}))
}

func TestFollowSeesEveryLineAcrossRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	add := func(from, to int) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		for i := from; i < to; i++ {
			_, _ = fmt.Fprintf(f, "2024-05-01T00:00:00Z stdout F %d\n", i)
		}
		require.NoError(t, f.Close())
	}
	add(0, 100)
	step := 0
	running := func() bool { // asked only when all there is has been read
		step++
		switch step {
		case 1:
			add(100, 200)
		case 2:
			require.NoError(t, os.Rename(path, path+".1"))
			add(200, 300)
		case 3:
			add(300, 301)
			return false
		}
		return true
	}
	var b bytes.Buffer
	require.NoError(t, copyLog(t.Context(), path, logWindow{tail: -1}, true, running, &b))
	var want strings.Builder
	for i := range 301 {
		fmt.Fprintln(&want, i)
	}
	require.Equal(t, want.String(), b.String())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, copyLog(ctx, path, logWindow{tail: -1}, true, func() bool { return true }, &b), "the reader goes")
}

func FuzzParseLogLine(f *testing.F) {
	f.Add([]byte("2024-05-01T00:00:00Z stdout F text\n"))
	f.Add([]byte("2024-05-01T00:00:00Z stderr P\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseLogLine(b)
		if err == nil {
			require.Contains(t, []string{"stdout", "stderr"}, l.stream)
			require.LessOrEqual(t, len(l.text), len(b))
		}
	})
}

func TestResourcesOfContainers(t *testing.T) {
	q := resource.MustParse
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: q("250m"), corev1.ResourceMemory: q("1Gi")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: q("1"), corev1.ResourceMemory: q("2Gi")}}}}
	capacity := corev1.ResourceList{corev1.ResourceMemory: q("4Gi")}
	l := &limits{capacity: capacity, period: 100000}
	r := l.container(pod, &pod.Spec.Containers[0])
	require.EqualValues(t, 256, r.CpuShares)
	require.EqualValues(t, 100000, r.CpuPeriod)
	require.EqualValues(t, 100000, r.CpuQuota)
	require.EqualValues(t, 2<<30, r.MemoryLimitInBytes)
	require.EqualValues(t, 750, r.OomScoreAdj)

	// Those without which the node does not work are protected, not others of the system.
	priority := int32(2_000_001_000)
	pod.Spec.Priority, pod.Spec.PriorityClassName = &priority, "system-node-critical"
	require.EqualValues(t, -997, l.container(pod, &pod.Spec.Containers[0]).OomScoreAdj)
	pod.Spec.PriorityClassName = "system-cluster-critical"
	require.EqualValues(t, 750, l.container(pod, &pod.Spec.Containers[0]).OomScoreAdj)
	pod.Spec.Priority, pod.Spec.PriorityClassName = nil, "system-node-critical"
	require.EqualValues(t, 750, l.container(pod, &pod.Spec.Containers[0]).OomScoreAdj, "the class alone gives nothing")
	pod.Spec.PriorityClassName = ""

	// A sidecar is as safe as the container that requests the least; what the pod requests beyond its
	// containers is divided between them.
	pod.Spec.InitContainers = []corev1.Container{{Name: "side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
	require.EqualValues(t, 750, l.container(pod, &pod.Spec.InitContainers[0]).OomScoreAdj)
	pod.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: q("2Gi")}}
	require.EqualValues(t, 625, l.container(pod, &pod.Spec.Containers[0]).OomScoreAdj)
	require.EqualValues(t, 625, l.container(pod, &pod.Spec.InitContainers[0]).OomScoreAdj)
	pod.Spec.Resources, pod.Spec.InitContainers = nil, nil

	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	r = l.container(pod, &pod.Spec.Containers[0])
	require.EqualValues(t, 2, r.CpuShares)
	require.Zero(t, r.CpuQuota)
	require.EqualValues(t, 1000, r.OomScoreAdj)

	least := corev1.ResourceList{corev1.ResourceCPU: q("5m"), corev1.ResourceMemory: q("1Gi")}
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: least, Limits: least}
	r = l.container(pod, &pod.Spec.Containers[0])
	require.EqualValues(t, -997, r.OomScoreAdj)
	require.EqualValues(t, 5, r.CpuShares)
	require.EqualValues(t, 1000, r.CpuQuota, "the least the kernel takes")
	c := &cgroups{}
	pod.UID = "u"
	require.Equal(t, "/kubepods/podu", c.parent(pod))
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	require.Equal(t, "/kubepods/besteffort/podu", c.parent(pod))
}

func TestDNS(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	require.NoError(t, os.WriteFile(path, []byte("# c\nnameserver 192.0.2.1\nsearch example.com .\noptions ndots:2 rotate\n"), 0o600))
	k := &Kubelet{opts: Options{ResolvConf: path, ClusterDNS: []string{"10.96.0.10"}, ClusterDomain: "cluster.local"}}
	pod := &corev1.Pod{}
	pod.Namespace = "ns"
	show := func() string {
		c, err := k.dns(pod)
		require.NoError(t, err)
		return fmt.Sprint(c.Servers, c.Searches, c.Options)
	}
	pod.Spec.DNSPolicy = corev1.DNSClusterFirst
	require.Equal(t, "[10.96.0.10] [ns.svc.cluster.local svc.cluster.local cluster.local example.com] [ndots:5]", show())
	pod.Spec.HostNetwork = true
	require.Equal(t, "[192.0.2.1] [example.com] [ndots:2 rotate]", show())
	pod.Spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	require.Equal(t, "[10.96.0.10] [ns.svc.cluster.local svc.cluster.local cluster.local example.com] [ndots:5]", show())
	pod.Spec.DNSPolicy = corev1.DNSNone
	one := "1"
	pod.Spec.DNSConfig = &corev1.PodDNSConfig{Nameservers: []string{"192.0.2.9"}, Searches: []string{"a"}, Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: &one}, {Name: "edns0"}}}
	require.Equal(t, "[192.0.2.9] [a] [ndots:1 edns0]", show())

	pod.Spec.DNSConfig = nil
	for ips, want := range map[string]string{"": "[127.0.0.1]", "192.0.2.1": "[127.0.0.1]", "2001:db8::1": "[::1]", "2001:db8::1,192.0.2.1": "[::1 127.0.0.1]"} {
		given, _, err := ParseNodeIPs(ips)
		require.NoError(t, err)
		k.opts = Options{NoResolvConf: true, NodeIPs: given, ResolvConf: path, ClusterDNS: k.opts.ClusterDNS, ClusterDomain: "cluster.local"}
		pod.Spec.DNSPolicy = corev1.DNSDefault
		require.Equal(t, want+" [.] []", show(), "without a resolv.conf it is the resolver of the pod")
		pod.Spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
		require.Equal(t, "[10.96.0.10] [ns.svc.cluster.local svc.cluster.local cluster.local] [ndots:5]", show())
	}
}

func TestPhases(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
	crashed := corev1.ContainerStatus{State: waiting, LastTerminationState: ended(1)}
	of := func(states ...corev1.ContainerState) (list []corev1.ContainerStatus) {
		for _, s := range states {
			list = append(list, corev1.ContainerStatus{State: s})
		}
		return list
	}
	for _, c := range []struct {
		policy corev1.RestartPolicy
		init   []corev1.ContainerStatus
		main   []corev1.ContainerStatus
		want   corev1.PodPhase
	}{
		{"Always", nil, of(running, running), corev1.PodRunning},
		{"Always", nil, of(running, waiting), corev1.PodPending},
		{"Always", nil, of(ended(0)), corev1.PodRunning},
		{"Always", nil, []corev1.ContainerStatus{crashed}, corev1.PodRunning},
		{"OnFailure", nil, of(ended(1)), corev1.PodRunning},
		{"OnFailure", nil, of(ended(0), ended(0)), corev1.PodSucceeded},
		{"OnFailure", nil, of(ended(0), running), corev1.PodRunning},
		{"Never", nil, of(ended(0), ended(2)), corev1.PodFailed},
		{"Never", nil, of(ended(2), running), corev1.PodRunning},
		{"Never", of(ended(2)), of(waiting), corev1.PodFailed},
		{"Always", of(ended(2)), of(waiting), corev1.PodPending},
		{"Never", of(ended(0)), of(running), corev1.PodRunning},
	} {
		pod := &corev1.Pod{}
		pod.Spec.RestartPolicy = c.policy
		pod.Spec.InitContainers = make([]corev1.Container, len(c.init))
		pod.Spec.Containers = make([]corev1.Container, len(c.main))
		require.Equal(t, c.want, phaseOf(pod, &corev1.PodStatus{InitContainerStatuses: c.init, ContainerStatuses: c.main}), "%+v", c)
	}
}

func TestResourceField(t *testing.T) {
	q := resource.MustParse
	c := &corev1.Container{Name: "a", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: q("1500m"), corev1.ResourceMemory: q("100Mi")}}}
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{*c}
	get := func(name, divisor string) string {
		ref := &corev1.ResourceFieldSelector{Resource: name}
		if divisor != "" {
			ref.Divisor = q(divisor)
		}
		v, err := resourceField(pod, c, ref, corev1.ResourceList{corev1.ResourceEphemeralStorage: q("7Gi")})
		require.NoError(t, err)
		return v
	}
	require.Equal(t, "2", get("limits.cpu", ""))
	require.Equal(t, "1500", get("limits.cpu", "1m"))
	require.Equal(t, "100", get("limits.memory", "1Mi"))
	require.Equal(t, "1", get("limits.memory", "1Gi"))
	require.Equal(t, "0", get("requests.memory", ""))
	require.Equal(t, "7", get("limits.ephemeral-storage", "1Gi"), "without a limit, what the node has")
	_, err := resourceField(pod, c, &corev1.ResourceFieldSelector{Resource: "cpu"}, nil)
	require.Error(t, err)
}

// The health turns bad when a round of the loop takes more than five minutes, or twice the time between syncs
// if that is longer, although the runtime is listed; and good again with the next round.
func TestALoopThatHangs(t *testing.T) {
	for sync, limit := range map[time.Duration]time.Duration{time.Minute: 5 * time.Minute, 10 * time.Minute: 20 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			k := &Kubelet{opts: Options{SyncInterval: sync}, pleg: &pleg{}, progress: progress{log: slog.New(slog.DiscardHandler)}}
			k.progress.enter(phaseServers)
			pass := func(d time.Duration) {
				time.Sleep(d)
				k.pleg.last = time.Now()
			}
			pass(0)
			require.EqualError(t, k.Healthy(), `the kubelet is starting, phase "HTTP and gRPC servers"`)
			k.progress.round()
			pass(limit)
			require.NoError(t, k.Healthy())
			pass(time.Second)
			require.EqualError(t, k.Healthy(), "sync Loop took longer than expected")
			k.progress.round()
			require.NoError(t, k.Healthy())
			time.Sleep(deadAfter + time.Second)
			require.ErrorContains(t, k.Healthy(), "the container runtime was last listed")
		})
	}
}

// Where no file system can be mounted, secrets are written to the disk only if the options allow it.
func TestSecretsOnDisk(t *testing.T) {
	k := &Kubelet{mounts: folders{}}
	require.ErrorIs(t, k.inMemory(t.TempDir(), 0), errNoMounts)
	k.opts.DiskForMemory = true
	require.NoError(t, k.inMemory(t.TempDir(), 0))
}

// The sums are those of Kubernetes 1.36.3, whose kubelet would restart containers with others.
func TestHashOfContainers(t *testing.T) {
	require.Equal(t, "470421b4", hashOf(&corev1.Container{Name: "web", Image: "busybox", Command: []string{"does not count"}}))
	require.Equal(t, "c803af18", hashOf(&corev1.Container{Name: "a", Image: "r<>&/x:1"}))
}

func TestNotesForOthers(t *testing.T) {
	pod := &corev1.Pod{}
	c := &corev1.Container{}
	notes := map[string]string{}
	require.NoError(t, annotateForOthers(notes, pod, c))
	require.Empty(t, notes)
	pod.DeletionGracePeriodSeconds, pod.Spec.TerminationGracePeriodSeconds = new(int64(3)), new(int64(30))
	c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
	c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"stop"}}}}
	require.NoError(t, annotateForOthers(notes, pod, c))
	require.Equal(t, map[string]string{
		"io.kubernetes.pod.deletionGracePeriod": "3", "io.kubernetes.pod.terminationGracePeriod": "30",
		"io.kubernetes.container.preStopHandler": `{"exec":{"command":["stop"]}}`,
		"io.kubernetes.container.ports":          `[{"name":"http","containerPort":80,"protocol":"TCP"}]`,
	}, notes)
}

// Static pods may still name their AppArmor profiles in annotations, by container, which the API server does
// not turn into fields for them. A field of the container comes first, the one of the pod last.
func TestAppArmorAnnotations(t *testing.T) {
	const prefix = "container.apparmor.security.beta.kubernetes.io/"
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}}}
	a, b := &pod.Spec.Containers[0], &pod.Spec.Containers[1]
	profile := func(c *corev1.Container) string {
		p := appArmorProfile(pod, c)
		if p == nil {
			return ""
		}
		sec := &cri.LinuxContainerSecurityContext{}
		require.NoError(t, setAppArmor(sec, p))
		require.Equal(t, enforced(p), unsupportedContainer(pod, c, false) != nil, "a machine without AppArmor cannot enforce it")
		return fmt.Sprint(sec.ApparmorProfile, " ", sec.Apparmor.ProfileType) //nolint:staticcheck // older runtimes
	}
	for note, want := range map[string]string{"": "", "runtime/default": "runtime/default RuntimeDefault", "unconfined": "unconfined Unconfined",
		"localhost/mine": "localhost/mine Localhost", "other": ""} {
		pod.Annotations = map[string]string{prefix + "a": note}
		require.Equal(t, want, profile(a), note)
		require.Empty(t, profile(b))
	}
	pod.Annotations = map[string]string{prefix + "a": "localhost/"}
	require.Contains(t, unsupportedContainer(pod, a, true).message, "the profile of container a has no name")
	pod.Annotations = map[string]string{prefix + "a": "runtime/default"}
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}}
	require.Equal(t, "runtime/default RuntimeDefault", profile(a))
	require.Equal(t, "unconfined Unconfined", profile(b))
	a.SecurityContext = &corev1.SecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("own")}}
	require.Equal(t, "localhost/own Localhost", profile(a))
}
