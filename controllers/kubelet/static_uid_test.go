package kubelet

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// manifests of static pods, by file, with the UIDs that kubelet 1.36.3 gives them in
// /etc/kubernetes/manifests of node-1.
var staticManifests = []struct{ file, uid, text string }{
	{"least.yaml", "8126457eb00ddeeedcb92022b01aba13", `
apiVersion: v1
kind: Pod
metadata: {name: least}
spec: {containers: [{name: c, image: busybox}]}
`},
	{"etcd.yaml", "761d04d77f88421b26487e0e2393ae53", `
apiVersion: v1
kind: Pod
metadata:
  annotations: {kubeadm.kubernetes.io/etcd.advertise-client-urls: "https://10.0.0.1:2379"}
  creationTimestamp: null
  labels: {component: etcd, tier: control-plane}
  name: etcd
  namespace: kube-system
spec:
  containers:
  - command: [etcd, --advertise-client-urls=https://10.0.0.1:2379, --name=node-1]
    image: registry.k8s.io/etcd:3.6.6-0
    imagePullPolicy: IfNotPresent
    livenessProbe: {failureThreshold: 8, httpGet: {host: 127.0.0.1, path: /livez, port: 2381, scheme: HTTP}, initialDelaySeconds: 10, periodSeconds: 10, timeoutSeconds: 15}
    readinessProbe: {failureThreshold: 3, httpGet: {host: 127.0.0.1, path: /readyz, port: probe-port, scheme: HTTP}, periodSeconds: 1, timeoutSeconds: 15}
    name: etcd
    ports: [{containerPort: 2381, name: probe-port, protocol: TCP}]
    resources: {requests: {cpu: 100m, memory: 100Mi}}
    volumeMounts: [{mountPath: /var/lib/etcd, name: etcd-data}, {mountPath: /etc/kubernetes/pki/etcd, name: etcd-certs}]
  hostNetwork: true
  priority: 2000001000
  priorityClassName: system-node-critical
  securityContext: {seccompProfile: {type: RuntimeDefault}}
  volumes:
  - {hostPath: {path: /etc/kubernetes/pki/etcd, type: DirectoryOrCreate}, name: etcd-certs}
  - {hostPath: {path: /var/lib/etcd, type: DirectoryOrCreate}, name: etcd-data}
status: {}
`},
	{"much.yaml", "c0ec484ccee690d505f6e7895fe72c5c", `
apiVersion: v1
kind: Pod
metadata:
  name: much
  labels: {b: "2", a: "1"}
  finalizers: [example.com/f]
  ownerReferences: [{apiVersion: v1, kind: Node, name: node, uid: u, controller: true}]
spec:
  activeDeadlineSeconds: 100
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: In, values: [a, b]}]}]}
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution: [{weight: 3, podAffinityTerm: {topologyKey: t, labelSelector: {matchLabels: {x: z}, matchExpressions: [{key: z, operator: Exists}]}}}]
  automountServiceAccountToken: false
  dnsConfig: {nameservers: [1.1.1.1], searches: [a.example], options: [{name: ndots, value: "2"}]}
  dnsPolicy: None
  enableServiceLinks: false
  hostAliases: [{ip: 127.0.0.2, hostnames: [foo, bar]}]
  hostIPC: true
  hostPID: true
  hostname: host
  subdomain: sub
  nodeSelector: {disk: ssd}
  os: {name: linux}
  preemptionPolicy: Never
  readinessGates: [{conditionType: example.com/gate}]
  restartPolicy: OnFailure
  runtimeClassName: kata
  schedulerName: mine
  setHostnameAsFQDN: true
  terminationGracePeriodSeconds: 7
  tolerations: [{key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 60}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}}]
  securityContext:
    runAsUser: 1000
    runAsGroup: 1000
    runAsNonRoot: true
    supplementalGroups: [1, 2]
    supplementalGroupsPolicy: Merge
    fsGroup: 5
    fsGroupChangePolicy: OnRootMismatch
    seLinuxOptions: {level: "s0:c1,c2"}
    sysctls: [{name: net.ipv4.tcp_syncookies, value: "1"}]
  initContainers:
  - {name: side, image: "a/b:latest", restartPolicy: Always, startupProbe: {exec: {command: ["true"]}}, lifecycle: {preStop: {sleep: {seconds: 3}}, postStart: {httpGet: {port: 80}}}}
  - {name: first, image: "a/b@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", resources: {limits: {cpu: "1", memory: 1Gi}}}
  containers:
  - name: c
    image: img
    command: []
    args: [a, "b c"]
    workingDir: /w
    stdin: true
    tty: true
    terminationMessagePolicy: FallbackToLogsOnError
    env:
    - {name: A, value: b}
    - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: R, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
    ports: [{containerPort: 80, hostPort: 8080, hostIP: 127.0.0.1, protocol: UDP}, {containerPort: 81, name: x}]
    resources:
      limits: {cpu: 0.5, memory: 1.5Gi, example.com/dev: 2, ephemeral-storage: 1e9, hugepages-2Mi: 4Mi}
      requests: {cpu: 250.5m, memory: 1024Mi, example.com/dev: "2"}
    livenessProbe: {grpc: {port: 5}, terminationGracePeriodSeconds: 3}
    readinessProbe: {tcpSocket: {port: x}}
    securityContext:
      allowPrivilegeEscalation: false
      capabilities: {add: [NET_ADMIN], drop: [ALL]}
      readOnlyRootFilesystem: true
      procMount: Default
      appArmorProfile: {type: Localhost, localhostProfile: p}
    volumeMounts:
    - {name: empty, mountPath: /e, subPathExpr: $(A), mountPropagation: HostToContainer}
    - {name: mem, mountPath: /m, readOnly: true, recursiveReadOnly: IfPossible}
    volumeDevices: []
  volumes:
  - {name: empty}
  - {name: mem, emptyDir: {medium: Memory, sizeLimit: 8Mi}}
  - {name: half, emptyDir: {sizeLimit: 0.5Gi}}
  - {name: down, downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}, {path: r, resourceFieldRef: {containerName: c, resource: requests.memory}}]}}
  - {name: proj, projected: {sources: [{downwardAPI: {items: [{path: name, mode: 256, fieldRef: {fieldPath: metadata.name}}]}}]}}
  - {name: nfs, nfs: {server: s, path: /p, readOnly: true}}
  - {name: fc, fc: {targetWWNs: [w], lun: 1}}
  - {name: iscsi, iscsi: {targetPortal: t, iqn: "iqn.2020-01.com.example:x", lun: 0}}
  - {name: image, image: {reference: "r:latest"}}
`},
}

