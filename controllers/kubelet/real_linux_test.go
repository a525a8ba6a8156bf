package kubelet_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/builtin/attachdetach"
	"github.com/keelson-dev/keelson/controllers/builtin/serviceaccount"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/cgroup"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/noderuntime"
	"github.com/keelson-dev/keelson/store/aggregation"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

// TestReal runs the kubelet on a real containerd.
func TestReal(t *testing.T) { inNamespace(t, testReal) }

// inNamespace runs a test or benchmark in a network namespace of its own, in a second run of this test
// binary, so that pod and service addresses never meet those of the host.
func inNamespace[T testing.TB](t T, test func(T)) {
	skip := func(why string) {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI must run this: %s", why)
		}
		t.Skipf("real containers: %s", why)
	}
	if testing.Short() {
		t.Skip("real containers: -short")
	}
	if os.Getenv("KEELSON_TEST_NETNS") != "" {
		test(t)
		return
	}
	if why := noderuntime.Missing(); why != nil {
		skip(why.Error())
	}
	for _, name := range []string{"ip", "nsenter", "kubectl", "busybox"} {
		if _, err := exec.LookPath(name); err != nil {
			skip(name + " is not installed")
		}
	}
	name := fmt.Sprintf("keelson-kubelet-%d", os.Getpid())
	out, err := exec.Command("ip", "netns", "add", name).CombinedOutput()
	if err != nil {
		skip("no network namespace: " + strings.TrimSpace(string(out)))
	}
	defer func() { _ = exec.Command("ip", "netns", "delete", name).Run() }()
	out, err = exec.Command("ip", "-n", name, "link", "set", "lo", "up").CombinedOutput()
	require.NoError(t, err, string(out))
	which, timeout, others := "test.run", 10*time.Minute*slowness(), []string{}
	if _, ok := any(t).(*testing.B); ok {
		which, timeout, others = "test.bench", time.Hour, []string{"-test.run=^$", "-test.benchtime=1x"}
	}
	only := "^" + t.Name() + "$"
	if _, parts, ok := strings.Cut(flag.Lookup(which).Value.String(), "/"); ok {
		only += "/" + parts
	}
	args := append([]string{"--net=/run/netns/" + name, os.Args[0], "-test.v", "-test.timeout=" + timeout.String(), "-" + which + "=" + only}, others...)
	cmd := exec.CommandContext(t.Context(), "nsenter", args...)
	cmd.Env = append(os.Environ(), "KEELSON_TEST_NETNS="+name)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	require.NoError(t, cmd.Run(), "in the namespace")
}

// realNode is a control plane, a containerd and a kubelet.
type realNode struct {
	t          testing.TB
	dir        string
	kubeconfig string
	runtime    *noderuntime.Runtime
	conn       *rest.Conn
	pki        realPKI
	static     string
	// ips are the addresses of the node, pods6 is the range of its pods of IPv6, if it has that.
	ips   []netip.Addr
	pods6 netip.Prefix
	// change, if not nil, changes the options of the next kubelet.
	change func(*kubelet.Options)
	stop   func()
	// hasClients is true when the pods of our client have been made.
	hasClients bool
	// gate is on the kubelet's way to containerd. endRuntime ends a containerd that took the place of
	// runtime's.
	gate       gate
	endRuntime func()
}

type realPKI struct {
	ca, serving, admin, node, kubelet *certs.Pair
	pool                              *x509.CertPool
}

