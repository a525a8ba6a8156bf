package metricsapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/url"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt" // of the libraries of the format's project, its parser
	"github.com/prometheus/common/model"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/internal/resourcemetrics"
	"github.com/keelson-dev/keelson/informers"
)

// Bounds of what a rate is computed from.
const (
	// maxWindow is how far two readings may be apart, and how old a container may be whose first reading is
	// compared with its start.
	maxWindow = 2 * time.Minute
	// secondReading is when kubelets are read again if one reading is not enough.
	secondReading = time.Second
)

// reading is what a kubelet reports of a container or of the node.
type reading struct {
	at      time.Time
	seconds float64 // of CPU
	memory  float64 // bytes
	started time.Time
}

// series are the last two readings of one thing; prev is zero if there was one.
type series struct{ prev, last reading }

// usage is what was used at the end of a window: cores, and bytes.
type usage struct {
	cpu, memory float64
	at          time.Time
	window      time.Duration
}

// add returns the series after a further reading. One of the same time changes nothing: kubelets measure less
// often than they are read.
func (s series) add(r reading) series {
	switch {
	case r.at.Equal(s.last.at):
		return s
	case r.at.Before(s.last.at), r.seconds < s.last.seconds, !r.started.Equal(s.last.started): // again from 0
		return series{last: r}
	}
	return series{prev: s.last, last: r}
}

// usage returns what the readings say; ok is false if there are too few.
func (s series) usage() (u usage, ok bool) {
	from := s.prev
	if from.at.IsZero() || s.last.at.Sub(from.at) > maxWindow {
		// A container that has just started has used nothing before.
		from = reading{at: s.last.started}
		if from.at.IsZero() || s.last.at.Sub(from.at) > maxWindow {
			return usage{}, false
		}
	}
	window := s.last.at.Sub(from.at)
	if window <= 0 {
		return usage{}, false
	}
	return usage{(s.last.seconds - from.seconds) / window.Seconds(), s.last.memory, s.last.at, window}, true
}

// containerKey names a container of a pod.
type containerKey struct{ namespace, pod, container string }

// nodeSeries are those of a node. They are not changed.
type nodeSeries struct {
	node       series
	containers map[containerKey]series
}

// incomplete reports whether a further reading is needed.
func (n *nodeSeries) incomplete() bool {
	if _, ok := n.node.usage(); !ok {
		return true
	}
	for _, s := range n.containers {
		if _, ok := s.usage(); !ok {
			return true
		}
	}
	return false
}

// scraper reads kubelets.
type scraper struct {
	conn  client.Conn
	nodes informers.Lister[*corev1.Node]
	opts  Options
	log   *slog.Logger

	turn chan struct{} // held while kubelets are read
	// turn guards the rest: the end of the last reading, and what is known, by node. That is replaced as a
	// whole.
	read  time.Time
	known map[string]*nodeSeries
}

func newScraper(conn client.Conn, nodes informers.Lister[*corev1.Node], opts Options, log *slog.Logger) *scraper {
	return &scraper{conn: conn, nodes: nodes, opts: opts, log: log, turn: make(chan struct{}, 1)}
}

