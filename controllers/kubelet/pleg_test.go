package kubelet

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// manyPods is what the runtime lists of n pods of two containers.
func manyPods(n int) (boxes []*cri.PodSandbox, containers []*cri.Container) {
	for i := range n {
		labels := map[string]string{labelPodUID: fmt.Sprintf("uid%d", i)}
		boxes = append(boxes, &cri.PodSandbox{Id: fmt.Sprintf("box%d", i), Labels: labels})
		for c := range 2 {
			containers = append(containers, &cri.Container{Id: fmt.Sprintf("container%d-%d", i, c), Labels: labels, State: cri.ContainerState_CONTAINER_RUNNING})
		}
	}
	return boxes, containers
}

func newTestPleg() *pleg {
	return &pleg{states: map[string]*held{}, pods: map[types.UID]int{}, redo: map[types.UID]bool{}, making: func(types.UID) bool { return false }}
}

func TestCompareOfLists(t *testing.T) {
	p := newTestPleg()
	boxes, containers := manyPods(1000)
	require.Len(t, p.compare(boxes, containers), 1000)
	require.Zero(t, testing.AllocsPerRun(10, func() { p.compare(boxes, containers) }), "nothing is allocated for what does not change")
	require.Nil(t, p.compare(boxes, containers))

	containers[7].State = cri.ContainerState_CONTAINER_EXITED
	require.Equal(t, map[types.UID]bool{"uid3": true}, p.compare(boxes, containers))
	boxes[5].State = cri.PodSandboxState_SANDBOX_NOTREADY
	require.Equal(t, map[types.UID]bool{"uid5": true}, p.compare(boxes, containers))
	pods, by := p.counts()
	require.Equal(t, 999, pods)
	require.Equal(t, map[cri.ContainerState]int{cri.ContainerState_CONTAINER_RUNNING: 1999, cri.ContainerState_CONTAINER_EXITED: 1}, by)
	require.Equal(t, map[types.UID]bool{"uid0": true}, p.compare(boxes, containers[1:]), "one container has gone")
	require.Equal(t, map[types.UID]bool{"uid0": true}, p.compare(boxes[1:], containers[2:]), "all of it has gone")
	require.False(t, p.held()["uid0"])
	require.Len(t, p.held(), 999)
	p.redo["uid8"] = true
	require.Equal(t, map[types.UID]bool{"uid8": false}, p.compare(boxes[1:], containers[2:]))
	require.Nil(t, p.compare(boxes[1:], containers[2:]))
	// What the runtime lists twice, or lists of others, changes nothing.
	containers = append(containers, containers[9], &cri.Container{Id: "foreign"})
	require.Nil(t, p.compare(boxes[1:], containers[2:]))
	require.Len(t, p.compare(nil, nil), 999)
	require.Empty(t, p.held())
}

// BenchmarkCompareOfLists compares the lists of 1,000 pods of two containers that have not changed.
func BenchmarkCompareOfLists(b *testing.B) {
	p := newTestPleg()
	boxes, containers := manyPods(1000)
	b.ReportAllocs()
	for b.Loop() {
		p.compare(boxes, containers)
	}
}
