package kubelet_test

import (
	"os"
	"strings"

	"github.com/stretchr/testify/require"
)

// testCPUs gives a container a CPU for itself, and reads from the kernel that it runs there and all others do
// not. CPU 0 is reserved.
func (n *realNode) testCPUs() {
	online, err := os.ReadFile("/sys/devices/system/cpu/online")
	require.NoError(n.t, err)
	all := strings.TrimSpace(string(online))
	if all == "0" {
		n.t.Skip("the machine has one CPU, which is reserved")
	}
	n.apply(`
apiVersion: v1
kind: Pod
metadata: {name: sharing}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, "1000000"]}]
`)
	allowed := func(pod string) []string {
		return []string{"exec", pod, "--", "sed", "-n", "s/^Cpus_allowed_list:.//p", "/proc/1/status"}
	}
	n.until("sharing runs", is("true"), "get", "pod", "sharing", "-o", "jsonpath={.status.containerStatuses[0].ready}")
	n.until("it has all CPUs", is(all), allowed("sharing")...)
	n.apply(sleeper("pinned", "limits: {cpu: 1, memory: 32Mi}"))
	n.until("pinned runs", is("true"), "get", "pod", "pinned", "-o", "jsonpath={.status.containerStatuses[0].ready}")
	own := strings.TrimSpace(n.kubectl(allowed("pinned")...))
	require.NotContains(n.t, own, "-", "a single CPU")
	require.NotEqual(n.t, "0", own)
	n.until("the other has left it", func(s string) bool { return strings.TrimSpace(s) != all && !strings.Contains(s, own) }, allowed("sharing")...)
	n.kubectl("delete", "pod", "pinned", "--wait=false")
	n.until("the CPU is shared again", is(all), allowed("sharing")...)
	n.kubectl("delete", "pod", "sharing", "--wait=false")
}
