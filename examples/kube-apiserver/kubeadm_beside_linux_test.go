package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// kubeadmConfig is for a machine with one address, which has no route to another.
const kubeadmConfig = `apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: 192.0.2.10, bindPort: 6443}
nodeRegistration: {name: control-plane}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.36.3
imageRepository: images.keelson.test
networking: {serviceSubnet: 10.96.0.0/16, podSubnet: 10.244.0.0/16}
`

// machineSetup makes a machine of new namespaces: with an address, a private /etc and an empty /var/lib.
const machineSetup = `set -e
ip link set lo up
ip addr add 192.0.2.10/32 dev lo
mount --make-rprivate /
mount -t tmpfs tmpfs /var/lib
cp -a /etc "$1/etc"
mkdir -p "$1/etc/kubernetes" "$1/etc/ca-certificates"
mount --bind "$1/etc" /etc
echo ready
exec sleep infinity
`

// machine is where kubeadm installs a control plane: namespaces of the network and of mounts.
type machine struct {
	t       *testing.T
	pid     string   // of a process in the namespaces
	path    string   // of programs
	network *os.File // the namespace
}

// newMachine makes a machine with the programs of folders, or skips the test where namespaces cannot be made.
func newMachine(t *testing.T, programs string) *machine {
	t.Helper()
	for _, name := range []string{"ip", "mount", "nsenter", "unshare", "kubectl"} {
		if _, err := exec.LookPath(name); err != nil || os.Geteuid() != 0 {
			t.Skip("a machine for kubeadm needs root, ip, mount, nsenter, unshare and kubectl")
		}
	}
	m := &machine{t: t, path: programs + ":" + os.Getenv("PATH")}
	cmd := exec.Command("unshare", "--net", "--mount", "sh", "-c", machineSetup, "sh", t.TempDir())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ready := make([]byte, len("ready\n"))
	n, _ := out.Read(ready)
	require.Equal(t, "ready\n", string(ready[:n]), "%s", &problems)
	m.pid = fmt.Sprint(cmd.Process.Pid)
	m.network, err = os.Open("/proc/" + m.pid + "/ns/net")
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.network.Close() })
	require.Empty(t, m.must("ip", "route", "show"), "there is no route out")
	return m
}

// command returns a command that runs on the machine.
func (m *machine) command(args ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"--target=" + m.pid, "--net", "--mount", "env", "PATH=" + m.path}, args...)...)
	cmd.Env = []string{"HOME=/root", "KUBECONFIG=/etc/kubernetes/admin.conf"}
	return cmd
}

// must runs a command and returns its output.
func (m *machine) must(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	require.NoError(m.t, err, "%v: %s", args, out)
	return string(out)
}

// kubeadm runs a phase of kubeadm init.
func (m *machine) kubeadm(phase string) {
	m.t.Helper()
	m.must(append(append([]string{"kubeadm", "init", "phase"}, strings.Fields(phase)...), "--config=/etc/kubeadm.yaml")...)
}

// start starts a program that ends with the test. Its log is shown if the test fails.
func (m *machine) start(args ...string) {
	m.t.Helper()
	cmd := m.command(args...)
	log := &tail{}
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(m.t, cmd.Start())
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if m.t.Failed() {
			m.t.Logf("the end of the log of %s:\n%s", args[0], log)
		}
	})
}

// tail is the end of a log.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.text = l.text[max(0, len(l.text)-4000):]
	return len(p), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// dial opens a connection on the machine.
func (m *machine) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread, which is in the other namespace, ends with the goroutine
		if err = unix.Setns(int(m.network.Fd()), unix.CLONE_NEWNET); err == nil {
			conn, err = new(net.Dialer).DialContext(ctx, network, address)
		}
	}()
	<-done
	return conn, err
}

// until repeats a condition until it holds.
func (m *machine) until(what string, ok func() bool) {
	m.t.Helper()
	require.Eventually(m.t, ok, 2*time.Minute, 50*time.Millisecond, what)
}

// manifest reads the manifest of a static pod, whose files have the same paths in the container as outside.
func (m *machine) manifest(name string) *corev1.Pod {
	m.t.Helper()
	pod := &corev1.Pod{}
	issues, err := codec.UnmarshalYAML([]byte(m.must("cat", "/etc/kubernetes/manifests/"+name+".yaml")), pod, codec.DecodeOptions{})
	require.NoError(m.t, err)
	require.Empty(m.t, issues)
	require.True(m.t, pod.Spec.HostNetwork)
	require.Len(m.t, pod.Spec.Containers, 1)
	paths := map[string]string{}
	for _, v := range pod.Spec.Volumes {
		paths[v.Name] = v.HostPath.Path
	}
	for _, v := range pod.Spec.Containers[0].VolumeMounts {
		require.Equal(m.t, paths[v.Name], v.MountPath)
	}
	require.Equal(m.t, name, pod.Spec.Containers[0].Command[0])
	return pod
}

