package metricsapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

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
	node, containers, err := parse(string(resp.Body), time.Now())
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

// parse reads the text format of Prometheus, as far as /metrics/resource of kubelets has it. Values without a
// time are of now. Containers whose CPU time or memory is missing are left out.
func parse(text string, now time.Time) (node reading, containers map[containerKey]*reading, err error) {
	containers = map[containerKey]*reading{}
	measured := map[containerKey]int{} // how many of CPU time and memory there are
	found := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		m, err := parseLine(line, now)
		if err != nil {
			return node, nil, err
		}
		key := containerKey{m.labels["namespace"], m.labels["pod"], m.labels["container"]}
		c := containers[key]
		if c == nil {
			c = &reading{}
		}
		switch m.name {
		case resourcemetrics.NodeCPU:
			node.seconds, node.at, found = m.value, m.at, found+1
		case resourcemetrics.NodeMemory:
			node.memory, found = m.value, found+1
		case resourcemetrics.ContainerCPU:
			c.seconds, c.at, containers[key] = m.value, m.at, c
			measured[key]++
		case resourcemetrics.ContainerMemory:
			c.memory, containers[key] = m.value, c
			measured[key]++
		case resourcemetrics.ContainerStart:
			c.started, containers[key] = time.UnixMilli(int64(m.value*1000)), c
		}
	}
	for key := range containers {
		if measured[key] != 2 {
			delete(containers, key)
		}
	}
	if found != 2 {
		return node, nil, errors.New("the kubelet reports no CPU time or no memory of the node")
	}
	return node, containers, nil
}

// metric is a line of the text format.
type metric struct {
	name   string
	labels map[string]string
	value  float64
	at     time.Time
}

func parseLine(line string, now time.Time) (m metric, err error) {
	m.at = now
	end := strings.IndexAny(line, "{ ")
	if end < 0 {
		return m, fmt.Errorf("%.100q is not a metric", line)
	}
	m.name = line[:end]
	rest := line[end:]
	if rest[0] == '{' {
		if m.labels, rest, err = parseLabels(rest[1:]); err != nil {
			return m, fmt.Errorf("%.100q: %w", line, err)
		}
	}
	parts := strings.Fields(rest)
	if len(parts) < 1 || len(parts) > 2 {
		return m, fmt.Errorf("%.100q: want a value, and perhaps a time", line)
	}
	if m.value, err = strconv.ParseFloat(parts[0], 64); err != nil {
		return m, fmt.Errorf("%.100q: %w", line, err)
	}
	if !(m.value >= 0 && m.value < math.MaxInt64) {
		return m, fmt.Errorf("%.100q: want a number that is not negative", line)
	}
	if len(parts) == 2 {
		ms, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil {
			return m, fmt.Errorf("%.100q: %w", line, err)
		}
		m.at = time.UnixMilli(ms)
	}
	return m, nil
}

// parseLabels reads labels up to the closing brace, and returns what follows it.
func parseLabels(text string) (labels map[string]string, rest string, err error) {
	labels = map[string]string{}
	for {
		text = strings.TrimLeft(text, ", ")
		if after, ok := strings.CutPrefix(text, "}"); ok {
			return labels, after, nil
		}
		name, after, ok := strings.Cut(text, "=")
		if !ok {
			return nil, "", errors.New("a label without a value")
		}
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			return nil, "", fmt.Errorf("label %s: %w", name, err)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, "", fmt.Errorf("label %s: %w", name, err)
		}
		labels[name], text = value, after[len(quoted):]
	}
}
