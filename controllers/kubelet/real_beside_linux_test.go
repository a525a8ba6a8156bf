package kubelet_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// TestRealBeside runs the kubelet of Kubernetes and this one on the same containerd.
func TestRealBeside(t *testing.T) {
	seeds.Peer(t, "kubelet")
	inNamespace(t, func(t *testing.T) {
		n := startReal(t)
		t.Cleanup(n.unmountAll) // what the other kubelet has left, if a test has failed
		n.until("node ready", has(" Ready "), "get", "node", "node1", "--no-headers")
		n.until("service account", has("default"), "get", "serviceaccount", "default", "-o", "name")
		t.Run("top", func(t *testing.T) { n.t = t; n.testTop() })
		t.Run("swap", func(t *testing.T) { n.t = t; n.testSwap() })
	})
}

var topManifest = runs("busy", `sh, -c, "until [ -e /go ]; do sleep 1; done; while :; do :; done"`, "limits: {cpu: 300m, memory: 32Mi}") + `---
apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec: {ports: [{name: https, port: 443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: metrics-server, namespace: kube-system, labels: {kubernetes.io/service-name: metrics-server}}
addressType: IPv4
ports: [{name: https, port: PORT}]
endpoints: [{addresses: [10.244.7.1]}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec: {group: metrics.k8s.io, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {namespace: kube-system, name: metrics-server}}
`

// testTop lets metrics-server read the kubelet, and kubectl top read metrics-server through the API server.
func (n *realNode) testTop() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(n.t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(n.t, l.Close())
	n.apply(strings.ReplaceAll(topManifest, "PORT", strconv.Itoa(port)))
	n.until("busy runs", is("true"), "get", "pod", "busy", "-o", "jsonpath={.status.containerStatuses[0].ready}")
	log, err := os.Create(filepath.Join(n.dir, "metrics-server.log"))
	require.NoError(n.t, err)
	cmd := exec.Command(seeds.Peer(n.t, "metrics-server"), "--secure-port="+strconv.Itoa(port), "--cert-dir="+filepath.Join(n.dir, "metrics"),
		"--kubeconfig="+n.kubeconfig, "--authentication-kubeconfig="+n.kubeconfig, "--authorization-kubeconfig="+n.kubeconfig, "--kubelet-insecure-tls",
		"--kubelet-use-node-status-port", "--kubelet-preferred-address-types=InternalIP", "--metric-resolution=10s", "--kubelet-request-timeout=5s")
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(n.t, cmd.Start())
	n.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if n.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			n.t.Logf("metrics-server: %s", text[max(0, len(text)-5000):])
		}
		_ = log.Close()
	})
	// used is the CPU of the pod in thousandths of one, as kubectl prints it; -1 if it prints nothing.
	used := func(out string) int {
		milli := -1
		if f := strings.Fields(out); len(f) == 3 && f[0] == "busy" {
			_, _ = fmt.Sscanf(f[1], "%dm", &milli)
		}
		return milli
	}
	n.until("the pod is measured", func(out string) bool { return used(out) >= 0 && used(out) < 100 }, "top", "pod", "busy", "--no-headers")
	n.kubectl("exec", "busy", "--", "touch", "/go")
	n.until("it burns", func(out string) bool { return used(out) >= 150 }, "top", "pod", "busy", "--no-headers")
	require.Regexp(n.t, `^node1 +\d+m +\d+% +\d+Mi +\d+%`, n.kubectl("top", "node", "node1", "--no-headers"))
	n.kubectl("delete", "apiservice", "v1beta1.metrics.k8s.io")
	n.kubectl("delete", "pod", "busy")
}

// startUpstream starts the kubelet of Kubernetes on the node, with the settings of startKubelet.
func (n *realNode) startUpstream() (stop func()) {
	return n.startProgram(seeds.Peer(n.t, "kubelet"), "node1", n.runtime.Endpoint(), "syncFrequency: 2s\n"+n.ofUpstream()).stop
}

// ofUpstream are the settings that only the kubelet of Kubernetes needs: it reads plugins for volumes, which
// this one does not support, outside of the folder of the node otherwise.
func (n *realNode) ofUpstream() string {
	return "volumePluginDir: " + filepath.Join(n.dir, "volume-plugins") + "\n"
}

// kubeletProgram is a kubelet that runs as a process of its own.
type kubeletProgram struct {
	pid, port int
	stop      func() // may be called more than once
}

