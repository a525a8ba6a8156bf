package kubelet_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/kubelet"
)

// changed restarts the kubelet with changed options, and returns what takes them back.
func (n *realNode) changed(change func(*kubelet.Options)) (restore func()) {
	apply := func() {
		n.stop()
		n.stop = n.startKubelet(false)
		n.until("node ready", has(" Ready "), "get", "node", "node1", "--no-headers")
	}
	n.change = change
	apply()
	return func() {
		n.change = nil
		apply()
	}
}

// running waits until a pod's containers are ready.
func (n *realNode) running(pod string) {
	n.t.Helper()
	n.until(pod+" runs", is("True"), "get", "pod", pod, "-o", readyStatus)
}

// containerGroup is the folder of the group of a pod's only container.
func (n *realNode) containerGroup(pod, class string) string {
	fields := strings.Fields(n.kubectl("get", "pod", pod, "-o", "jsonpath={.metadata.uid} {.status.containerStatuses[0].containerID}"))
	_, id, _ := strings.Cut(fields[1], "://")
	below := []string{"pod" + fields[0]}
	if class != "" {
		below = []string{class, below[0]}
	}
	found, err := filepath.Glob(filepath.Join(n.groupDir("memory", below...), "*"+id+"*"))
	require.NoError(n.t, err)
	require.Len(n.t, found, 1)
	return found[0]
}

// measured is what /stats/summary has of swap and pressure.
type measured struct {
	Node usedByGroup
	Pods []struct {
		PodRef struct{ Name string }
		usedByGroup
		Containers []usedByGroup
	}
}

type usedByGroup struct {
	CPU, Memory, IO struct {
		PSI *struct{ Some struct{ Total uint64 } }
	}
	Swap struct{ SwapUsageBytes uint64 }
}

// pod waits until the summary has a pod, its group and its container, that satisfy ok.
func (n *realNode) untilMeasured(pod string, ok func(node, pod, container usedByGroup) bool) {
	n.t.Helper()
	n.until("the summary of "+pod, func(text string) bool {
		var m measured
		if json.Unmarshal([]byte(text), &m) != nil {
			return false
		}
		for _, p := range m.Pods {
			if p.PodRef.Name == pod && len(p.Containers) == 1 {
				return ok(m.Node, p.usedByGroup, p.Containers[0])
			}
		}
		return false
	}, "get", "--raw", "/api/v1/nodes/node1/proxy/stats/summary")
}

// testMachineSwap lets a container use more memory than its limit: what it may swap besides is in proportion
// to its request, and pods that are not burstable swap nothing. With cgroup v1 swap cannot be limited, so
// the kubelet does not start.
func (n *realNode) testMachineSwap() {
	limited := func(opts *kubelet.Options) { opts.LimitedSwap = true }
	if !n.tree().V2 {
		n.stop()
		n.change = limited
		require.EqualError(n.t, n.newKubelet(false).Run(n.t.Context()), "kubelet: Options.LimitedSwap needs cgroup v2, and this machine has v1")
		n.change = nil
		n.stop = n.startKubelet(false)
		return
	}
	fields := strings.Fields(n.kubectl("get", "node", "node1", "-o", "jsonpath={.status.capacity.memory} {.status.nodeInfo.swap.capacity}"))
	if len(fields) < 2 {
		n.t.Skip("this machine has no swap")
	}
	swap, err := strconv.ParseInt(fields[1], 10, 64)
	require.NoError(n.t, err)
	memory := resource.MustParse(fields[0])
	const request, limit, use = 60 << 20, 64 << 20, 80 << 20
	most := int64(float64(request) / float64(memory.Value()) * float64(swap))
	if limit+most < use+8<<20 {
		n.t.Skipf("this machine has %d bytes of swap beside %d of memory, too few for a container to be seen swapping", swap, memory.Value())
	}
	defer n.changed(limited)()
	// Memory of zeros is given back instead of swapped.
	n.apply(runs("swaps", fmt.Sprintf(`sh, -c, "yes | head -c %[1]d | tail -c %[1]d | sleep 1000000"`, use), fmt.Sprintf("limits: {memory: %d}, requests: {memory: %d}", limit, request)) +
		"---" + sleeper("sure", "limits: {memory: 32Mi, cpu: 100m}") + "---" + sleeper("poor", ""))
	for _, pod := range []string{"swaps", "sure", "poor"} {
		n.running(pod)
	}
	for dir, want := range map[string]int64{n.containerGroup("swaps", "burstable"): most / 4096 * 4096, n.containerGroup("sure", ""): 0, n.containerGroup("poor", "besteffort"): 0} {
		b, err := os.ReadFile(filepath.Join(dir, "memory.swap.max"))
		require.NoError(n.t, err)
		require.Equal(n.t, strconv.FormatInt(want, 10), strings.TrimSpace(string(b)), dir)
	}
	const swapped = 4 << 20
	n.untilMeasured("swaps", func(node, pod, container usedByGroup) bool {
		return node.Swap.SwapUsageBytes >= swapped && pod.Swap.SwapUsageBytes >= swapped && container.Swap.SwapUsageBytes >= swapped
	})
	require.Equal(n.t, "0", n.kubectl("get", "pod", "swaps", "-o", "jsonpath={.status.containerStatuses[0].restartCount}"))
	require.Regexp(n.t, `container_swap_limit_bytes\{container="main",namespace="default",pod="swaps"\} `, n.kubectl("get", "--raw", "/api/v1/nodes/node1/proxy/metrics/resource"))
	n.kubectl("delete", "pod", "swaps", "sure", "poor")
}

