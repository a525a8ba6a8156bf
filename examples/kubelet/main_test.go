package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
	"github.com/keelson-dev/keelson/examples/internal/collector"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/examples/internal/flagtest"
	"github.com/keelson-dev/keelson/store/storetest"
)

func TestFlagsWinOverTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
maxPods: 7
staticPodPath: /etc/kubernetes/manifests
kubeReserved: {cpu: 100m}
registerWithTaints: [{key: a, value: b, effect: NoSchedule}]
`), 0o600))
	o, c, err := parse([]string{"--kubeconfig=x", "--config=" + file, "--max-pods=9", "--node-labels=a=b", "--hostname-override=n1", "--system-reserved=cpu=100m"})
	require.NoError(t, err)
	ko, err := options(o, c)
	require.NoError(t, err)
	require.Equal(t, "n1", ko.NodeName)
	require.Equal(t, map[string]string{"a": "b"}, ko.NodeLabels)
	require.Equal(t, []string{"10.96.0.10"}, ko.ClusterDNS)
	require.Equal(t, "/etc/kubernetes/manifests", ko.StaticPodDir)
	require.Equal(t, 20*time.Second, ko.StaticPodInterval)
	require.Len(t, ko.Taints, 1)
	pods, cpu := ko.Capacity[corev1.ResourcePods], ko.Reserved[corev1.ResourceCPU]
	require.EqualValues(t, 9, pods.Value())
	require.EqualValues(t, 200, cpu.MilliValue())
	require.Equal(t, "unix:///run/containerd/containerd.sock", ko.RuntimeEndpoint)
}

func TestWhatIsRefused(t *testing.T) {
	dir := t.TempDir()
	config := func(text string) string {
		path := filepath.Join(dir, "c.yaml")
		require.NoError(t, os.WriteFile(path, []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"+text), 0o600))
		return "--config=" + path
	}
	for _, c := range []struct{ text, want string }{
		{"nonsense: 1", "nonsense"},
		{"cgroupDriver: runc", "cgroupDriver"},
		{"authentication: {anonymous: {enabled: true}}", "authentication.anonymous.enabled"},
		{"authorization: {mode: Node}", "neither Webhook nor AlwaysAllow"},
		{"authentication: {webhook: {cacheTTL: -1s}}", "must not be negative"},
		{"kind: Pod", "kind"},
		{"podCIDR: x", "podCIDR"},
		{"evictionHard: {memory.available: lots}", "memory.available"},
		{"featureGates: {NodeSwap: false}", "featureGates: cannot set feature gate NodeSwap to false, feature is locked to true"},
		{"runOnce: true", "removed from Kubernetes"},
	} {
		_, _, err := parse([]string{"--kubeconfig=x", config(c.text)})
		require.ErrorContains(t, err, c.want)
	}
	_, _, err := parse([]string{"--kubeconfig=x", "--no-such-flag"})
	require.ErrorContains(t, err, "unknown flag")
	_, _, err = parse([]string{"--kubeconfig=x", "--lock-file=/run/lock"})
	require.ErrorContains(t, err, `"--lock-file" flag: an alpha feature`)
	o, c, err := parse([]string{"--kubeconfig=x", "--minimum-container-ttl-duration=0s", "--cloud-provider=external"})
	require.NoError(t, err)
	ko, err := options(o, c)
	require.NoError(t, err)
	require.True(t, ko.ExternalCloud)
	require.IsType(t, kubelet.SystemNetwork{}, ko.Network)
	o.nodeIP = "192.0.2.1, x,2001:db8::1"
	ko, err = options(o, c)
	require.NoError(t, err)
	require.Len(t, ko.NodeIPs, 2)
	require.Equal(t, []string{"x"}, o.ignoredIPs)
	o.nodeIP = "192.0.2.1,192.0.2.2"
	_, err = options(o, c)
	require.EqualError(t, err, `bad --node-ip "192.0.2.1,192.0.2.2": must contain either a single IP or a dual-stack pair of IPs`)
	o.nodeIP, o.cloud = "", "aws"
	_, err = options(o, c)
	require.EqualError(t, err, "--cloud-provider=aws: cloud providers are programs of their own; set it to external")
}

// Every flag of the kubelet is known, and docs/kubelet-flags.md says what becomes of it.
func TestEveryFlagIsKnown(t *testing.T) {
	flagtest.Check(t, flagSet(&flags{}, kubeletconfig.Default()))
}

// The command line wins over the file, and what has another effect here is refused with the reason.
func TestFlagsOfTheLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nlogging: {format: json, verbosity: 2}\n"), 0o600))
	for args, want := range map[string]component.Logging{
		"":                          {Format: "json", Verbosity: 2},
		"-v=4":                      {Format: "json", Verbosity: 4},
		"--logging-format=text -v0": {Format: "text"},
	} {
		o, _, err := parse(append(strings.Fields(args), "--config="+file, "--kubeconfig=x"))
		require.NoError(t, err)
		require.Equal(t, want, o.logging, args)
	}
	for flag, why := range map[string]string{"--housekeeping-interval=1s": "cAdvisor", "--maximum-dead-containers=3": "one ended run", "--logging-format=xml": "want text or json"} {
		_, _, err := parse([]string{flag, "--kubeconfig=x"})
		require.ErrorContains(t, err, why, flag)
	}
}

// Programs for credentials are those of a file and a folder, which exist.
func TestCredentialProviderFlags(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "providers.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers: [{name: p, matchImages: [r.example.com], defaultCacheDuration: 1h, apiVersion: credentialprovider.kubelet.k8s.io/v1}]`), 0o600))
	with := func(args ...string) (kubelet.Options, error) {
		o, c, err := parse(append([]string{"--kubeconfig=x"}, args...))
		require.NoError(t, err)
		return options(o, c)
	}
	const config, programs = "--image-credential-provider-config=", "--image-credential-provider-bin-dir="
	ko, err := with(config+file, programs+dir)
	require.NoError(t, err)
	require.Equal(t, dir, ko.CredentialProviders.Dir)
	require.Equal(t, "p", ko.CredentialProviders.Providers[0].Name)
	_, err = kubelet.New(nil, ko)
	require.ErrorContains(t, err, `credential provider "p"`, "there is no such program")
	_, err = with(config + file)
	require.ErrorContains(t, err, "need each other")
	_, err = with(config+dir+"/none", programs+dir)
	require.ErrorContains(t, err, config[:len(config)-1])
}

