package kubelet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// testSubPathRace lets one pod swap a folder for a link to files of the node, as fast as it can, while others
// mount the folder by subPath. None may read the node's files.
func (n *realNode) testSubPathRace(t *testing.T) {
	n.t = t
	shared, host := filepath.Join(n.dir, "shared"), filepath.Join(n.dir, "of-the-node")
	require.NoError(t, os.MkdirAll(filepath.Join(shared, "sub"), 0o777))
	require.NoError(t, os.Mkdir(host, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(host, "secret"), nil, 0o600))
	require.NoError(t, os.Symlink(host, filepath.Join(shared, "link")))
	pod := func(name, command, mount string) string {
		return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {race: "yes"}}
spec:
  nodeName: node1
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  volumes: [{name: v, hostPath: {path: %s}}]
  containers:
  - {name: c, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, %q], volumeMounts: [%s]}
`, name, shared, command, mount)
	}
	n.apply(pod("swapper", "cd /v; while :; do mv sub d; mv link sub; mv sub link; mv d sub; done", "{name: v, mountPath: /v}"))
	n.until("swapper", is("Running"), "get", "pod", "swapper", "-o", "jsonpath={.status.phase}")
	var readers strings.Builder
	for i := range 6 {
		readers.WriteString(pod(fmt.Sprintf("reader-%d", i), "test -e /sub/secret && echo of the node; echo read", "{name: v, mountPath: /sub, subPath: sub}"))
	}
	n.apply(readers.String())
	phases := n.until("three readers", func(s string) bool { return strings.Count(s, "Succeeded") >= 3 }, "get", "pods", "-l", "race", "-o",
		`jsonpath={range .items[*]}{.metadata.name}={.status.phase} {end}`)
	for _, p := range strings.Fields(phases) {
		if name, ok := strings.CutSuffix(p, "=Succeeded"); ok {
			require.Equal(t, "read\n", n.kubectl("logs", name))
		}
	}
	n.kubectl("delete", "pod", "-l", "race", "--grace-period=0", "--force")
}

// testGroups looks at the weight of burstable pods and at what is left of their groups.
func (n *realNode) testGroups(t *testing.T) {
	n.t = t
	per := 1024.0 / 1000
	if n.tree().V2 {
		per *= 9999.0 / 262142
	}
	burstable := n.groupDir("cpu", "burstable")
	if systemdCgroups {
		slice := strings.ReplaceAll(n.cgroup()[1:], "-", "_")
		require.Equal(t, fmt.Sprintf("/sys/fs/cgroup/%[1]s.slice/%[1]s-kubepods.slice/%[1]s-kubepods-burstable.slice", slice), burstable)
	}
	weight := func() float64 {
		w, err := strconv.ParseFloat(n.setting("cpu.shares", "cpu.weight", "burstable"), 64)
		require.NoError(t, err)
		return w
	}
	until := func(what string, ok func() bool) {
		for end := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
			require.True(t, time.Now().Before(end), what)
		}
	}
	// All pods together are limited to what the node has, in its group and no other.
	limit, err := resource.Parse(n.setting("memory.limit_in_bytes", "memory.max"))
	require.NoError(t, err)
	capacity, err := resource.Parse(n.kubectl("get", "node", "node1", "-o", "jsonpath={.status.capacity.memory}"))
	require.NoError(t, err)
	require.Equal(t, capacity.Value()/4096, limit.Value()/4096)
	before := weight()
	n.apply(`
apiVersion: v1
kind: Pod
metadata: {name: heavy}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, "1000"], resources: {requests: {cpu: 600m}}}]
`)
	n.until("heavy", is("Running"), "get", "pod", "heavy", "-o", "jsonpath={.status.phase}")
	require.InDelta(t, before+600*per, weight(), 1.5, "not the minimum")
	uid := n.kubectl("get", "pod", "heavy", "-o", "jsonpath={.metadata.uid}")
	own, left := n.groupDir("cpu", "burstable", "pod"+uid), n.groupDir("cpu", "burstable", "pod00000000-0000-0000-0000-000000000001")
	require.DirExists(t, own)
	require.NoError(t, os.Mkdir(left, 0o755))
	n.kubectl("delete", "pod", "heavy")
	until("the weight goes with the pod", func() bool { return weight() == before })
	until("groups of gone pods are removed", func() bool {
		_, err := os.Stat(own)
		_, err2 := os.Stat(left)
		return os.IsNotExist(err) && os.IsNotExist(err2)
	})
}

// A log file that has grown too large is replaced, and no line is lost.
func (n *realNode) testRotation(t *testing.T) {
	n.t = t
	n.apply(`
apiVersion: v1
kind: Pod
metadata: {name: chatty}
spec:
  nodeName: node1
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: busybox
    imagePullPolicy: Never
    command: [sh, -c, "i=0; while [ $i -lt 8000 ]; do echo line $i; i=$((i+1)); done; until [ -e /go ]; do sleep 0.1; done; echo line 8000"]
`)
	n.until("it runs", func(s string) bool { return s == "Running" }, "get", "pod", "chatty", "-o", "jsonpath={.status.phase}")
	uid := n.kubectl("get", "pod", "chatty", "-o", "jsonpath={.metadata.uid}")
	dir := filepath.Join(n.dir, "logs", "default_chatty_"+uid, "main")
	require.Eventually(t, func() bool {
		replaced, err := filepath.Glob(filepath.Join(dir, "0.log.*"))
		return err == nil && len(replaced) > 0
	}, patience, 50*time.Millisecond)
	n.kubectl("exec", "chatty", "--", "touch", "/go")
	var want strings.Builder
	for i := range 8001 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	n.until("it ends", func(s string) bool { return s == "Succeeded" }, "get", "pod", "chatty", "-o", "jsonpath={.status.phase}")
	files, err := filepath.Glob(filepath.Join(dir, "0.log.*"))
	require.NoError(t, err)
	var got strings.Builder
	for _, name := range append(files, filepath.Join(dir, "0.log")) { // the oldest first
		text := unzipped(t, name)
		for line := range strings.Lines(text) {
			_, line, _ = strings.Cut(line, " F ")
			got.WriteString(line)
		}
	}
	require.Equal(t, want.String(), got.String())
	links, err := filepath.Glob(filepath.Join(n.dir, "containers", "chatty_default_main-*.log"))
	require.NoError(t, err)
	require.Len(t, links, 1)
	b, err := os.ReadFile(links[0])
	require.NoError(t, err)
	require.Contains(t, string(b), "line 8000\n")
	n.kubectl("delete", "pod", "chatty", "--wait=true", "--timeout="+patience.String())
	// A pod that has ended is deleted at once, before its node cleans up.
	require.Eventually(t, func() bool { _, err := os.Lstat(links[0]); return os.IsNotExist(err) }, patience, 50*time.Millisecond)
}

// unzipped reads a file, which is compressed if its name says so.
func unzipped(t *testing.T, name string) string {
	if strings.HasSuffix(name, ".gz") {
		return unzip(t, name)
	}
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}
