package fakenode

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/informers"
)

// serveMetrics serves /metrics: the metrics of a kubelet that fake nodes have, under the same names, in the
// text format of Prometheus. The values are those of all nodes that the handler serves.
func (s *server) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	pods, err := s.pods.List(informers.ListOptions{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	writeMetrics(w, pods)
}

func writeMetrics(w io.Writer, pods []*corev1.Pod) {
	running, containers := 0, map[string]int{}
	for _, pod := range pods {
		if pod.Spec.NodeName == "" {
			continue
		}
		if pod.Status.Phase == corev1.PodRunning {
			running++
		}
		for i := range pod.Status.ContainerStatuses {
			switch state := pod.Status.ContainerStatuses[i].State; {
			case state.Running != nil:
				containers["running"]++
			case state.Terminated != nil:
				containers["exited"]++
			default:
				containers["created"]++
			}
		}
	}
	fmt.Fprintf(w, "# HELP kubelet_running_pods Pods whose phase is Running.\n# TYPE kubelet_running_pods gauge\nkubelet_running_pods %d\n", running)
	fmt.Fprint(w, "# HELP kubelet_running_containers Containers by state.\n# TYPE kubelet_running_containers gauge\n")
	for _, state := range slices.Sorted(maps.Keys(containers)) {
		fmt.Fprintf(w, "kubelet_running_containers{container_state=%q} %d\n", state, containers[state])
	}
}