// testPressure lets a container wait for the CPU. The kernel counts that with cgroup v2 only.
func (n *realNode) testPressure() {
	n.apply(`
apiVersion: v1
kind: Pod
metadata: {name: waits}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, "while :; do :; done"], resources: {limits: {cpu: 50m}}}]
`)
	n.running("waits")
	_, err := os.Stat("/proc/pressure/cpu")
	if !n.tree().V2 || err != nil {
		require.NotContains(n.t, n.kubectl("get", "--raw", "/api/v1/nodes/node1/proxy/stats/summary"), `"psi"`)
		n.kubectl("delete", "pod", "waits")
		return
	}
	const stalled = 100_000 // microseconds
	n.untilMeasured("waits", func(node, pod, container usedByGroup) bool {
		for _, g := range []usedByGroup{node, pod, container} {
			if g.CPU.PSI == nil || g.CPU.PSI.Some.Total < stalled || g.Memory.PSI == nil || g.IO.PSI == nil {
				return false
			}
		}
		return true
	})
	waited := regexp.MustCompile(`container_pressure_cpu_waiting_seconds_total\{container="main",[^}]*pod="waits"\} ([\d.]+)`)
	n.until("the metric", func(text string) bool {
		m := waited.FindStringSubmatch(text)
		if m == nil {
			return false
		}
		seconds, err := strconv.ParseFloat(m[1], 64)
		return err == nil && seconds*1e6 >= stalled
	}, "get", "--raw", "/api/v1/nodes/node1/proxy/metrics/cadvisor")
	n.kubectl("delete", "pod", "waits")
}

// appArmorProfile forbids one file.
const appArmorProfile = `
include <tunables/global>
profile keelson-test flags=(attach_disconnected,mediate_deleted) {
  include <abstractions/base>
  file,
  capability,
  network,
  signal,
  unix,
  deny /denied w,
}
`

func confined(name, profile string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, "1000000"], securityContext: {%s}}]
`, name, profile)
}

// testAppArmor runs containers with profiles. A machine without AppArmor refuses them.
func (n *realNode) testAppArmor() {
	enabled, _ := os.ReadFile("/sys/module/apparmor/parameters/enabled")
	if strings.TrimSpace(string(enabled)) != "Y" {
		n.apply(confined("confined", "appArmorProfile: {type: RuntimeDefault}"))
		n.until("it is refused", has("Failed AppArmor Cannot enforce AppArmor: AppArmor is not enabled on the host"), "get", "pod", "confined", "-o",
			"jsonpath={.status.phase} {.status.reason} {.status.message}")
		n.kubectl("delete", "pod", "confined")
		return
	}
	file := filepath.Join(n.dir, "profile")
	require.NoError(n.t, os.WriteFile(file, []byte(appArmorProfile), 0o600))
	out, err := exec.Command("apparmor_parser", "--replace", "--skip-cache", file).CombinedOutput()
	require.NoError(n.t, err, string(out))
	defer func() { _ = exec.Command("apparmor_parser", "--remove", file).Run() }()
	n.until("the node has AppArmor", has("AppArmor enabled"), "get", "node", "node1", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`)
	n.apply(confined("plain", "") + "---" + confined("default", "appArmorProfile: {type: RuntimeDefault}") + "---" + confined("free", "appArmorProfile: {type: Unconfined}") + "---" +
		confined("ours", "appArmorProfile: {type: Localhost, localhostProfile: keelson-test}") + "---" + confined("missing", "appArmorProfile: {type: Localhost, localhostProfile: not-there}"))
	for pod, profile := range map[string]string{"plain": "cri-containerd.apparmor.d (enforce)", "default": "cri-containerd.apparmor.d (enforce)",
		"free": "unconfined", "ours": "keelson-test (enforce)"} {
		n.running(pod)
		require.Equal(n.t, profile, strings.TrimSpace(n.kubectl("exec", pod, "--", "cat", "/proc/1/attr/current")), pod)
	}
	n.kubectl("exec", "ours", "--", "touch", "/allowed")
	_, complaint, err := n.try("exec", "ours", "--", "touch", "/denied")
	require.Error(n.t, err)
	require.Contains(n.t, complaint, "Permission denied")
	n.until("a profile that is missing", func(s string) bool {
		return strings.Contains(s, "CreateContainerError") && strings.Contains(s, "not-there")
	}, "get", "pod", "missing", "-o", "jsonpath={.status.containerStatuses[0].state.waiting}")
	n.kubectl("delete", "pod", "plain", "default", "free", "ours", "missing")
}

// testEvents lets a container end while the runtime is not listed: its event says so. A runtime without
// events is listed as before.
func (n *realNode) testEvents() {
	defer n.changed(func(opts *kubelet.Options) {
		opts.ContainerEvents = true
		if n.isModern() {
			opts.RelistInterval = time.Hour
		}
	})()
	lists := func() int {
		m := regexp.MustCompile(`(?m)^kubelet_pleg_relist_duration_seconds_count (\d+)$`).FindStringSubmatch(n.kubectl("get", "--raw", "/api/v1/nodes/node1/proxy/metrics"))
		require.NotNil(n.t, m)
		count, err := strconv.Atoi(m[1])
		require.NoError(n.t, err)
		return count
	}
	n.apply(`
apiVersion: v1
kind: Pod
metadata: {name: ends}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, "trap 'exit 7' TERM; while :; do sleep 0.1; done"]}]
`)
	n.running("ends")
	before := lists()
	n.kubectl("exec", "ends", "--", "kill", "1")
	n.until("its next run", is("1 7 True"), "get", "pod", "ends", "-o",
		`jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].lastState.terminated.exitCode} {.status.conditions[?(@.type=="Ready")].status}`)
	if n.isModern() {
		require.Equal(n.t, before, lists(), "the runtime was listed")
	} else {
		require.Greater(n.t, lists(), before)
	}
	n.kubectl("delete", "pod", "ends")
}