// Without an API server, what needs one is refused.
func TestStandaloneFlags(t *testing.T) {
	_, _, err := parse([]string{"--bootstrap-kubeconfig=x", "--rotate-certificates"})
	for _, want := range []string{"--bootstrap-kubeconfig needs", "authentication.webhook.enabled", "authorization.mode", "rotateCertificates", "staticPodPath or staticPodURL"} {
		require.ErrorContains(t, err, want)
	}
	_, _, err = parse([]string{"--enable-server=false", "--pod-manifest-path=/m"})
	require.NoError(t, err)
	_, _, err = parse([]string{"--authentication-token-webhook=false", "--authorization-mode=AlwaysAllow", "--manifest-url=http://m/"})
	require.NoError(t, err)
}

// The program runs a static pod without an API server, from a manifest that is written while it runs, and
// shows it on its ports.
func TestStandaloneProgram(t *testing.T) {
	dir := t.TempDir()
	manifests, socket := filepath.Join(dir, "manifests"), filepath.Join(dir, "cri.sock")
	require.NoError(t, os.Mkdir(manifests, 0o755))
	serving, stop := context.WithCancel(context.Background())
	rt := fakecri.New("img")
	dial, wait := rt.Serve(serving)
	defer wait()
	defer stop()
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	go forward(l, dial)
	_, port, err := net.SplitHostPort(storetest.FreeAddress(t))
	require.NoError(t, err)

	traces := collector.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--pod-manifest-path=" + manifests, "--container-runtime-endpoint=unix://" + socket, "--root-dir=" + dir, "--cert-dir=" + dir, "--hostname-override=n1",
			"--authentication-token-webhook=false", "--authorization-mode=AlwaysAllow", "--port=" + port, "--healthz-port=0", "--address=127.0.0.1", "--config=" + config(t, dir, "tracing: {endpoint: '"+traces.Address+"', samplingRatePerMillion: 1000000}\n")})
	}()
	require.NoError(t, os.WriteFile(filepath.Join(manifests, "a.yaml"), []byte(
		"apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: img, imagePullPolicy: IfNotPresent}]}\n"), 0o600))
	require.Eventually(t, func() bool { return slices.Equal(rt.Running(), []string{"web-n1/main"}) }, time.Minute, 10*time.Millisecond)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // a generated certificate
	resp, err := c.Get("https://127.0.0.1:" + port + "/pods")
	require.NoError(t, err)
	_ = resp.Body.Close()
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode, "clients need a certificate still")
	for _, at := range []string{"device-plugins", "pod-resources"} {
		require.EventuallyWithT(t, func(t *assert.CollectT) { // pods do not wait for these servers
			conn, err := net.Dial("unix", filepath.Join(dir, at, "kubelet.sock"))
			require.NoError(t, err)
			require.NoError(t, conn.Close())
		}, time.Minute, 10*time.Millisecond)
	}
	cancel()
	require.NoError(t, <-done)
	require.Equal(t, []string{"web-n1/main"}, rt.Running(), "containers outlive the kubelet")
	// The calls that started the pod are spans below a look at it.
	started := traces.Wait(t, "the start", func(s collector.Span) bool { return s.Name == "runtime.v1.RuntimeService/StartContainer" })
	look := traces.Wait(t, "the look at the pod", func(s collector.Span) bool { return s.ID == started.ParentID })
	require.Equal(t, "syncPod", look.Name)
	require.Equal(t, "kubelet", look.Service)
	require.Equal(t, "default/web-n1", look.Attributes["k8s.pod"])
	for _, s := range traces.Spans() {
		require.Equal(t, strings.HasPrefix(s.Name, "sync"), s.ParentID == "", "calls for no pod make no spans: %+v", s)
	}
}