// probe makes a probe as the kubelet does, and reports whether it succeeds.
func (m *machine) probe(c *corev1.Container, p *corev1.Probe) bool {
	m.t.Helper()
	get := p.HTTPGet
	port := get.Port.String()
	for _, named := range c.Ports {
		if named.Name == port {
			port = fmt.Sprint(named.ContainerPort)
		}
	}
	web := &http.Client{Timeout: time.Duration(p.TimeoutSeconds) * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, DialContext: m.dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := web.Get(strings.ToLower(string(get.Scheme)) + "://" + net.JoinHostPort(get.Host, port) + get.Path)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode >= 200 && resp.StatusCode < 400
}

// TestKubeadmBeside installs a control plane with kubeadm: the commands of its manifests run our programs,
// and Kubernetes' own, beside the real etcd. All probes succeed, kubeadm's later phases do, and its
// administrator's Deployment runs on a node.
func TestKubeadmBeside(t *testing.T) {
	peers := filepath.Dir(seeds.Peer(t, "kubeadm"))
	own := t.TempDir()
	for _, program := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "fake-nodes"} {
		out, err := exec.Command("go", "build", "-o", own, "../"+program).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	theirs := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(own, "fake-nodes"), filepath.Join(theirs, "fake-nodes")))
	for _, dir := range []string{own, theirs} {
		for _, program := range []string{"etcd", "kubeadm"} {
			require.NoError(t, os.Symlink(filepath.Join(peers, program), filepath.Join(dir, program)))
		}
	}
	for _, program := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		require.NoError(t, os.Symlink(filepath.Join(peers, program), filepath.Join(theirs, program)))
	}
	t.Run("ours", func(t *testing.T) { runKubeadm(t, own) })
	t.Run("theirs", func(t *testing.T) { runKubeadm(t, theirs) })
}

func runKubeadm(t *testing.T, programs string) {
	m := newMachine(t, programs)
	config := filepath.Join(t.TempDir(), "kubeadm.yaml")
	require.NoError(t, os.WriteFile(config, []byte(kubeadmConfig), 0o600))
	m.must("cp", config, "/etc/kubeadm.yaml")
	for _, phase := range []string{"certs all", "kubeconfig all", "etcd local", "control-plane all"} {
		m.kubeadm(phase)
	}
	var pods []*corev1.Pod
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		pod := m.manifest(name)
		pods = append(pods, pod)
		m.start(pod.Spec.Containers[0].Command...)
		c := &pod.Spec.Containers[0]
		m.until(name+" has started", func() bool { return m.probe(c, c.StartupProbe) })
	}
	healthy := func() bool {
		for _, pod := range pods {
			c := &pod.Spec.Containers[0]
			for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				if p != nil && !m.probe(c, p) {
					return false
				}
			}
		}
		return true
	}
	m.until("all probes succeed", healthy)

	// The administrator's role is bound by the first phase that is a client.
	for _, phase := range []string{"upload-config all", "bootstrap-token", "addon all"} {
		m.kubeadm(phase)
	}
	kubectl := func(args ...string) string {
		t.Helper()
		return m.must(append([]string{"kubectl"}, args...)...)
	}
	require.Equal(t, "ok", kubectl("get", "--raw", "/readyz"))
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		require.NotEmpty(t, kubectl("get", "lease", "-n", "kube-system", name, "-o", "jsonpath={.spec.holderIdentity}"), name)
	}
	m.start("fake-nodes", "--kubeconfig=/etc/kubernetes/admin.conf", "--nodes=2")
	kubectl("create", "deployment", "web", "--image=images.keelson.test/web", "--replicas=3")
	kubectl("rollout", "status", "deployment/web", "--timeout=2m")
	require.Equal(t, "3", kubectl("get", "replicasets", "-l", "app=web", "-o", "jsonpath={.items[*].status.readyReplicas}"))
	for _, node := range strings.Fields(kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.nodeName}")) {
		require.Contains(t, node, "node-")
	}
	// So do the addons that kubeadm installs.
	kubectl("rollout", "status", "deployment/coredns", "-n", "kube-system", "--timeout=2m")
	kubectl("rollout", "status", "daemonset/kube-proxy", "-n", "kube-system", "--timeout=2m")
	require.True(t, healthy())
}
