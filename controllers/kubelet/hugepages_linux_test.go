package kubelet_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// A volume of huge pages needs a request that says which.
func TestHugePagesThatAreNotRequested(t *testing.T) {
	bubble(t, func(r *rig) {
		for _, size := range []string{"2Mi", "1Gi"} {
			r.opts.Capacity[corev1.ResourceName("hugepages-"+size)] = resource.MustParse("8Gi")
		}
	}, func(r *rig) {
		for name, c := range map[string]struct {
			medium corev1.StorageMedium
			sizes  []string
			want   string
		}{
			"none":    {"HugePages", nil, "the medium HugePages can be used only if a container requests huge pages"},
			"several": {"HugePages", []string{"2Mi", "1Gi"}, "the medium HugePages can't be used if containers request several sizes of huge pages; HugePages-<size> says which"},
			"other":   {"HugePages-1Gi", []string{"2Mi"}, "the medium HugePages-1Gi can be used only if a container requests huge pages of that size"},
		} {
			r.pod(name, func(p *corev1.Pod) {
				list := cpuOf("100m")
				for _, size := range c.sizes {
					list[corev1.ResourceName("hugepages-"+size)] = resource.MustParse("1Gi")
				}
				p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
				p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "huge", MountPath: "/huge"}}
				p.Spec.Volumes = []corev1.Volume{{Name: "huge", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: c.medium}}}}
			}, "a")
			time.Sleep(3 * time.Second)
			require.Contains(t, strings.Join(r.eventsOf(name), "\n"), c.want)
		}
	})
}

// hugePagesOfMachine sets some huge pages aside, if there are none, until the end of the test.
func hugePagesOfMachine(t *testing.T) {
	const file = "/proc/sys/vm/nr_hugepages"
	b, err := os.ReadFile(file)
	if n, _ := strconv.Atoi(strings.TrimSpace(string(b))); err != nil || n > 0 {
		return
	}
	if os.WriteFile(file, []byte("8"), 0o600) == nil {
		t.Cleanup(func() { _ = os.WriteFile(file, []byte("0"), 0o600) })
	}
}

// testHugePages maps a huge page of a volume of them.
func (n *realNode) testHugePages() {
	if n.kubectl("get", "node", "node1", "-o", "jsonpath={.status.allocatable.hugepages-2Mi}") == "" {
		n.t.Skip("the kernel sets no huge pages of 2 MiB aside here")
	}
	n.apply(`
apiVersion: v1
kind: Pod
metadata: {name: huge}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  volumes: [{name: huge, emptyDir: {medium: HugePages, sizeLimit: 4Mi}}]
  containers:
  - name: main
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sleep, "1000000"]
    resources: {limits: {hugepages-2Mi: 4Mi, memory: 32Mi, cpu: 100m}}
    volumeMounts: [{name: huge, mountPath: /huge}]
`)
	n.until("huge runs", is("true"), "get", "pod", "huge", "-o", "jsonpath={.status.containerStatuses[0].ready}")
	mount := n.kubectl("exec", "huge", "--", "grep", " /huge ", "/proc/mounts")
	require.Contains(n.t, mount, " hugetlbfs ")
	require.Contains(n.t, mount, "pagesize=2M")
	require.Contains(n.t, mount, "size=4194304", "the limit of the volume")
	uid := n.kubectl("get", "pod", "huge", "-o", "jsonpath={.metadata.uid}")
	n.kubectl("delete", "pod", "huge")
	require.Eventually(n.t, func() bool {
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		return err == nil && !strings.Contains(string(mounts), uid)
	}, patience, 100*time.Millisecond)
}

// Huge pages take of the memory that pods may have, whether they are used or not, as what is kept before
// eviction does.
func TestMemoryBesideHugePages(t *testing.T) {
	bubble(t, func(r *rig) {
		r.opts.Capacity = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("4Gi"), "hugepages-2Mi": resource.MustParse("1Gi"), "hugepages-1Gi": resource.MustParse("2Gi")}
	}, func(r *rig) {
		time.Sleep(3 * time.Second)
		node := controllertest.Get[*corev1.Node](r.c, "", "n1")
		capacity, allocatable := node.Status.Capacity["memory"], node.Status.Allocatable["memory"]
		require.Equal(t, "4Gi 924Mi", capacity.String()+" "+allocatable.String())
	})
}