// startProgram starts a kubelet, of Kubernetes or of this project, with the settings of startKubelet and
// more.
func (n *realNode) startProgram(program, node, runtime, settings string) kubeletProgram {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(n.t, err)
	require.NoError(n.t, l.Close())
	port := l.Addr().(*net.TCPAddr).Port
	file := func(name string, b []byte) string {
		path := filepath.Join(n.dir, name)
		require.NoError(n.t, os.WriteFile(path, b, 0o600))
		return path
	}
	config := file("kubelet.yaml", fmt.Appendf(nil, `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
staticPodPath: %s
cgroupDriver: cgroupfs
cgroupRoot: %s
enforceNodeAllocatable: [none]
containerRuntimeEndpoint: %s
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
podLogsDir: %s
podPidsLimit: %d
evictionHard: {memory.available: 0%%, nodefs.available: 0%%, imagefs.available: 0%%, nodefs.inodesFree: 0%%}
imageGCHighThresholdPercent: 100
address: 127.0.0.1
port: %d
healthzPort: 0
tlsCertFile: %s
tlsPrivateKeyFile: %s
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: %s}}
authorization: {mode: AlwaysAllow}
%s`, n.static, n.cgroup(), runtime, filepath.Join(n.dir, "logs"), realPIDs, port, file("node.crt", n.pki.node.CertPEM()),
		file("node.key", n.pki.node.KeyPEM()), filepath.Join(n.dir, "ca.crt"), settings))
	log, err := os.Create(filepath.Join(n.dir, "program.log"))
	require.NoError(n.t, err)
	cmd := exec.Command(program, "--config="+config, "--kubeconfig="+n.kubeconfig, "--root-dir="+filepath.Join(n.dir, "kubelet"),
		"--hostname-override="+node, "--node-ip=127.0.0.1", "--cert-dir="+filepath.Join(n.dir, "pki"), "-v=2")
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(n.t, cmd.Start())
	stopped := false
	return kubeletProgram{pid: cmd.Process.Pid, port: port, stop: func() {
		if stopped {
			return
		}
		stopped = true
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = log.Close()
		if n.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			n.t.Logf("%s: %s", program, text[max(0, len(text)-20000):])
		}
	}}
}

// unmountAll takes away what is mounted in the folder of the node.
func (n *realNode) unmountAll() {
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(n.t, err)
	lines := strings.Split(string(mounts), "\n")
	slices.Reverse(lines)
	for _, line := range lines {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[1], n.dir+"/kubelet") {
			_ = syscall.Unmount(f[1], syscall.MNT_DETACH)
		}
	}
}

// runs are the containers of pods as the API shows them: what a restart changes. The kubelet of Kubernetes
// shows pods as not ready after its start until it has probed them, and static pods as begun then.
func (n *realNode) runs(pods ...string) (out string) {
	for _, pod := range pods {
		begun := "{.status.startTime}"
		if pod == "fixed-node1" {
			begun = ""
		}
		out += n.kubectl("get", "pod", pod, "-o", `jsonpath={.metadata.name} {.status.podIP} `+begun+`{range .status.containerStatuses[*]} {.containerID} {.restartCount} {.state.running.startedAt}{end}`+
			`{range .status.initContainerStatuses[*]} {.containerID} {.restartCount}{end}`) + "\n"
	}
	return out
}

// layout is what a kubelet has made for a pod: files, mounts, groups and what containerd was given, without
// the names and numbers that differ between two pods.
func (n *realNode) layout(pod string) []string {
	uid := n.kubectl("get", "pod", pod, "-o", "jsonpath={.metadata.uid}")
	numbers := regexp.MustCompile(`[0-9a-f]{64}|\.\.\d{4}_\d\d_\d\d_[\d_.]+|kube-api-access-\w+`)
	plain := func(s string) string {
		return numbers.ReplaceAllString(strings.NewReplacer(uid, "UID", "_"+pod+"_", "_POD_", "name:"+pod+" ", "name:POD ", n.dir, "DIR").Replace(s), "X")
	}
	found := map[string]bool{}
	walk := func(what, root string, depth int) {
		require.NoError(n.t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if strings.Count(rel, "/") > depth {
				return filepath.SkipDir
			}
			// The files of last words have random names.
			if strings.HasPrefix(rel, "containers/") && strings.Count(rel, "/") == 2 {
				rel = filepath.Dir(rel) + "/file"
			}
			info, ierr := d.Info()
			if ierr == nil {
				found[plain(fmt.Sprint(what, " ", rel, " ", info.Mode()))] = true
			}
			return err
		}))
	}
	walk("pod", filepath.Join(n.dir, "kubelet", "pods", uid), 6)
	walk("log", filepath.Join(n.dir, "logs", "default_"+pod+"_"+uid), 2)
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(n.t, err)
	for line := range strings.SplitSeq(string(mounts), "\n") {
		if strings.Contains(line, uid) {
			found["mount "+plain(line)] = true
		}
	}
	group := n.groupDir("memory", "burstable", "pod"+uid)
	entries, err := os.ReadDir(group)
	require.NoError(n.t, err, "the pod's group")
	for _, e := range entries {
		if e.IsDir() {
			found["group "+plain(e.Name())] = true
		}
	}
	n.withRuntime(func(ctx context.Context, rt cri.RuntimeServiceClient) {
		only := map[string]string{"io.kubernetes.pod.uid": uid}
		list, err := rt.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{LabelSelector: only}})
		require.NoError(n.t, err)
		for _, c := range list.Containers {
			reply, err := rt.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: c.Id})
			require.NoError(n.t, err)
			st := reply.Status
			for _, k := range slices.Sorted(maps.Keys(st.Annotations)) {
				found[plain(fmt.Sprint("annotation ", c.Metadata.Name, " ", k, "=", st.Annotations[k]))] = true
			}
			for _, m := range st.Mounts {
				text := plain(fmt.Sprint(m.HostPath, " ", m.ContainerPath, " ", m.Readonly, " ", m.Propagation))
				found["mount of "+c.Metadata.Name+" "+regexp.MustCompile(`(containers/[^/]+/)\w+`).ReplaceAllString(text, "${1}file")] = true
			}
			found[plain(fmt.Sprint("path of log ", c.Metadata.Name, " ", st.LogPath))] = true
		}
		boxes, err := rt.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{LabelSelector: only}})
		require.NoError(n.t, err)
		for _, b := range boxes.Items {
			found[plain(fmt.Sprint("labels ", b.Labels))] = true
		}
	})
	// Some of it is this kubelet's own.
	return slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(line string) bool {
		return strings.Contains(line, " keelson.dev/") || strings.HasPrefix(line, "pod allocation ")
	})
}