// staticUIDOf is the UID of a manifest at path on node-1; empty if it is refused.
func staticUIDOf(t *testing.T, path, text string) string {
	k := &Kubelet{opts: Options{NodeName: "node-1"}, log: slog.New(slog.DiscardHandler)}
	pod, err := k.staticPod(path, []byte(text))
	if err != nil {
		t.Logf("%s is refused: %v", path, err)
		return ""
	}
	require.Equal(t, string(pod.UID), pod.Annotations[annotationConfigHash])
	return string(pod.UID)
}

// A static pod has the UID that the real kubelet gives it, so that its containers go on when one takes the
// place of the other.
func TestStaticUIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range staticManifests {
		path := filepath.Join("/etc/kubernetes/manifests", m.file)
		require.Equal(t, m.uid, staticUIDOf(t, path, m.text), m.file)
		seen[m.uid] = true
		require.NotEqual(t, m.uid, staticUIDOf(t, path+".old", m.text), "another file")
	}
	require.Len(t, seen, len(staticManifests))
}

// Zeros and large amounts that are written with binary suffixes are held in other ways than others. The texts
// are those of the real kubelet's types.
func TestHeldQuantities(t *testing.T) {
	const most = "{neg:(bool)false abs:(big.nat)[9223372036854775807]} scale:(inf.Scale)0"
	const rounded = "abs:(big.nat)[18446744073709550616 499]} scale:(inf.Scale)3"
	for text, want := range map[string][2]string{
		"0Pi":                    {"abs:(big.nat)<nil>} scale:(inf.Scale)0", "abs:(big.nat)<nil>} scale:(inf.Scale)3"},
		"0.0Ki":                  {"abs:(big.nat)<nil>} scale:(inf.Scale)1", "abs:(big.nat)<nil>} scale:(inf.Scale)3"},
		"0e-12":                  {"abs:(big.nat)<nil>} scale:(inf.Scale)12", "value:(int64)0 scale:(resource.Scale)0} d:(resource.infDecAmount){Dec:(*inf.Dec){unscaled:(big.Int){neg:(bool)false abs:(big.nat)<nil>} scale:(inf.Scale)3"},
		"8Ei":                    {most, rounded},
		"8.0Ei":                  {most, rounded},
		"9007199254740993Ki":     {most, rounded},
		"-9223372036854775809Ki": {"{neg:(bool)true abs:(big.nat)[9223372036854775807]} scale:(inf.Scale)0", "neg:(bool)true " + rounded},
		"9223372036854775808":    {"abs:(big.nat)[0 500000000]} scale:(inf.Scale)9", "abs:(big.nat)[0 500]} scale:(inf.Scale)3"},
		"1.5Ki":                  {"abs:(big.nat)[1536000000000]} scale:(inf.Scale)9", "abs:(big.nat)[1536000]} scale:(inf.Scale)3"},
	} {
		for i, milli := range []bool{false, true} {
			var b strings.Builder
			p := podPrinter{out: &b, milli: milli}
			p.quantity(p.rounded(resource.MustParse(text)), text)
			require.Contains(t, b.String(), want[i], text)
		}
	}
}

// quantityText draws a quantity as a manifest may write it.
func quantityText(r *rand.Rand) string {
	if r.IntN(20) == 0 {
		return "0"
	}
	number := []string{"1", "5", "8", "10", "16", "100", "1000", "1024", "12345", "2000000", "0.5", "1.5", "1.50", "0.1", "2.25", "007", "+3", "1.0005", ".5", "3.", "0", "0.0", "9007199254740993"}
	suffix := []string{"", "", "", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "u", "n", "e3", "E2", "e-3", "P", "Pi", "Ei"}
	return number[r.IntN(len(number))] + suffix[r.IntN(len(suffix))]
}

// The UIDs are those of the real kubelet, as .ci/peers builds it, of the manifests of TestStaticUIDs and of
// random ones.
func TestStaticUIDsBeside(t *testing.T) {
	type world struct{ Path, Node string }
	theirs := seeds.Beside[world, string](t, "static-pods")
	dir := t.TempDir()
	check := func(file, text string) {
		path := filepath.Join(dir, file)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.Equal(t, theirs(world{path, "node-1"}), staticUIDOf(t, path, text), text)
	}
	for _, m := range staticManifests {
		check(m.file, m.text)
	}
	for _, seed := range seeds.Of(t, 300) {
		r := rand.New(rand.NewPCG(seed, 1))
		check(fmt.Sprintf("random-%d.yaml", seed), fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: c, image: i, resources: {limits: {example.com/a: "%d", memory: %q, cpu: %s}, requests: {memory: 0}}}
  volumes: [{name: e, emptyDir: {sizeLimit: %q}}]
`, r.IntN(3000), quantityText(r), quantityText(r), quantityText(r)))
	}
}
