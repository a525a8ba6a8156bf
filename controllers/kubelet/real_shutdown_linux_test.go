package kubelet_test

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/fakelogind"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/logind"
)

// times returns when a container of a pod started and ended.
func (n *realNode) times(pod string) (started, finished time.Time) {
	text := n.kubectl("get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].state.*.startedAt} {.status.containerStatuses[0].state.terminated.finishedAt}")
	words := strings.Fields(text)
	parse := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339, s)
		require.NoError(n.t, err, text)
		return at
	}
	if len(words) > 1 {
		finished = parse(words[1])
	}
	return parse(words[0]), finished
}

const criticalPods = `
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 20
  priorityClassName: CLASS
  containers:
  - name: main
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "trap 'sleep 2; exit 0' TERM; touch /tmp/ready; while :; do sleep 0.1; done"]
    readinessProbe: {exec: {command: [cat, /tmp/ready]}, periodSeconds: 1, timeoutSeconds: 20}
    resources: {RESOURCES}
`

// pods makes pods that take two seconds to end.
func (n *realNode) pods(class, resources string, names ...string) {
	for _, name := range names {
		n.apply(strings.NewReplacer("NAME", name, "CLASS", class, "RESOURCES", resources).Replace(criticalPods))
		n.until(name+" is ready", is("True"), "get", "pod", name, "-o", readyStatus)
	}
}

// testCritical binds a critical pod to a node that is full: as few pods as possible make way, in their grace
// period, and it starts when they have ended.
func (n *realNode) testCritical() {
	n.kubectl("patch", "node", "node1", "--subresource=status", "--type=json", "-p", `[{"op": "add", "path": "/status/capacity/example.com~1slots", "value": "3"}]`)
	n.until("slots", is("3"), "get", "node", "node1", "-o", `jsonpath={.status.allocatable['example\.com/slots']}`)
	n.pods("", `limits: {example.com/slots: 1}`, "small")
	n.pods("", `limits: {example.com/slots: 2}`, "large")
	n.apply(sleeper("refused", "limits: {example.com/slots: 1}"))
	n.until("there is no room", is("OutOfexample.com/slots"), "get", "pod", "refused", "-o", "jsonpath={.status.reason}")

	n.pods("system-node-critical", `limits: {example.com/slots: 2}`, "critical")
	require.Equal(n.t, "Failed Preempting Preempted in order to admit critical pod", n.kubectl("get", "pod", "large", "-o", "jsonpath={.status.phase} {.status.reason} {.status.message}"))
	require.Equal(n.t, "Running", n.kubectl("get", "pod", "small", "-o", "jsonpath={.status.phase}"))
	require.Equal(n.t, "0", n.kubectl("get", "pod", "large", "-o", "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}"), "it ended by itself")
	_, ended := n.times("large")
	began, _ := n.times("critical")
	require.False(n.t, began.Before(ended), "%v before %v", began, ended)
	n.kubectl("delete", "pod", "small", "large", "critical", "refused", "--wait=true", "--timeout="+patience.String())
	n.kubectl("patch", "node", "node1", "--subresource=status", "--type=json", "-p", `[{"op": "remove", "path": "/status/capacity/example.com~1slots"}]`)
}

// testShutdown announces a shutdown of the machine on a real message bus: ordinary pods end first, critical
// ones after them, and then the machine may go down. A kubelet that starts meanwhile starts no pods.
func (n *realNode) testShutdown() {
	address := fakelogind.Bus(n.t)
	m := fakelogind.Start(n.t, address)
	policy := &kubelet.ShutdownPolicy{Periods: kubelet.ShutdownPeriods(60*time.Second*slowness(), 20*time.Second*slowness()),
		Connect: func(ctx context.Context) (kubelet.Login, error) {
			return logind.Dial(ctx, logind.Options{Address: address, ConfigDir: filepath.Join(m.Dir, "sub")})
		}}
	n.change = func(opts *kubelet.Options) { opts.Shutdown = policy }
	defer func() { n.change = nil }()
	n.stop()
	n.stop = n.startKubelet(false)
	require.Eventually(n.t, func() bool { return len(m.Inhibitors()) == 1 }, patience, 50*time.Millisecond)
	n.pods("", "", "ordinary")
	n.pods("system-cluster-critical", "", "system")

	m.Announce(n.t, true)
	require.NoError(n.t, m.Released(0, patience), "the pods have ended")
	for _, pod := range []string{"ordinary", "system"} {
		n.until(pod+" has ended", is("Failed Terminated 0"), "get", "pod", pod, "-o", "jsonpath={.status.phase} {.status.reason} {.status.containerStatuses[0].state.terminated.exitCode}")
	}
	_, first := n.times("ordinary")
	_, second := n.times("system")
	require.GreaterOrEqual(n.t, second.Sub(first), time.Second, "it takes two")
	n.withRuntime(func(ctx context.Context, rt cri.RuntimeServiceClient) {
		list, err := rt.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}}})
		require.NoError(n.t, err)
		require.Empty(n.t, list.Containers)
	})
	notReady := func() {
		n.until("node is not ready", is("False node is shutting down"), "get", "node", "node1", "-o",
			`jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}`)
	}
	notReady()
	n.stop()
	n.stop = n.startKubelet(false)
	n.apply(sleeper("late", ""))
	n.until("it is refused", is("Failed NodeShutdown"), "get", "pod", "late", "-o", "jsonpath={.status.phase} {.status.reason}")
	notReady()

	m.Announce(n.t, false)
	n.until("node ready", has(" Ready "), "get", "node", "node1", "--no-headers")
	require.Eventually(n.t, func() bool { return len(m.Inhibitors()) == 2 }, patience, 50*time.Millisecond)
	n.apply(sleeper("next", ""))
	n.until("next runs", is("true"), "get", "pod", "next", "-o", "jsonpath={.status.containerStatuses[0].ready}")
	n.kubectl("delete", "pod", "ordinary", "system", "late", "next", "--wait=true", "--timeout="+patience.String())
}