const staticManifest = `
apiVersion: v1
kind: Pod
metadata: {name: fixed}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sleep, "1000000"]
    resources: {limits: {cpu: 0.5, memory: 16Mi}, requests: {cpu: 100m}}
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1, timeoutSeconds: 20}
    volumeMounts: [{name: v, mountPath: /v}]
  volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}]
`

// mirrored waits until the kubelet that runs now supervises the static pod: it makes its mirror again.
func (n *realNode) mirrored(who string) {
	uid := n.kubectl("get", "pod", "fixed-node1", "-o", "jsonpath={.metadata.uid}")
	n.kubectl("delete", "pod", "fixed-node1", "--wait=false")
	n.until(who+" makes the mirror", func(s string) bool { return s != "" && !strings.HasPrefix(s, uid) && strings.HasSuffix(s, " True") },
		"get", "pod", "fixed-node1", "-o", `jsonpath={.metadata.uid} {.status.conditions[?(@.type=="Ready")].status}`)
}

// testSwap puts the kubelet of Kubernetes in the place of this one and back. No container is restarted, and
// what the two make for the same pod is the same.
func (n *realNode) testSwap() {
	manifest := func(name string) string {
		return strings.ReplaceAll(podManifest, "  name: web\n", "  name: "+name+"\n")
	}
	ready := func(name string) {
		n.until(name+" is ready", is("True"), "get", "pod", name, "-o", readyStatus)
	}
	labelled := func(name, who string) {
		n.kubectl("label", "pod", name, "--overwrite", "by="+who)
		n.until(who+" works on "+name, has(`by="`+who+`"`), "exec", name, "-c", "web", "--", "cat", "/labels/labels")
		ready(name)
	}
	n.apply(manifest("ours"))
	ready("ours")
	require.NoError(n.t, os.WriteFile(filepath.Join(n.static, "fixed.yaml"), []byte(staticManifest), 0o600))
	ready("fixed-node1")
	ours := n.runs("ours", "fixed-node1")

	n.stop()
	stop := n.startUpstream()
	n.t.Cleanup(func() { stop() })
	labelled("ours", "upstream")
	n.mirrored("upstream")
	require.Equal(n.t, ours, n.runs("ours", "fixed-node1"), "the kubelet of Kubernetes has gone on with what this one has started")
	n.apply(manifest("theirs"))
	ready("theirs")
	theirs := n.runs("theirs")
	families := n.families()
	require.Equal(n.t, n.layout("theirs"), n.layout("ours"))

	stop()
	n.stop = n.startKubelet(false)
	labelled("theirs", "keelson")
	labelled("ours", "keelson")
	n.mirrored("keelson")
	require.Equal(n.t, ours+theirs, n.runs("ours", "fixed-node1", "theirs"))

	n.stop()
	stop = n.startUpstream()
	labelled("theirs", "back")
	labelled("ours", "back")
	n.mirrored("back")
	require.Equal(n.t, ours+theirs, n.runs("ours", "fixed-node1", "theirs"))
	stop()
	n.stop = n.startKubelet(false)
	n.apply(manifest("measured"))
	ready("measured")
	n.requireFamilies("measured", families)
	n.kubectl("delete", "pod", "measured")
	require.NoError(n.t, os.Remove(filepath.Join(n.static, "fixed.yaml")))
	n.until("the static pod is gone", is(""), "get", "pod", "fixed-node1", "--ignore-not-found", "-o", "name")
	uid := n.kubectl("get", "pod", "theirs", "-o", "jsonpath={.metadata.uid}")
	n.kubectl("delete", "pod", "ours", "theirs", "--wait=true", "--timeout="+patience.String())
	n.until("no folder is left", func(string) bool {
		_, err := os.Stat(filepath.Join(n.dir, "kubelet", "pods", uid))
		return os.IsNotExist(err)
	}, "version")
}