func startReal(t testing.TB, edit ...func(*realNode)) *realNode {
	dir, err := os.MkdirTemp("", "keelson-node-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711)) // for pods with users of their own
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	n := &realNode{t: t, dir: dir, static: filepath.Join(dir, "manifests"), endRuntime: func() {}, ips: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}
	for _, f := range edit {
		f(n)
	}
	t.Cleanup(func() {
		tree := n.tree()
		tree.Remove(context.Background(), cgroup.Parse(n.cgroup(), false))
	})
	require.NoError(t, os.Mkdir(n.static, 0o755))
	ca, err := certs.NewAuthority("test")
	require.NoError(t, err)
	pair := func(p *certs.Pair, err error) *certs.Pair { require.NoError(t, err); return p }
	n.pki = realPKI{ca: &ca.Pair, serving: pair(ca.Serving("kube-apiserver", "127.0.0.1")), admin: pair(ca.Client("admin", "system:masters")),
		node: pair(ca.Serving("node", "127.0.0.1")), kubelet: pair(ca.Client("apiserver-kubelet-client")), pool: ca.Pool()}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	front := n.pki.kubelet.TLS()
	authority := func() []byte { return n.pki.ca.CertPEM() }
	served, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, errors.Join(certificatesv1beta1.AddToScheme(served), certificatesv1beta1.AddRules(served), certificatesv1beta1.AddRequests(served), certificatesv1beta1.AddRequestRules(served)))
	cp, err := controlplane.New(controlplane.Options{
		Server: apiserver.Options{Scheme: served, Store: memory.New(memory.Options{}), Builtin: builtin.Options{ServiceCIDR: "10.96.0.0/16"},
			AdvertiseAddress: "127.0.0.1", AdvertisePort: l.Addr().(*net.TCPAddr).Port,
			Nodes: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: n.pki.pool, Certificates: []tls.Certificate{n.pki.kubelet.TLS()}}}},
		ClientCAs: func() *x509.CertPool { return n.pki.pool }, ServiceAccountKeys: []any{n.pki.admin.Key}, ClientCAFile: authority,
		RequestHeader: &authn.RequestHeaderOptions{ClientCAs: func() *x509.CertPool { return n.pki.pool }, AllowedNames: []string{"apiserver-kubelet-client"},
			UsernameHeaders: []string{"X-Remote-User"}, GroupHeaders: []string{"X-Remote-Group"}, ExtraPrefixes: []string{"X-Remote-Extra-"}},
		RequestHeaderCAFile: authority, Aggregation: aggregation.Options{Certificate: func() *tls.Certificate { return &front }},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	go func() { _ = cp.Run(ctx); done <- struct{}{} }()
	go func() {
		_ = cp.Serve(ctx, l, &tls.Config{Certificates: []tls.Certificate{n.pki.serving.TLS()}, ClientAuth: tls.RequestClientCert})
		done <- struct{}{}
	}()
	t.Cleanup(func() { cancel(); <-done; <-done })
	n.conn, err = rest.New(rest.Config{Host: "https://" + l.Addr().String(),
		TLS: rest.TLSConfig{CAData: n.pki.ca.CertPEM(), CertData: n.pki.admin.CertPEM(), KeyData: n.pki.admin.KeyPEM()}}, rest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { n.conn.Close() })

	file := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		return path
	}
	n.kubeconfig = file("kubeconfig", fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://%s", certificate-authority: %s}}]
users: [{name: u, user: {client-certificate: %s, client-key: %s}}]
`, l.Addr(), file("ca.crt", n.pki.ca.CertPEM()), file("admin.crt", n.pki.admin.CertPEM()), file("admin.key", n.pki.admin.KeyPEM())))

	n.runtime, err = noderuntime.Start(ctx, noderuntime.Options{Dir: filepath.Join(dir, "cri"), PodCIDR: netip.MustParsePrefix("10.244.7.0/24"), PodCIDR6: n.pods6,
		ServiceCIDR: netip.MustParsePrefix("10.96.0.0/16"), Busybox: true, SystemdCgroups: systemdCgroups, SELinux: selinux})
	require.NoError(t, err)
	t.Cleanup(func() { n.endRuntime(); require.NoError(t, n.runtime.Close()) })

	m := manager.New(n.conn, manager.Options{})
	require.NoError(t, serviceaccount.Add(m, serviceaccount.Options{RootCA: n.pki.ca.CertPEM()}))
	require.NoError(t, attachdetach.Add(m, attachdetach.Options{}))
	managed := make(chan struct{})
	go func() { _ = m.Run(ctx); close(managed) }()
	t.Cleanup(func() { cancel(); <-managed })

	n.kubectl("create", "clusterrolebinding", "kubelet-api", "--clusterrole=system:kubelet-api-admin", "--user=apiserver-kubelet-client")
	n.stop = n.startKubelet(false)
	t.Cleanup(func() { n.stop() })
	return n
}

func (n *realNode) newKubelet(stopPods bool) *kubelet.Kubelet {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(n.t, err)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	opts := kubelet.Options{
		NodeName: "node1", NodeIPs: n.ips, RootDir: filepath.Join(n.dir, "kubelet"), LogDir: filepath.Join(n.dir, "logs"),
		RuntimeEndpoint: n.runtime.Endpoint(), RuntimeDial: n.gate.dial, Plugins: &kubelet.PluginOptions{}, StaticPodDir: n.static, ClusterDNS: []string{"10.96.0.10"}, ClusterDomain: "cluster.local",
		CgroupRoot: n.cgroup(), SystemdCgroups: systemdCgroups, SharedRoot: true, PodPIDs: realPIDs, PullFallback: true, Listener: l, TLS: &tls.Config{Certificates: []tls.Certificate{n.pki.node.TLS()}, ClientCAs: n.pki.pool},
		StopPods: stopPods, SyncInterval: 2 * time.Second, Logger: log,
		Placement: kubelet.PlacementPolicy{StaticCPUs: true, ReservedCPUs: "0"}, IPTables: kubelet.SystemIPTables{},
		// The machine may be short of anything.
		Eviction: kubelet.EvictionPolicy{Hard: map[string]string{}}, ImageGC: kubelet.ImageGCPolicy{HighPercent: 100},
		Logs: kubelet.LogPolicy{MaxSize: 256 << 10, MaxFiles: 3, Interval: time.Second},
	}
	if n.change != nil {
		n.change(&opts)
	}
	k, err := kubelet.New(n.conn, opts)
	require.NoError(n.t, err)
	return k
}

func (n *realNode) startKubelet(stopPods bool) (stop func()) {
	k := n.newKubelet(stopPods)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	stopped := false
	return func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(n.t, <-done)
		}
	}
}

// realPIDs is how many processes and threads each pod may have.
const realPIDs = 400

// cgroup is the test's own, above those of pods.
func (n *realNode) cgroup() string { return "/" + filepath.Base(n.dir) }

// patience is how long the tests wait for anything, on a machine that may be busy with much else.
var patience = 90 * time.Second * slowness()

// slowness is how many times as long everything takes on a machine whose processors are emulated.
func slowness() time.Duration {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("KEELSON_SLOWNESS"), "1"))
	if err != nil {
		panic("KEELSON_SLOWNESS: " + err.Error())
	}
	return time.Duration(n)
}

// try runs kubectl. Its two streams stay apart: before version 1.34 kubectl exec may open its streams after
// the empty message that begins a session has come, and then prints a complaint about that.
func (n *realNode) try(args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kubectl", append([]string{"--kubeconfig", n.kubeconfig}, args...)...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err = cmd.Run()
	return out.String(), complaints.String(), err
}

// kubectl runs kubectl, which must succeed, and returns what it prints.
func (n *realNode) kubectl(args ...string) string {
	n.t.Helper()
	out, complaints, err := n.try(args...)
	require.NoError(n.t, err, "kubectl %v: %s%s", args, out, complaints)
	return out
}

// apply creates what a manifest describes. Probes take as long as everything else does.
func (n *realNode) apply(manifest string) {
	n.t.Helper()
	slow := int(slowness())
	manifest = strings.NewReplacer("periodSeconds: 1,", fmt.Sprintf("periodSeconds: %d,", slow), "timeoutSeconds: 20", fmt.Sprintf("timeoutSeconds: %d", 20*slow)).Replace(manifest)
	cmd := exec.Command("kubectl", "--kubeconfig", n.kubeconfig, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifest)
	out, err := cmd.CombinedOutput()
	require.NoError(n.t, err, string(out))
}

// until waits until the output of kubectl satisfies ok.
func (n *realNode) until(what string, ok func(string) bool, args ...string) string {
	n.t.Helper()
	var out, complaints string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond * slowness()) {
		var err error
		if out, complaints, err = n.try(args...); err == nil && ok(out) {
			return out
		}
	}
	events, _, _ := n.try("get", "events,pods", "-A", "-o", "wide")
	require.Failf(n.t, "timeout", "%s: %v: last %s%s\n%s", what, args, out, complaints, events)
	return ""
}

func is(want string) func(string) bool {
	return func(s string) bool { return strings.TrimSpace(s) == want }
}
func has(want string) func(string) bool {
	return func(s string) bool { return strings.Contains(s, want) }
}

func testReal(t *testing.T) {
	began := time.Now()
	hugePagesOfMachine(t)
	n := startReal(t)
	t.Logf("control plane, containerd and kubelet after %v", time.Since(began))
	ready := func(s string) bool { return strings.Contains(s, " Ready ") }
	n.until("node ready", ready, "get", "node", "node1", "--no-headers")
	n.until("service account", has("default"), "get", "serviceaccount", "default", "-o", "name")

	began = time.Now()
	n.apply(podManifest)
	n.until("pod ready", is("True"), "get", "pod", "web", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	t.Logf("pod ready after %v", time.Since(began))

	t.Run("exec", func(t *testing.T) { n.testExec(t) })
	t.Run("confinement", func(t *testing.T) { n.testConfinement(t) })
	t.Run("logs", func(t *testing.T) { n.testLogs(t) })
	t.Run("port-forward", func(t *testing.T) { n.testPortForward(t) })
	t.Run("our client's streams", func(t *testing.T) { n.testClientStreams(t) })
	t.Run("our client's logs", func(t *testing.T) { n.testClientLogs(t) })
	t.Run("our client in a pod", func(t *testing.T) { n.testInCluster(t) })
	t.Run("attach and host ports", func(t *testing.T) { n.testAttach(t) })
	t.Run("volumes", func(t *testing.T) { n.testVolumes(t) })
	t.Run("certificates", func(t *testing.T) { n.t = t; n.testCertificates() })
	t.Run("subPath", func(t *testing.T) { n.testSubPathRace(t) })
	t.Run("cgroups", func(t *testing.T) { n.testGroups(t) })
	t.Run("resize", func(t *testing.T) { n.t = t; n.testResize() })
	t.Run("CPUs", func(t *testing.T) { n.t = t; n.testCPUs() })
	t.Run("huge pages", func(t *testing.T) { n.t = t; n.testHugePages() })
	t.Run("devices", func(t *testing.T) { n.t = t; n.testDevices() })
	t.Run("device plugin of another process", func(t *testing.T) { n.t = t; n.testPluginProcess() })
	t.Run("packet filter", func(t *testing.T) { n.t = t; n.testFilter() })
	t.Run("out of memory", func(t *testing.T) { n.t = t; n.testOutOfMemory() })
	t.Run("dynamic resources", func(t *testing.T) { n.t = t; n.testDynamicResources() })
	t.Run("fork bomb", func(t *testing.T) { n.t = t; n.testForkBomb() })
	t.Run("features of pods", func(t *testing.T) { n.t = t; n.testPodFeatures() })
	t.Run("local device", func(t *testing.T) { n.t = t; n.testLocalDevice() })
	t.Run("iscsi", func(t *testing.T) { n.t = t; n.testISCSI() })
	t.Run("fc", func(t *testing.T) { n.t = t; n.testFC() })
	t.Run("SELinux", func(t *testing.T) { n.t = t; n.testSELinux() })
	t.Run("swap of the machine", func(t *testing.T) { n.t = t; n.testMachineSwap() })
	t.Run("pressure", func(t *testing.T) { n.t = t; n.testPressure() })
	t.Run("AppArmor", func(t *testing.T) { n.t = t; n.testAppArmor() })
	t.Run("events of the runtime", func(t *testing.T) { n.t = t; n.testEvents() })
	t.Run("restarts", func(t *testing.T) { n.testRestarts(t) })
	t.Run("restart of all containers", func(t *testing.T) { n.t = t; n.testRestartAll() })
	t.Run("images", func(t *testing.T) { n.testImages(t) })
	t.Run("pull secrets", func(t *testing.T) { n.t = t; n.testPullSecrets() })
	t.Run("rotation", func(t *testing.T) { n.testRotation(t) })
	t.Run("jobs", func(t *testing.T) { n.testRunToEnd(t) })
	t.Run("static pods", func(t *testing.T) { n.testStatic(t) })
	t.Run("restart of the kubelet", func(t *testing.T) { n.testKubeletRestart(t) })
	t.Run("deletion", func(t *testing.T) { n.testDelete(t) })
	t.Run("faults", func(t *testing.T) { n.testFaults(t) })
	t.Run("critical pods", func(t *testing.T) { n.t = t; n.testCritical() })
	t.Run("shutdown of the machine", func(t *testing.T) { n.t = t; n.testShutdown() })

	n.t = t
	n.stop()
	n.stop = n.startKubelet(true)
	n.until("node ready", ready, "get", "node", "node1", "--no-headers")
	n.stop()
	n.endRuntime()
	require.NoError(t, n.runtime.Close())
	_ = syscall.Unmount(filepath.Join(n.dir, "kubelet"), 0) // SharedRoot's, unless volumes are mounted inside
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), n.dir, "mounts are left")
	out, err := exec.Command("ip", "-o", "link").CombinedOutput()
	require.NoError(t, err)
	require.NotContains(t, string(out), "cni0")
	require.NoDirExists(t, n.groupDir("memory"))
	ps, _ := exec.Command("ps", "ax", "-o", "args").CombinedOutput()
	require.NotContains(t, string(ps), n.dir+"/cri/containerd.sock")
}

// sleeper is a pod whose container has resources and only sleeps.
func sleeper(name, resources string) string { return runs(name, `sleep, "1000000"`, resources) }

// runs is a pod of one container with a command, the items of a list, and resources.
func runs(name, command, resources string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [` + command + `]
    resources: {` + resources + `}
`
}

const podManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue, "shape": "round"}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {password: hunter2}
---
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 2
  initContainers:
  - name: first
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "echo made by first > /scratch/first; echo init says hello"]
    volumeMounts: [{name: scratch, mountPath: /scratch}]
  - name: side
    image: busybox
    imagePullPolicy: IfNotPresent
    restartPolicy: Always
    command: [sh, -c, "trap 'exit 0' TERM; echo side runs; while true; do sleep 0.1; done"]
    securityContext:
      runAsNonRoot: true
      runAsUser: 1234
      runAsGroup: 2345
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}
      seccompProfile: {type: RuntimeDefault}
  containers:
  - name: web
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "echo started as $(NAME); echo to stderr >&2; mkdir -p /www; echo hello from $(NAME) > /www/index.html; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait"]
    env:
    - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: COLOR, valueFrom: {configMapKeyRef: {name: settings, key: color}}}
    - {name: BOTH, value: "$(NAME)-$(COLOR)-$(MISSING)-$$(NAME)"}
    - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
    envFrom: [{prefix: KEY_, secretRef: {name: keys}}]
    ports: [{containerPort: 8080, name: http}]
    resources: {limits: {cpu: 500m, memory: 64Mi}, requests: {cpu: 100m, memory: 32Mi}}
    readinessProbe: {httpGet: {path: /index.html, port: http}, periodSeconds: 1, timeoutSeconds: 20}
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 1, timeoutSeconds: 20}
    startupProbe: {tcpSocket: {port: 8080}, periodSeconds: 1, timeoutSeconds: 20, failureThreshold: 60}
    volumeMounts:
    - {name: scratch, mountPath: /scratch}
    - {name: settings, mountPath: /settings}
    - {name: keys, mountPath: /keys}
    - {name: labels, mountPath: /labels}
    - {name: memory, mountPath: /memory}
  volumes:
  - {name: scratch, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory, sizeLimit: 8Mi}}
  - {name: settings, configMap: {name: settings}}
  - {name: keys, secret: {secretName: keys, defaultMode: 0400}}
  - {name: labels, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
`

// testConfinement compares what the kernel says of a container with its security context, and with one that
// has none.
func (n *realNode) testConfinement(t *testing.T) {
	n.t = t
	status := func(container string) map[string]string {
		fields := map[string]string{}
		for line := range strings.Lines(n.kubectl("exec", "web", "-c", container, "--", "cat", "/proc/1/status")) {
			key, value, _ := strings.Cut(line, ":")
			fields[key] = strings.TrimSpace(value)
		}
		return fields
	}
	side, web := status("side"), status("web")
	const netBindService = "0000000000000400"
	for key, want := range map[string][2]string{"NoNewPrivs": {"1", "0"}, "CapBnd": {netBindService, web["CapEff"]}, "Seccomp": {"2", "0"},
		"Uid": {"1234\t1234\t1234\t1234", "0\t0\t0\t0"}, "Gid": {"2345\t2345\t2345\t2345", "0\t0\t0\t0"}} {
		require.Equal(t, want, [2]string{side[key], web[key]}, key)
	}
	_, complaints, err := n.try("exec", "web", "-c", "side", "--", "touch", "/file")
	require.Error(t, err)
	require.Contains(t, complaints, "Read-only file system")
	n.kubectl("exec", "web", "-c", "web", "--", "touch", "/file")
}

func (n *realNode) testExec(t *testing.T) {
	n.t = t
	env := n.kubectl("exec", "web", "-c", "web", "--", "env")
	for _, want := range []string{"NAME=web\n", "COLOR=blue\n", "BOTH=web-blue-$(MISSING)-$(NAME)\n", "CPU=500\n", "KEY_password=hunter2\n", "KUBERNETES_SERVICE_HOST=10.96.0.1\n"} {
		require.Contains(t, env, want)
	}
	_, complaints, err := n.try("exec", "web", "-c", "web", "--", "sh", "-c", "echo oops >&2; exit 7")
	require.Error(t, err)
	require.Contains(t, complaints, "oops\n")
	require.Contains(t, complaints, "exit code 7")
	cmd := exec.Command("kubectl", "--kubeconfig", n.kubeconfig, "exec", "-i", "web", "-c", "web", "--", "cat")
	cmd.Stdin = strings.NewReader(strings.Repeat("0123456789", 10_000))
	b, err := cmd.Output()
	require.NoError(t, err)
	require.Len(t, b, 100_000)
	require.Contains(t, n.kubectl("exec", "web", "-c", "web", "--", "cat", "/etc/hosts"), "\tweb\n")
	resolv := n.kubectl("exec", "web", "-c", "web", "--", "cat", "/etc/resolv.conf")
	require.Contains(t, resolv, "nameserver 10.96.0.10")
	require.Contains(t, resolv, "search default.svc.cluster.local svc.cluster.local cluster.local")
	_, complaints, err = n.try("exec", "web", "-c", "nothing", "--", "true")
	require.Error(t, err)
	require.Contains(t, complaints, "container nothing is not valid for pod web")
	// The older protocol.
	cmd = exec.Command("kubectl", "--kubeconfig", n.kubeconfig, "exec", "web", "-c", "web", "--", "echo", "over SPDY")
	cmd.Env = append(os.Environ(), "KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false")
	b, err = cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "over SPDY\n", string(b))
}

func (n *realNode) testLogs(t *testing.T) {
	n.t = t
	// The two streams reach the log in either order, and some time after they were written.
	n.until("both streams", func(s string) bool { return s == "started as web\nto stderr\n" || s == "to stderr\nstarted as web\n" }, "logs", "web", "-c", "web")
	n.until("the log of an init container", is("init says hello"), "logs", "web", "-c", "first")
	require.Equal(t, 1, strings.Count(n.kubectl("logs", "web", "-c", "web", "--tail=1"), "\n"))
	n.until("the log of a sidecar", is("side runs"), "logs", "web", "-c", "side")
	require.Regexp(t, `^\d{4}-\d\d-\d\dT[^ ]+ side runs\n$`, n.kubectl("logs", "web", "-c", "side", "--timestamps"))
	require.Equal(t, "side ", n.kubectl("logs", "web", "-c", "side", "--limit-bytes=5"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kubectl", "--kubeconfig", n.kubeconfig, "logs", "-f", "web", "-c", "side")
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line := make([]byte, len("side runs\n"))
	_, err = io.ReadFull(pipe, line)
	require.NoError(t, err)
	require.Equal(t, "side runs\n", string(line))
	cancel()
	_ = cmd.Wait()
}

func (n *realNode) testPortForward(t *testing.T) {
	n.t = t
	for _, websocket := range []string{"true", "false"} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		cmd := exec.CommandContext(ctx, "kubectl", "--kubeconfig", n.kubeconfig, "port-forward", "pod/web", ":8080")
		cmd.Env = append(os.Environ(), "KUBECTL_PORT_FORWARD_WEBSOCKETS="+websocket)
		pipe, err := cmd.StdoutPipe()
		require.NoError(t, err)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		require.NoError(t, cmd.Start())
		ended := func() string { cancel(); _ = cmd.Wait(); return errs.String() }
		line, err := bufio.NewReader(pipe).ReadString('\n')
		var port int
		if err == nil {
			_, err = fmt.Sscanf(line, "Forwarding from 127.0.0.1:%d -> 8080", &port)
		}
		if err != nil {
			require.NoError(t, err, "%q %s", line, ended())
		}
		for range 3 {
			body, err := getText(fmt.Sprintf("http://127.0.0.1:%d/index.html", port))
			if err != nil {
				require.NoError(t, err, ended())
			}
			require.Equal(t, "hello from web\n", body)
		}
		ended()
	}
}

// getText reads a page.
func getText(url string) (string, error) {
	resp, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func (n *realNode) testAttach(t *testing.T) {
	n.t = t
	n.apply(`
apiVersion: v1
kind: Pod
metadata: {name: talk}
spec:
  nodeName: node1
  restartPolicy: Never
  containers:
  - {name: main, image: busybox, imagePullPolicy: IfNotPresent, stdin: true, stdinOnce: true, command: [sh, -c, "read line; echo got $line; exit 3"]}
  - {name: port, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, "mkdir /www; echo by host port > /www/index.html; exec httpd -f -p 80 -h /www"], ports: [{containerPort: 80, hostPort: 18081}]}
