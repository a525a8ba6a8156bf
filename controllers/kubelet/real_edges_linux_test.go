package kubelet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testSubPathRace lets one pod swap a folder for a link to files of the node, as fast as it can, while others mount the folder by subPath.
// review guard.md H6: five of six read the node's files.
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