// config is a configuration file for what has no flag.
func config(t *testing.T, dir string, more ...string) string {
	path := filepath.Join(dir, "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\npodLogsDir: "+filepath.Join(dir, "logs")+
		"\ncgroupsPerQOS: false\nenforceNodeAllocatable: [none]\nfailSwapOn: false\nfailCgroupV1: false\noomScoreAdj: 0\nmaxOpenFiles: 1024\n"+
		// The disk may be short of space.
		"evictionHard: {memory.available: 100Mi}\nimageGCHighThresholdPercent: 100\n"+strings.Join(more, "")), 0o600))
	return path
}

// forward serves on a socket what dial connects to.
func forward(l net.Listener, dial func(context.Context, string) (net.Conn, error)) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		to, err := dial(context.Background(), "")
		if err != nil {
			_ = from.Close()
			continue
		}
		copyTo := func(a, b net.Conn) {
			_, _ = io.Copy(a, b)
			_ = a.Close()
		}
		go copyTo(from, to)
		go copyTo(to, from)
	}
}

// The configuration that installers write, with webhook authorization, is accepted.
func TestStandardAccess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {cacheTTL: 0s, enabled: true}
  x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}
authorization:
  mode: Webhook
  webhook: {cacheAuthorizedTTL: 0s, cacheUnauthorizedTTL: 0s}
`), 0o600))
	_, c, err := parse([]string{"--kubeconfig=x", "--config=" + file})
	require.NoError(t, err)
	require.True(t, *c.Authentication.Webhook.Enabled)
	require.Equal(t, "Webhook", c.Authorization.Mode)

	_, c, err = parse([]string{"--kubeconfig=x"})
	require.NoError(t, err)
	require.True(t, *c.Authentication.Webhook.Enabled, "the default")
	require.False(t, *c.Authentication.Anonymous.Enabled)
	require.Equal(t, "Webhook", c.Authorization.Mode)

	_, c, err = parse([]string{"--kubeconfig=x", "--config=" + file, "--authorization-mode=AlwaysAllow", "--authentication-token-webhook=false", "--authentication-token-webhook-cache-ttl=1m"})
	require.NoError(t, err)
	require.False(t, *c.Authentication.Webhook.Enabled)
	require.Equal(t, "AlwaysAllow", c.Authorization.Mode)
	require.Equal(t, time.Minute, c.Authentication.Webhook.CacheTTL.Duration)
}

// The flags for maps replace what the file says.
func TestFlagsOfMaps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
evictionHard: {memory.available: 200Mi, nodefs.available: 5%}
kubeReserved: {cpu: '1'}
registerWithTaints: [{key: a, effect: NoSchedule}]
readOnlyPort: 10255
`), 0o600))
	_, c, err := parse([]string{"--kubeconfig=x", "--config=" + file, "--eviction-hard=memory.available<1Gi", "--eviction-hard=pid.available<5%",
		"--register-with-taints=b=c:NoExecute", "--feature-gates=SidecarContainers=true", "--read-only-port=0"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"memory.available": "1Gi", "pid.available": "5%"}, c.EvictionHard)
	require.Equal(t, map[string]string{"cpu": "1"}, c.KubeReserved)
	require.Equal(t, []corev1.Taint{{Key: "b", Value: "c", Effect: corev1.TaintEffectNoExecute}}, c.RegisterWithTaints)
	require.EqualValues(t, 0, c.ReadOnlyPort)
}