`)
	n.until("both run", is("true true"), "get", "pod", "talk", "-o", "jsonpath={.status.containerStatuses[*].started}")
	require.Eventually(t, func() bool {
		text, err := getText("http://10.244.7.1:18081/")
		return err == nil && text == "by host port\n"
	}, patience, 100*time.Millisecond)
	cmd := exec.Command("kubectl", "--kubeconfig", n.kubeconfig, "attach", "-q", "-i", "talk", "-c", "main")
	cmd.Stdin = strings.NewReader("hello\n")
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "got hello\n")
	n.until("its end", is("3"), "get", "pod", "talk", "-o", "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}")
	n.kubectl("delete", "pod", "talk", "--grace-period=1", "--wait=true", "--timeout="+patience.String())
}

func (n *realNode) testVolumes(t *testing.T) {
	n.t = t
	cat := func(path string) string { return n.kubectl("exec", "web", "-c", "web", "--", "cat", path) }
	require.Equal(t, "made by first\n", cat("/scratch/first"))
	require.Equal(t, "blue", cat("/settings/color"))
	require.Equal(t, "hunter2", cat("/keys/password"))
	require.Equal(t, `app="web"`, cat("/labels/labels"))
	require.NotEmpty(t, cat("/var/run/secrets/kubernetes.io/serviceaccount/token"))
	require.Contains(t, cat("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"), "BEGIN CERTIFICATE")
	require.Equal(t, "default", cat("/var/run/secrets/kubernetes.io/serviceaccount/namespace"))
	mounts := cat("/proc/mounts")
	require.Contains(t, mounts, "tmpfs /memory tmpfs")
	require.Contains(t, mounts, "size=8192k")
	require.Contains(t, mounts, "tmpfs /keys tmpfs ro")
	n.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: red}\n")
	n.until("changed configMap", is("red"), "exec", "web", "-c", "web", "--", "cat", "/settings/color")
	require.NotContains(t, n.kubectl("exec", "web", "-c", "web", "--", "ls", "/settings"), "shape")
	// The limits are in the kernel.
	var limits []string
	for _, file := range []string{"memory.limit_in_bytes", "memory.max"} {
		files, _ := filepath.Glob(filepath.Join(n.groupDir("memory", "burstable"), "*pod*", "*", file))
		for _, f := range files {
			b, _ := os.ReadFile(f)
			limits = append(limits, string(b))
		}
	}
	require.Contains(t, limits, "67108864\n")
}

func (n *realNode) testRestarts(t *testing.T) {
	n.t = t
	n.apply(`