// fresh returns readings that are not older than Options.Resolution, by node. Nodes that cannot be read are
// left out.
func (s *scraper) fresh(ctx context.Context) (map[string]*nodeSeries, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !s.read.IsZero() && time.Since(s.read) < s.opts.Resolution {
		return s.known, nil
	}
	incomplete, err := s.readAll(ctx)
	if err == nil && incomplete {
		select {
		case <-time.After(secondReading):
			_, err = s.readAll(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	s.read = time.Now()
	return s.known, nil
}

// readAll reads the kubelets of all nodes, and reports whether a further reading is needed.
func (s *scraper) readAll(ctx context.Context) (incomplete bool, err error) {
	nodes, err := s.nodes.List(informers.ListOptions{})
	if err != nil {
		return false, err
	}
	next := make(map[string]*nodeSeries, len(nodes))
	var mu sync.Mutex
	var wg sync.WaitGroup
	free := make(chan struct{}, s.opts.Concurrency)
	for _, node := range nodes {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			n, err := s.readNode(ctx, node.Name, s.known[node.Name])
			if err != nil {
				s.log.Warn("reading the resource metrics of a node failed", "node", node.Name, "err", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			next[node.Name], incomplete = n, incomplete || n.incomplete()
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	s.known = next
	return incomplete, nil
}

// readNode reads a kubelet, and adds what it reports to what is known.
func (s *scraper) readNode(ctx context.Context, name string, known *nodeSeries) (*nodeSeries, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	resp, err := s.conn.Do(ctx, &client.Request{Path: "/api/v1/nodes/" + url.PathEscape(name) + "/proxy/metrics/resource", Accept: "text/plain"})
	if err != nil {
		return nil, err
	}
	node, containers, err := parse(resp.Body, time.Now())
	if err != nil {
		return nil, err
	}
	if known == nil {
		known = &nodeSeries{}
	}
	next := &nodeSeries{node: known.node.add(node), containers: make(map[containerKey]series, len(containers))}
	for key, r := range containers {
		next.containers[key] = known.containers[key].add(*r)
	}
	return next, nil
}

// parse reads the text format of Prometheus. Values without a time are of now. Containers whose CPU time or
// memory is missing are left out.
func parse(text []byte, now time.Time) (node reading, containers map[containerKey]*reading, err error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return node, nil, err
	}
	containers = map[containerKey]*reading{}
	whole := map[containerKey]int{} // how many of CPU time and memory there are
	found := 0
	for name, set := range map[string]func(m *dto.Metric, value float64, at time.Time){
		resourcemetrics.NodeCPU: func(_ *dto.Metric, value float64, at time.Time) {
			node.seconds, node.at, found = value, at, found+1
		},
		resourcemetrics.NodeMemory: func(_ *dto.Metric, value float64, _ time.Time) { node.memory, found = value, found+1 },
		resourcemetrics.ContainerCPU: func(m *dto.Metric, value float64, at time.Time) {
			key, c := containerOf(m, containers)
			c.seconds, c.at, whole[key] = value, at, whole[key]+1
		},
		resourcemetrics.ContainerMemory: func(m *dto.Metric, value float64, _ time.Time) {
			key, c := containerOf(m, containers)
			c.memory, whole[key] = value, whole[key]+1
		},
		resourcemetrics.ContainerStart: func(m *dto.Metric, value float64, _ time.Time) {
			_, c := containerOf(m, containers)
			c.started = time.UnixMilli(int64(value * 1000))
		},
	} {
		for _, m := range families[name].GetMetric() {
			value, at := valueOf(m), now
			if !(value >= 0 && value < math.MaxInt64) {
				return node, nil, fmt.Errorf("%s is %v: want a number that is not negative", name, value)
			}
			if m.TimestampMs != nil {
				at = time.UnixMilli(m.GetTimestampMs())
			}
			set(m, value, at)
		}
	}
	maps.DeleteFunc(containers, func(key containerKey, _ *reading) bool { return whole[key] != 2 })
	if found != 2 {
		return node, nil, errors.New("want one CPU time and one memory of the node")
	}
	return node, containers, nil
}

// containerOf returns the reading of a metric's container, which it adds if there is none.
func containerOf(m *dto.Metric, containers map[containerKey]*reading) (key containerKey, r *reading) {
	for _, l := range m.GetLabel() {
		switch l.GetName() {
		case "namespace":
			key.namespace = l.GetValue()
		case "pod":
			key.pod = l.GetValue()
		case "container":
			key.container = l.GetValue()
		}
	}
	if containers[key] == nil {
		containers[key] = &reading{}
	}
	return key, containers[key]
}

// valueOf returns a metric's value, 0 for a histogram or summary. Without a comment with its type it is
// untyped.
func valueOf(m *dto.Metric) float64 {
	return m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
}
