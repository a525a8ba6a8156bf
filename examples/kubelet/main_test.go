package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
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
		{"cgroupDriver: systemd", "cgroupDriver"},
		{"authentication: {anonymous: {enabled: true}}", "authentication.anonymous.enabled"},
		{"authorization: {mode: Node}", "neither Webhook nor AlwaysAllow"},
		{"authentication: {webhook: {cacheTTL: -1s}}", "must not be negative"},
		{"kind: Pod", "kind"},
		{"podCIDR: x", "podCIDR"},
		{"evictionHard: {memory.available: lots}", "memory.available"},
		{"featureGates: {NodeSwap: true}", "featureGates.NodeSwap: this kubelet behaves as with false"},
		{"runOnce: true", "removed from Kubernetes"},
	} {
		_, _, err := parse([]string{"--kubeconfig=x", config(c.text)})
		require.ErrorContains(t, err, c.want)
	}
	_, _, err := parse([]string{"--kubeconfig=x", "--no-such-flag"})
	require.ErrorContains(t, err, "unknown flag")
	_, _, err = parse([]string{"--kubeconfig=x", "--lock-file=/run/lock"})
	require.ErrorContains(t, err, "--lock-file=/run/lock: an alpha feature")
	_, _, err = parse([]string{"--kubeconfig=x", "--minimum-container-ttl-duration=0s", "--cloud-provider=external"})
	require.NoError(t, err)
	_, _, err = parse(nil)
	require.ErrorContains(t, err, "--kubeconfig is required")
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
