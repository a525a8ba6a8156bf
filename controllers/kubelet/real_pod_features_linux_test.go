package kubelet_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakedra"
)

// testDynamicResources gives a pod a device of a driver at a real socket. Debian's containerd is older than
// CDI: the pod does not start without its device, and the claim is given back.
func (n *realNode) testDynamicResources() {
	d := fakedra.New("gpus.example.com")
	ctx, cancel := context.WithCancel(n.t.Context())
	wait, err := d.Serve(ctx, filepath.Join(n.dir, "kubelet"))
	require.NoError(n.t, err)
	defer wait()
	defer cancel()
	require.Eventually(n.t, func() bool { return slices.Equal(d.Registrations(), []string{""}) }, patience, 50*time.Millisecond)
	n.apply(`
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu}
spec: {devices: {requests: [{name: one, exactly: {deviceClassName: gpus}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: dynamic}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  resourceClaims: [{name: gpu, resourceClaimName: gpu}]
  containers: [{name: c, image: busybox, imagePullPolicy: Never, command: [sleep, "1000"], resources: {claims: [{name: gpu}]}}]
`)
	claims := client.For[*resourcev1.ResourceClaim](n.conn)
	claim, err := claims.Get(ctx, types.NamespacedName{Namespace: "default", Name: "gpu"})
	require.NoError(n.t, err)
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "one", Driver: d.Name(), Pool: "node", Device: "gpu"}}}}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "dynamic", UID: types.UID(n.kubectl("get", "pod", "dynamic", "-o", "jsonpath={.metadata.uid}"))}}
	_, err = claims.UpdateStatus(ctx, claim)
	require.NoError(n.t, err)
	n.until("the device is refused", has("does not support CDI devices, such as gpus.example.com/device=gpu"), "get", "pod", "dynamic", "-o", "jsonpath={.status.containerStatuses[0].state.waiting}")
	require.Equal(n.t, []string{"default/gpu"}, d.Prepared())
	n.kubectl("delete", "pod", "dynamic")
	require.Eventually(n.t, func() bool { return len(d.Prepared()) == 0 }, patience, 50*time.Millisecond)
	n.kubectl("delete", "resourceclaim", "gpu")
}

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
