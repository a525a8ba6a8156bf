package kubelet_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// otherFamilies are the beginnings of the names of families that only the kubelet of Kubernetes has, each
// with the reason, besides those of examples/kubelet/testdata/absent.txt.
var otherFamilies = map[string]string{
	"kubernetes_feature_enabled":               "of the program examples/kubelet, not of this package",
	"rest_client_":                             "as above",
	"dra_operations_duration_seconds":          "of pods without claims too, here of those with claims",
	"aggregator_":                              "of another program, a package of which is linked",
	"apiextensions_":                           "as above",
	"apiserver_":                               "as above",
	"node_collector_":                          "as above",
	"cardinality_enforcement_":                 "of the registry of Kubernetes' metrics: label values are not restricted by flags",
	"container_swap_":                          "the runtime of this test does not say how much swap is used",
	"node_swap_":                               "as above",
	"pod_swap_":                                "as above",
	"kubelet_pod_resize_duration_milliseconds": "the kubelet of Kubernetes gives the resources of a pod again that it takes over",
}

// families are those of the kubelet that runs, at all of its pages but those of containers.
func (n *realNode) families() map[string]*dto.MetricFamily {
	n.t.Helper()
	all := map[string]*dto.MetricFamily{}
	for _, page := range []string{"metrics", "metrics/probes", "metrics/slis", "metrics/resource"} {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		found, err := parser.TextToMetricFamilies(strings.NewReader(n.kubectl("get", "--raw", "/api/v1/nodes/node1/proxy/"+page)))
		require.NoError(n.t, err)
		maps.Copy(all, found)
	}
	return all
}

// requireFamilies requires of the kubelet that runs, and has started a pod, the families of another one, with
// their types, labels and bounds.
func (n *realNode) requireFamilies(pod string, want map[string]*dto.MetricFamily) {
	n.t.Helper()
	never, err := os.ReadFile("../../examples/kubelet/testdata/absent.txt")
	require.NoError(n.t, err)
	missing := func(name string) bool {
		for line := range strings.Lines(string(never)) {
			if prefix, _, _ := strings.Cut(line, " "); strings.HasPrefix(name, prefix) {
				return true
			}
		}
		for prefix := range otherFamilies {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return false
	}
	shape := func(f *dto.MetricFamily) string {
		var labels, bounds []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
			bounds = append(bounds, fmt.Sprintf("%.6g", b.GetUpperBound()))
		}
		return strings.ToLower(f.GetType().String()) + " {" + strings.Join(labels, ",") + "} " + fmt.Sprint(bounds)
	}
	n.kubectl("exec", pod, "-c", "web", "--", "true")
	n.until("disks are measured", has("kubelet_container_log_filesystem_used_bytes{"), "get", "--raw", "/api/v1/nodes/node1/proxy/metrics")
	n.families() // so that requests of each page have ended
	have := n.families()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch theirs, ours := want[name], have[name]; {
		case strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_"):
		case ours == nil && !missing(name):
			n.t.Errorf("%s is missing: %s", name, shape(theirs))
		case ours != nil && shape(ours) != shape(theirs):
			n.t.Errorf("%s\n  theirs %s\n  ours   %s", name, shape(theirs), shape(ours))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if want[name] == nil {
			n.t.Logf("only here: %s", name) // Kubernetes shows it after some event
		}
	}
}