apiVersion: v1
kind: Pod
metadata: {name: sick}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 30
  containers:
  - name: main
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "trap 'exit 3' TERM; touch /tmp/ok /tmp/begun; sleep 2; rm /tmp/ok; while true; do sleep 0.1; done"]
    startupProbe: {exec: {command: [cat, /tmp/begun]}, periodSeconds: 1, timeoutSeconds: 20, failureThreshold: 60}
    livenessProbe: {exec: {command: [cat, /tmp/ok]}, periodSeconds: 1, timeoutSeconds: 20, failureThreshold: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: crash}
spec:
  nodeName: node1
  containers:
  - name: main
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "echo my last words > /dev/termination-log; exit 5"]
`)
	// How often they have restarted by the time they are looked at depends on the machine.
	n.until("restart after a failed probe", regexp.MustCompile(`^[1-9]\d* 3$`).MatchString, "get", "pod", "sick", "-o",
		"jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].lastState.terminated.exitCode}")
	n.until("events", has("Liveness probe failed"), "get", "events", "--field-selector=involvedObject.name=sick")
	n.until("back-off", regexp.MustCompile(`^Running CrashLoopBackOff [1-9]\d* 5 my last words\s*$`).MatchString, "get", "pod", "crash", "-o",
		"jsonpath={.status.phase} {.status.containerStatuses[0].state.waiting.reason} {.status.containerStatuses[0].restartCount}"+
			" {.status.containerStatuses[0].lastState.terminated.exitCode} {.status.containerStatuses[0].lastState.terminated.message}")
	n.kubectl("delete", "pod", "crash", "sick", "--wait=true", "--timeout="+patience.String())
}

func (n *realNode) testImages(t *testing.T) {
	n.t = t
	n.apply(`
