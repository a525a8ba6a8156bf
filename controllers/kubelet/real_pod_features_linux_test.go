package kubelet_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"

	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakedra"
)

// isModern reports whether the runtime has what containerd 2 has: CDI, user namespaces, image volumes.
func (n *realNode) isModern() bool { return !strings.HasPrefix(n.runtime.Version(), "containerd 1.") }

// testDynamicResources gives a pod a device of a driver at a real socket. A containerd that is older than CDI
// does not start the pod without its device. Either way the claim is given back.
func (n *realNode) testDynamicResources() {
	d := fakedra.New("gpus.example.com")
	if n.isModern() {
		const folder = "/var/run/cdi"
		require.NoError(n.t, os.MkdirAll(folder, 0o755))
		file := filepath.Join(folder, "gpus.example.com.json")
		require.NoError(n.t, os.WriteFile(file, []byte(`{"cdiVersion": "0.6.0", "kind": "gpus.example.com/device",
			"devices": [{"name": "gpu", "containerEdits": {"env": ["GPU=first"]}}]}`), 0o644))
		defer os.Remove(file)
	}
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
	if n.isModern() {
		n.until("the pod runs", is("true"), "get", "pod", "dynamic", "-o", "jsonpath={.status.containerStatuses[0].ready}")
		require.Equal(n.t, "first", strings.TrimSpace(n.kubectl("exec", "dynamic", "--", "sh", "-c", "echo $GPU")))
	} else {
		n.until("the device is refused", has("does not support CDI devices, such as gpus.example.com/device=gpu"), "get", "pod", "dynamic", "-o", "jsonpath={.status.containerStatuses[0].state.waiting}")
	}
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
	group := "pod" + n.kubectl("get", "pod", "bomb", "-o", "jsonpath={.metadata.uid}")
	read := func(file string) string { return n.setting(file, file, "besteffort", group) }
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
  volumes: [{name: scratch, emptyDir: {}}, {name: settings, configMap: {name: settings}}, {name: memory, emptyDir: {medium: Memory}}]
  containers:
  - name: c
    image: busybox
    imagePullPolicy: Never
    command: [sleep, "1000"]
    volumeMounts: [{name: scratch, mountPath: /scratch}, {name: settings, mountPath: /settings}, {name: memory, mountPath: /memory}]
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

// testPodFeatures runs pods whose demands the runtime decides about. With a containerd that is older than
// user namespaces and image volumes such pods do not run, and say why.
func (n *realNode) testPodFeatures() {
	n.apply(featurePods)
	waiting := func(pod, what string) {
		n.until(pod, has(what), "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].state.waiting}")
	}
	event := func(pod, what string) {
		n.until(pod, has(what), "get", "events", "--field-selector=involvedObject.name="+pod)
	}
	event("no-handler", "nothing")
	stopped := []string{"no-handler"}
	if n.isModern() {
		n.checkModernFeatures()
	} else {
		event("own-users", "can't set `spec.hostUsers: false`, runtime does not support user namespaces")
		waiting("image-volume", "the container runtime does not support image volumes: ")
		waiting("read-only", "requested recursive read-only mode, but it is not supported by the runtime")
		stopped = append(stopped, "own-users", "image-volume", "read-only")
	}
	n.until("overhead", is("Running"), "get", "pod", "overhead", "-o", "jsonpath={.status.phase}")
	require.Equal(n.t, "100m", n.kubectl("get", "pod", "overhead", "-o", "jsonpath={.spec.overhead.cpu}"))
	group := "pod" + n.kubectl("get", "pod", "overhead", "-o", "jsonpath={.metadata.uid}")
	require.Equal(n.t, "100663296", n.setting("memory.limit_in_bytes", "memory.max", group), "64 MiB and the overhead")
	require.Contains(n.t, []string{"30000", "30000 100000"}, n.setting("cpu.cfs_quota_us", "cpu.max", group))
	for _, pod := range stopped {
		require.NotEqual(n.t, "Running", n.kubectl("get", "pod", pod, "-o", "jsonpath={.status.phase}"))
	}
	n.kubectl("delete", "pod", "own-users", "image-volume", "read-only", "no-handler", "overhead")
	n.kubectl("delete", "runtimeclass", "costly", "missing")
}

// checkModernFeatures looks into the pods that only newer runtimes can run.
func (n *realNode) checkModernFeatures() {
	exec := func(pod string, command ...string) string {
		n.until(pod, is("true"), "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].ready}")
		return n.kubectl(append([]string{"exec", pod, "--"}, command...)...)
	}
	ids := strings.Fields(exec("own-users", "cat", "/proc/self/uid_map"))
	require.Len(n.t, ids, 3)
	require.Equal(n.t, []string{"0", "65536"}, []string{ids[0], ids[2]})
	first, err := strconv.Atoi(ids[1])
	require.NoError(n.t, err)
	require.GreaterOrEqual(n.t, first, 65536, "root of the pod is nobody on the node")
	// Volumes, those in memory too, which needs Linux 6.3, belong to the pod's root, and on the node to root.
	require.Equal(n.t, "0", strings.TrimSpace(exec("own-users", "sh", "-c", "touch /scratch/file /memory/file && stat -c %u /scratch/file /memory/file | uniq")))
	uid := n.kubectl("get", "pod", "own-users", "-o", "jsonpath={.metadata.uid}")
	info, err := os.Stat(filepath.Join(n.dir, "kubelet", "pods", uid, "volumes", "kubernetes.io~empty-dir", "scratch", "file"))
	require.NoError(n.t, err)
	require.Zero(n.t, info.Sys().(*syscall.Stat_t).Uid)
	require.Contains(n.t, []string{"blue", "red"}, exec("own-users", "cat", "/settings/color"))
	require.NotEmpty(n.t, exec("own-users", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token"))
	require.Contains(n.t, exec("image-volume", "ls", "/data/bin"), "busybox")
	_, complaint, err := n.try("exec", "image-volume", "--", "touch", "/data/file")
	require.Error(n.t, err)
	require.Contains(n.t, complaint, "Read-only file system")
	require.Regexp(n.t, ` /data \S+ ro,`, exec("read-only", "cat", "/proc/mounts"))
}

// testRestartAll runs a pod whose init container writes a file of variables, from which its container takes
// one, and whose container ends once with the code of its rule: all start again, with a second line of the
// init container.
func (n *realNode) testRestartAll() {
	n.apply(`
apiVersion: v1
kind: Pod
metadata: {name: again}
spec:
  nodeName: node1
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  volumes: [{name: v, emptyDir: {}}]
  initContainers:
  - {name: init, image: busybox, imagePullPolicy: Never, command: [sh, -c, "echo x >> /v/runs; echo \"RUN='$(wc -l < /v/runs)'\" > /v/env"], volumeMounts: [{name: v, mountPath: /v}]}
  containers:
  - name: main
    image: busybox
    imagePullPolicy: Never
    command: [sh, -c, "echo run $RUN; if [ $RUN = 1 ]; then exit 42; fi; exec sleep 1000"]
    env: [{name: RUN, valueFrom: {fileKeyRef: {volumeName: v, path: env, key: RUN}}}]
    restartPolicy: Never
    restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]
  - {name: other, image: busybox, imagePullPolicy: Never, command: [sleep, "1000"]}
`)
	n.until("all run again", is("Running 1 1 1 true true"), "get", "pod", "again", "-o", "jsonpath={.status.phase} {.status.initContainerStatuses[0].restartCount} "+
		"{.status.containerStatuses[*].restartCount} {.status.containerStatuses[*].ready}")
	require.Equal(n.t, "run 2\n", n.kubectl("logs", "again", "-c", "main"))
	require.Equal(n.t, "RestartingAllContainers", n.kubectl("get", "pod", "again", "-o", "jsonpath={.status.containerStatuses[1].lastState.terminated.reason}"))
	n.kubectl("delete", "pod", "again")
}

// testLocalDevice gives a pod a block device of the machine, which it reads and writes as it is.
func (n *realNode) testLocalDevice() {
	device := blockDevice(n.t, []byte("content"))
	n.claimed("raw", corev1.PersistentVolumeBlock, corev1.ReadWriteOnce, `local: {path: `+device+`}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node1]}]}]}}`)
	n.apply(rawPod("raw"))
	n.until("the pod runs", is("true"), "get", "pod", "raw", "-o", "jsonpath={.status.containerStatuses[0].ready}")
	require.Equal(n.t, "content", n.kubectl("exec", "raw", "--", "sh", "-c", "dd if=/dev/raw bs=7 count=1 2>/dev/null"))
	n.kubectl("exec", "raw", "--", "sh", "-c", "printf changed | dd of=/dev/raw conv=notrunc,fsync 2>/dev/null")
	n.kubectl("delete", "pod", "raw")
	b, err := os.ReadFile(device)
	require.NoError(n.t, err)
	require.Equal(n.t, "changed", string(b[:7]))
	n.kubectl("delete", "pvc,pv", "raw", "--wait=false")
}
