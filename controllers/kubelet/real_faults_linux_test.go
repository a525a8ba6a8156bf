package kubelet_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// gate stands between the kubelet and the runtime's socket. Closed, it ends all connections and refuses new
// ones, as a runtime that is being restarted does.
type gate struct {
	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

func (g *gate) dial(ctx context.Context, endpoint string) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errors.New("connection refused")
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", strings.TrimPrefix(endpoint, "unix://"))
	if err == nil {
		g.conns = append(g.conns, c)
	}
	return c, err
}

func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
	if closed {
		for _, c := range g.conns {
			_ = c.Close()
		}
		g.conns = nil
	}
}

const faultPods = `
apiVersion: v1
kind: ConfigMap
metadata: {name: deleted}
data: {k: v}
---
apiVersion: v1
kind: Pod
metadata: {name: configured}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "trap 'exit 1' TERM; while true; do sleep 0.1; done"]
    volumeMounts: [{name: settings, mountPath: /settings}]
  volumes: [{name: settings, configMap: {name: deleted}}]
---
apiVersion: v1
kind: Pod
metadata: {name: probed}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sleep, "1000"]
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 1, timeoutSeconds: 20, failureThreshold: 2}
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1, timeoutSeconds: 20, failureThreshold: 2}
---
apiVersion: v1
kind: Pod
metadata: {name: unknown}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, "98765"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: created}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, "1000"]}]
`

const readyStatus = `jsonpath={.status.conditions[?(@.type=="Ready")].status}`

// testFaults lets containerd be away, lose track of a container and keep one that was never started, and
// pulls hang.
func (n *realNode) testFaults(t *testing.T) {
	n.t = t
	n.apply(faultPods)
	for _, name := range []string{"configured", "probed", "unknown", "created"} {
		n.until("pod ready", is("True"), "get", "pod", name, "-o", readyStatus)
	}
	restarts := "jsonpath={.status.containerStatuses[0].restartCount}"

	n.kubectl("delete", "configmap", "deleted")
	n.until("a refresh that fails", has("FailedMount"), "get", "events", "--field-selector=involvedObject.name=configured")
	n.kubectl("exec", "configured", "--", "kill", "1")
	n.until("a restart without the ConfigMap", is("1 True"), "get", "pod", "configured", "-o", `jsonpath={.status.containerStatuses[0].restartCount} {.status.conditions[?(@.type=="Ready")].status}`)

	n.gate.set(true)
	time.Sleep(3 * time.Second * slowness()) // more than the probes need to fail for good
	n.gate.set(false)
	n.until("events", has("errored and resulted in unknown state"), "get", "events", "--field-selector=involvedObject.name=probed")

	n.leaveCreated("created")
	n.until("removal of a container that was not started", func(string) bool { return len(n.inState(cri.ContainerState_CONTAINER_CREATED)) == 0 }, "version")

	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts for it, and nothing answers
	require.NoError(t, err)
	defer silent.Close()
	n.apply("apiVersion: v1\nkind: Pod\nmetadata: {name: hung}\nspec: {nodeName: node1, containers: [{name: main, image: \"" +
		silent.Addr().String() + "/none:1\", imagePullPolicy: Always}]}\n")
	n.until("a pull under way", has("Pulling"), "get", "events", "--field-selector=involvedObject.name=hung")
	n.kubectl("delete", "pod", "hung", "--grace-period=1", "--wait=true", "--timeout="+patience.String())

	before := n.inState(cri.ContainerState_CONTAINER_RUNNING)
	n.restartRuntime(func() {
		for _, c := range before {
			if c.Labels["io.kubernetes.pod.name"] == "unknown" {
				require.NoError(t, os.Remove(filepath.Join(n.dir, "cri", "root", "io.containerd.grpc.v1.cri", "containers", c.Id, "status")))
			}
		}
	})
	n.until("a second run", is("1 True"), "get", "pod", "unknown", "-o", `jsonpath={.status.containerStatuses[0].restartCount} {.status.conditions[?(@.type=="Ready")].status}`)
	require.Equal(t, 1, processes("sleep", "98765"), "the container runs twice")

	for _, name := range []string{"probed", "created"} {
		require.Equal(t, "0", n.kubectl("get", "pod", name, "-o", restarts), name)
	}
	n.kubectl("delete", "pod", "configured", "probed", "unknown", "created", "--wait=true", "--timeout="+patience.String())
}

// processes counts those with exactly this command line.
func processes(args ...string) int {
	n := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && string(b) == strings.Join(args, "\x00")+"\x00" {
			n++
		}
	}
	return n
}

// withRuntime calls the runtime past the gate.
func (n *realNode) withRuntime(f func(context.Context, cri.RuntimeServiceClient)) {
	n.t.Helper()
	conn, err := grpc.NewClient(n.runtime.Endpoint(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(n.t, err)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f(ctx, cri.NewRuntimeServiceClient(conn))
}

func (n *realNode) inState(state cri.ContainerState) (found []*cri.Container) {
	n.withRuntime(func(ctx context.Context, rt cri.RuntimeServiceClient) {
		list, err := rt.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{State: &cri.ContainerStateValue{State: state}}})
		require.NoError(n.t, err)
		found = list.Containers
	})
	return found
}

// leaveCreated makes the next run of a pod's container without starting it, as a kubelet that is killed in
// between does.
func (n *realNode) leaveCreated(pod string) {
	n.withRuntime(func(ctx context.Context, rt cri.RuntimeServiceClient) {
		only := map[string]string{"io.kubernetes.pod.name": pod}
		boxes, err := rt.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{LabelSelector: only}})
		require.NoError(n.t, err)
		require.Len(n.t, boxes.Items, 1)
		box := boxes.Items[0]
		runs, err := rt.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{PodSandboxId: box.Id}})
		require.NoError(n.t, err)
		require.Len(n.t, runs.Containers, 1)
		run := runs.Containers[0]
		_, err = rt.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: box.Id, Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "main", Attempt: 1}, Image: run.Image, Command: []string{"sleep", "1000"}, Labels: run.Labels,
			Annotations: map[string]string{"io.kubernetes.container.restartCount": "1", "io.kubernetes.container.hash": run.Annotations["io.kubernetes.container.hash"]},
		}, SandboxConfig: &cri.PodSandboxConfig{Metadata: box.Metadata}})
		require.NoError(n.t, err)
	})
}

// restartRuntime kills containerd, lets f change what it left on disk and starts it again.
func (n *realNode) restartRuntime(f func()) {
	b, err := os.ReadFile(filepath.Join(n.dir, "cri", "containerd.pid"))
	require.NoError(n.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	require.NoError(n.t, err)
	args, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	require.NoError(n.t, err)
	program, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	require.NoError(n.t, err)
	require.NoError(n.t, syscall.Kill(pid, syscall.SIGKILL))
	<-n.runtime.Done()
	f()
	again := exec.Command(program, strings.Split(strings.TrimRight(string(args), "\x00"), "\x00")[1:]...)
	require.NoError(n.t, again.Start())
	n.endRuntime = func() {
		_ = again.Process.Signal(syscall.SIGTERM)
		_ = again.Wait()
		n.endRuntime = func() {}
	}
}
