package kubelet_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// testForkBomb runs a pod that makes as many processes as it can. It gets what a pod may have, and the pod
// beside it goes on.
func (n *realNode) testForkBomb() {
	n.apply(`
apiVersion: v1
kind: Pod
metadata: {name: bomb}
spec:
  nodeName: node1
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: busybox, imagePullPolicy: Never, command: [sh, -c, "while :; do sleep 1000 & done"]}]
`)
	n.until("no more processes", has("can't fork"), "logs", "bomb")
	group := "/kubepods/besteffort/pod" + n.kubectl("get", "pod", "bomb", "-o", "jsonpath={.metadata.uid}")
	read := func(file string) string {
		b, err := os.ReadFile(filepath.Join("/sys/fs/cgroup/pids", n.cgroup(), group, file))
		if err != nil {
			b, err = os.ReadFile(filepath.Join("/sys/fs/cgroup", n.cgroup(), group, file))
		}
		require.NoError(n.t, err)
		return strings.TrimSpace(string(b))
	}
	require.Equal(n.t, strconv.Itoa(realPIDs), read("pids.max"))
	n.kubectl("exec", "web", "-c", "web", "--", "true")
	n.kubectl("delete", "pod", "bomb")
}

const featurePods = `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: costly}
handler: runc
overhead: {podFixed: {cpu: 100m, memory: 32Mi}}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: missing}
handler: nothing
---
apiVersion: v1
kind: Pod
metadata: {name: own-users}
spec:
  nodeName: node1
  hostUsers: false
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: busybox, imagePullPolicy: Never, command: [sleep, "1000"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: image-volume}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  volumes: [{name: v, image: {reference: busybox, pullPolicy: Never}}]
  containers: [{name: c, image: busybox, imagePullPolicy: Never, command: [sleep, "1000"], volumeMounts: [{name: v, mountPath: /data}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: read-only}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  volumes: [{name: v, emptyDir: {}}]
  containers: [{name: c, image: busybox, imagePullPolicy: Never, command: [sleep, "1000"], volumeMounts: [{name: v, mountPath: /data, readOnly: true, recursiveReadOnly: Enabled}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: no-handler}
spec:
  nodeName: node1
  runtimeClassName: missing
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: busybox, imagePullPolicy: Never, command: [sleep, "1000"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: overhead}
spec:
  nodeName: node1
  runtimeClassName: costly
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: busybox, imagePullPolicy: Never, command: [sleep, "1000"], resources: {limits: {cpu: 200m, memory: 64Mi}}}]
`

// testPodFeatures runs pods whose demands the runtime decides about. Debian's containerd is older than user
// namespaces and image volumes: such pods do not run, and say why.
func (n *realNode) testPodFeatures() {
	n.apply(featurePods)
	waiting := func(pod, what string) {
		n.until(pod, has(what), "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].state.waiting}")
	}
	event := func(pod, what string) {
		n.until(pod, has(what), "get", "events", "--field-selector=involvedObject.name="+pod)
	}
	event("own-users", "can't set `spec.hostUsers: false`, runtime does not support user namespaces")
	event("no-handler", "nothing")
	waiting("image-volume", "the container runtime does not support image volumes: ")
	waiting("read-only", "requested recursive read-only mode, but it is not supported by the runtime")
	n.until("overhead", is("Running"), "get", "pod", "overhead", "-o", "jsonpath={.status.phase}")
	require.Equal(n.t, "100m", n.kubectl("get", "pod", "overhead", "-o", "jsonpath={.spec.overhead.cpu}"))
	group := "/kubepods/pod" + n.kubectl("get", "pod", "overhead", "-o", "jsonpath={.metadata.uid}")
	read := func(v1, v2 string) string {
		b, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", filepath.Dir(v1), n.cgroup(), group, filepath.Base(v1)))
		if err != nil {
			b, err = os.ReadFile(filepath.Join("/sys/fs/cgroup", n.cgroup(), group, v2))
		}
		require.NoError(n.t, err)
		return strings.TrimSpace(string(b))
	}
	require.Equal(n.t, "100663296", read("memory/memory.limit_in_bytes", "memory.max"), "64 MiB and the overhead")
	require.Contains(n.t, []string{"30000", "30000 100000"}, read("cpu/cpu.cfs_quota_us", "cpu.max"))
	for _, pod := range []string{"own-users", "image-volume", "read-only", "no-handler"} {
		require.NotEqual(n.t, "Running", n.kubectl("get", "pod", pod, "-o", "jsonpath={.status.phase}"))
	}
	n.kubectl("delete", "pod", "own-users", "image-volume", "read-only", "no-handler", "overhead")
	n.kubectl("delete", "runtimeclass", "costly", "missing")
}
