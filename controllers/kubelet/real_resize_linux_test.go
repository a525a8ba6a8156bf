package kubelet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// testResize changes the limits of a running container, up and down, and reads them from the kernel: those of
// the container and those of the pod around it.
func (n *realNode) testResize() {
	n.apply(sleeper("resized", "requests: {cpu: 100m, memory: 16Mi}, limits: {cpu: 200m, memory: 64Mi}"))
	n.until("resized runs", is("true"), "get", "pod", "resized", "-o", "jsonpath={.status.containerStatuses[0].ready}")
	pods := client.For[*corev1.Pod](n.conn)
	key := types.NamespacedName{Namespace: "default", Name: "resized"}
	pod, err := pods.Get(n.t.Context(), key)
	require.NoError(n.t, err)
	// limits are the numbers in files of the pod's group and of those below, but that of the sandbox.
	limits := func(v1, v2 string) (list []string) {
		controller, _, _ := strings.Cut(v1, ".")
		base := n.groupDir(controller, "burstable", "pod"+string(pod.UID))
		for _, pattern := range []string{v1, v2, "*/" + v1, "*/" + v2} {
			files, _ := filepath.Glob(filepath.Join(base, pattern))
			for _, f := range files {
				if b, err := os.ReadFile(f); err == nil {
					list = append(list, strings.TrimSpace(string(b)))
				}
			}
		}
		return list
	}
	count := func(list []string, want string) (n int) {
		for _, v := range list {
			if v == want || strings.HasPrefix(v, want+" ") {
				n++
			}
		}
		return n
	}
	for _, step := range []struct{ milli, mebi int }{{200, 64}, {500, 128}, {150, 48}, {300, 96}} {
		text := fmt.Sprintf(`{"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"%dm","memory":"%dMi"}}}]}}`, step.milli, step.mebi)
		_, err := pods.Patch(n.t.Context(), key, client.Patch{Type: types.StrategicMergePatchType, Data: []byte(text)}, client.PatchOptions{Subresource: "resize"})
		require.NoError(n.t, err)
		quota, memory := fmt.Sprint(step.milli*100), fmt.Sprint(step.mebi<<20)
		require.Eventually(n.t, func() bool {
			return count(limits("cpu.cfs_quota_us", "cpu.max"), quota) == 2 && count(limits("memory.limit_in_bytes", "memory.max"), memory) == 2
		}, patience, 100*time.Millisecond, "%v: %v %v", step, limits("cpu.cfs_quota_us", "cpu.max"), limits("memory.limit_in_bytes", "memory.max"))
		n.until("the status", is(fmt.Sprintf("%dMi", step.mebi)), "get", "pod", "resized", "-o", "jsonpath={.status.containerStatuses[0].resources.limits.memory}")
	}
	require.Equal(n.t, "0", n.kubectl("get", "pod", "resized", "-o", "jsonpath={.status.containerStatuses[0].restartCount}"))
	n.kubectl("delete", "pod", "resized", "--wait=false")
}