apiVersion: v1
kind: Pod
metadata: {name: never}
spec: {nodeName: node1, containers: [{name: main, image: "nowhere.invalid/none:1", imagePullPolicy: Never}]}
---
apiVersion: v1
kind: Pod
metadata: {name: always}
spec: {nodeName: node1, containers: [{name: main, image: "127.0.0.1:1/none:1", imagePullPolicy: Always}]}
---
apiVersion: v1
kind: Pod
metadata: {name: bad}
spec: {nodeName: node1, containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: ["/not/there"]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: root}
spec: {nodeName: node1, securityContext: {runAsNonRoot: true}, containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: ["true"]}]}
`)
	reason := "jsonpath={.status.containerStatuses[0].state.waiting.reason}"
	n.until("never", is("ErrImageNeverPull"), "get", "pod", "never", "-o", reason)
	n.until("back-off", is("ImagePullBackOff"), "get", "pod", "always", "-o", reason)
	n.until("no program", func(s string) bool { return s == "RunContainerError" || s == "CrashLoopBackOff" }, "get", "pod", "bad", "-o", reason)
	n.until("root", is("CreateContainerConfigError"), "get", "pod", "root", "-o", reason)
	n.until("events", has("ErrImagePull"), "get", "events", "--field-selector=involvedObject.name=always")
	n.kubectl("delete", "pod", "never", "always", "bad", "root", "--wait=true", "--timeout="+patience.String())
}

func (n *realNode) testRunToEnd(t *testing.T) {
	n.t = t
	n.apply(`
