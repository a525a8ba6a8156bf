package fakenode

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/resourcemetrics"
	"github.com/keelson-dev/keelson/informers"
)

// usage is what a container uses: cores, and bytes of memory.
type usage struct{ cpu, memory float64 }

// parseUsage reads the value of UsageAnnotation.
func parseUsage(text string) (u usage, err error) {
	for item := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		q, err := resource.Parse(value)
		if err != nil || q.Sign() < 0 {
			return usage{}, fmt.Errorf("%q: want a quantity that is not negative, as in cpu=250m,memory=64Mi", item)
		}
		switch corev1.ResourceName(name) {
		case corev1.ResourceCPU:
			u.cpu = float64(q.MilliValue()) / 1000
		case corev1.ResourceMemory:
			u.memory = float64(q.Value())
		default:
			return usage{}, fmt.Errorf("%q: want cpu or memory", name)
		}
	}
	return u, nil
}

// containerKey names a run of a container.
type containerKey struct {
	pod       types.UID
	container string
	started   int64 // seconds since 1970
}

// meter counts the CPU time of a container. A change of the annotation counts from the next reading on.
type meter struct {
	seconds float64
	read    time.Time
	node    string
}

// reading is what a running container has used.
type reading struct {
	labels  string
	started time.Time
	usage
	seconds float64 // of CPU
}

// nodeOf returns the node that a request is about.
func (s *server) nodeOf(r *http.Request) (string, error) {
	if _, rest, ok := strings.Cut(r.Header.Get("X-Forwarded-Uri"), "/nodes/"); ok {
		// The name may have a port, and a scheme before it: https:NAME:PORT.
		name, _, proxied := strings.Cut(rest, "/proxy")
		if parts := strings.Split(name, ":"); proxied {
			return parts[(len(parts)-1)/2], nil
		}
	}
	var fakes []string
	fake := labels.SelectorFromSet(map[string]string{Label: "true"})
	nodes, err := s.nodes.List(informers.ListOptions{LabelSelector: fake})
	if err != nil {
		return "", err
	}
	for _, n := range nodes {
		fakes = append(fakes, n.Name)
	}
	if len(fakes) != 1 {
		return "", fmt.Errorf("there are %d fake nodes at this address: read /api/v1/nodes/NAME/proxy/metrics/resource of the API server", len(fakes))
	}
	return fakes[0], nil
}

// serveResourceMetrics serves /metrics/resource with the metrics of a kubelet that have a meaning here.
func (s *server) serveResourceMetrics(w http.ResponseWriter, r *http.Request) {
	node, err := s.nodeOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pods, err := s.pods.OnNode(node)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	now := time.Now().Truncate(time.Millisecond) // as it is written
	all, total, errs := s.read(node, pods, now)
	var b bytes.Buffer
	writeUsage(&b, all, total, now, len(errs) > 0)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// read reads the meters of a node's containers, and drops those of containers that have ended. total is the
// CPU time of all that have been read. Errors are those of annotations.
func (s *server) read(node string, pods []*corev1.Pod, now time.Time) (all []reading, total float64, errs []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := map[containerKey]bool{}
	for _, pod := range pods {
		sc, err := scriptOf(pod)
		errs = append(errs, err...)
		for i := range pod.Status.ContainerStatuses {
			st := &pod.Status.ContainerStatuses[i]
			if st.State.Running == nil {
				continue
			}
			started := st.State.Running.StartedAt.Time
			key := containerKey{pod.UID, st.Name, started.Unix()}
			running[key] = true
			m := s.used[key]
			if m == nil {
				m = &meter{read: started, node: node}
				s.used[key] = m
			}
			spent := sc.usage.cpu * max(now.Sub(m.read), 0).Seconds()
			m.seconds, m.read = m.seconds+spent, now
			s.totals[node] += spent
			all = append(all, reading{resourcemetrics.Container(pod.Namespace, pod.Name, st.Name), started, sc.usage, m.seconds})
		}
	}
	for key, m := range s.used {
		if m.node == node && !running[key] {
			delete(s.used, key)
		}
	}
	slices.SortFunc(all, func(a, b reading) int { return cmp.Compare(a.labels, b.labels) })
	return all, s.totals[node], errs
}

// writeUsage writes readings in the text format of Prometheus.
func writeUsage(w io.Writer, all []reading, total float64, now time.Time, failed bool) {
	value := func(name, labels string, v float64) {
		_, _ = fmt.Fprintf(w, "%s%s %s %d\n", name, labels, strconv.FormatFloat(v, 'f', -1, 64), now.UnixMilli())
	}
	each := func(name string, of func(*reading) float64) {
		resourcemetrics.Family(w, name)
		for i := range all {
			value(name, "{"+all[i].labels+"}", of(&all[i]))
		}
	}
	node := func(name string, v float64) {
		resourcemetrics.Family(w, name)
		value(name, "", v)
	}
	memory, bad := 0.0, 0
	for i := range all {
		memory += all[i].memory
	}
	if failed {
		bad = 1
	}
	each(resourcemetrics.ContainerCPU, func(r *reading) float64 { return nanos(r.seconds) })
	each(resourcemetrics.ContainerMemory, func(r *reading) float64 { return r.memory })
	each(resourcemetrics.ContainerStart, func(r *reading) float64 { return float64(r.started.Unix()) })
	node(resourcemetrics.NodeCPU, nanos(total))
	node(resourcemetrics.NodeMemory, memory)
	resourcemetrics.Family(w, resourcemetrics.ScrapeError)
	_, _ = fmt.Fprintf(w, "%s %d\n", resourcemetrics.ScrapeError, bad)
}

// nanos rounds seconds to nanoseconds.
func nanos(seconds float64) float64 { return math.Round(seconds*1e9) / 1e9 }