apiVersion: v1
kind: Pod
metadata: {name: good}
spec:
  nodeName: node1
  restartPolicy: Never
  initContainers: [{name: side, image: busybox, imagePullPolicy: IfNotPresent, restartPolicy: Always, command: [sh, -c, "trap 'exit 0' TERM; while true; do sleep 0.1; done"]}]
  containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, "echo done"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: broken}
spec:
  nodeName: node1
  restartPolicy: Never
  containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, "exit 4"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: slow}
spec:
  nodeName: node1
  restartPolicy: Never
  activeDeadlineSeconds: 2
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, "1000"]}]
`)
	phase := func(name, want string) {
		n.until(name, is(want), "get", "pod", name, "-o", "jsonpath={.status.phase}")
	}
	phase("good", "Succeeded")
	phase("broken", "Failed")
	phase("slow", "Failed")
	require.Equal(t, "DeadlineExceeded", n.kubectl("get", "pod", "slow", "-o", "jsonpath={.status.reason}"))
	require.Equal(t, "4", n.kubectl("get", "pod", "broken", "-o", "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}"))
	require.Equal(t, "0", n.kubectl("get", "pod", "good", "-o", "jsonpath={.status.initContainerStatuses[0].state.terminated.exitCode}"))
	require.Equal(t, "done\n", n.kubectl("logs", "good", "-c", "main"))
	n.kubectl("delete", "pod", "good", "broken", "slow", "--wait=true", "--timeout="+patience.String())
}

func (n *realNode) testStatic(t *testing.T) {
	n.t = t
	manifest := "apiVersion: v1\nkind: Pod\nmetadata: {name: static}\nspec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, \"1000\"]}]}\n"
	path := filepath.Join(n.static, "static.yaml")
	require.NoError(t, os.WriteFile(path, []byte(manifest), 0o644))
	id := "jsonpath={.status.containerStatuses[0].containerID}"
	n.until("static pod", is("Running"), "get", "pod", "static-node1", "-o", "jsonpath={.status.phase}")
	first := n.kubectl("get", "pod", "static-node1", "-o", id)
	uid := n.kubectl("get", "pod", "static-node1", "-o", "jsonpath={.metadata.uid}")
	n.kubectl("delete", "pod", "static-node1", "--wait=false")
	n.until("mirror is back", func(s string) bool { return s != "" && s != uid }, "get", "pod", "static-node1", "-o", "jsonpath={.metadata.uid}")
	n.until("the container was left alone", is(first), "get", "pod", "static-node1", "-o", id)
	require.NoError(t, os.Remove(path))
	n.until("mirror is gone", is(""), "get", "pod", "static-node1", "--ignore-not-found", "-o", "name")
}

func (n *realNode) testKubeletRestart(t *testing.T) {
	n.t = t
	id := "jsonpath={.status.containerStatuses[0].containerID} {.status.containerStatuses[0].state.running.startedAt} {.status.containerStatuses[0].restartCount}"
	before := n.kubectl("get", "pod", "web", "-o", id)
	n.stop()
	transition := n.kubectl("get", "pod", "web", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].lastTransitionTime}`)
	n.stop = n.startKubelet(false)
	n.kubectl("label", "pod", "web", "after=restart")
	n.until("work of the new kubelet on the pod", has(`after="restart"`), "exec", "web", "-c", "web", "--", "cat", "/labels/labels")
	require.Equal(t, transition, n.kubectl("get", "pod", "web", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].lastTransitionTime}`), "it never stopped being ready")
	n.until("ready again", is("True"), "get", "pod", "web", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	require.Equal(t, before, n.kubectl("get", "pod", "web", "-o", id))
	require.Equal(t, "made by first\n", n.kubectl("exec", "web", "-c", "web", "--", "cat", "/scratch/first"))
}

func (n *realNode) testDelete(t *testing.T) {
	n.t = t
	uid := n.kubectl("get", "pod", "web", "-o", "jsonpath={.metadata.uid}")
	n.kubectl("delete", "pod", "web", "--wait=true", "--timeout="+patience.String())
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(n.dir, "kubelet", "pods", uid))
		return os.IsNotExist(err)
	}, patience, 50*time.Millisecond, "the pod's folder stays")
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), uid)
}
