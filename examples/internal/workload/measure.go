package workload

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/labels"
)

// The metrics that the benchmark measures itself.
const (
	throughput = "SchedulingThroughput"
	overall    = "OverallThroughput"
	duration   = "SchedulingDuration"
	podLatency = "PodLatency"
)

// sampled is how often the throughput is sampled.
const sampled = time.Second

// Item is a result.
type Item struct {
	// Labels name it: Name has the names of the case, the workload and the operation, Metric that of the
	// metric, others are those of the metric.
	Labels map[string]string `json:"labels"`
	// Data has Average, Perc50 and so on.
	Data map[string]float64 `json:"data"`
	Unit string             `json:"unit"`
}

// measured is what is collected of one namespace or several. Its methods are called with the lock of pods.
type measured struct {
	namespaces []string
	selected   labels.Selector
	begun      time.Time
	last       time.Time // when the last pod was scheduled
	n          int
	latencies  []time.Duration

	samples  []float64
	counted  int // of n at the last sample
	at       time.Time
	skipped  int // samples since then, all without a pod
	sampling bool
}

// selects reports whether a pod is measured; nil measures none.
func (m *measured) selects(namespace string, l labels.Set) bool {
	return m != nil && slices.Contains(m.namespaces, namespace) && m.selected.Matches(l)
}

func (m *measured) scheduled(now time.Time) { m.n, m.last = m.n+1, now }

// sample takes the rate since the last sample. The first one with a pod only begins the measurement, and the
// rate of several intervals of which only the last has a pod is that of each.
func (m *measured) sample(now time.Time) {
	switch {
	case m.n == 0:
	case !m.sampling:
		m.sampling, m.counted, m.at = true, m.n, now
	case m.n == m.counted:
		m.skipped++
	default:
		rate := float64(m.n-m.counted) / now.Sub(m.at).Seconds()
		for range m.skipped + 1 {
			m.samples = append(m.samples, rate)
		}
		m.counted, m.at, m.skipped = m.n, now, 0
	}
}

// items returns the results; those without a measurement are left out.
func (m *measured) items(name string, ended time.Time) (out []Item) {
	item := func(metric, unit string, data map[string]float64) {
		if len(data) > 0 {
			out = append(out, Item{Labels: map[string]string{"Name": name, "Metric": metric}, Data: data, Unit: unit})
		}
	}
	item(throughput, "pods/s", percentiles(m.samples))
	if took := m.last.Sub(m.begun).Seconds(); m.n > 0 && took > 0 {
		item(overall, "pods/s", map[string]float64{"Average": float64(m.n) / took})
	}
	item(duration, "s", map[string]float64{"Duration": ended.Sub(m.begun).Seconds()})
	ms := make([]float64, len(m.latencies))
	for i, d := range m.latencies {
		ms[i] = float64(d) / float64(time.Millisecond)
	}
	item(podLatency, "ms", percentiles(ms))
	return out
}

// percentiles returns the average and the percentiles by nearest rank, nil without values.
func percentiles(values []float64) map[string]float64 {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	out, sum := map[string]float64{}, 0.0
	for _, v := range values {
		sum += v
	}
	out["Average"] = sum / float64(len(values))
	for _, p := range []int{50, 90, 95, 99} {
		out[fmt.Sprint("Perc", p)] = values[int(math.Ceil(float64(len(values)*p)/100))-1]
	}
	return out
}

// apply compares the number of the plan with its limit, which it adds to the item.
func (p *Plan) apply(items []Item, topic string) error {
	limit, ok := p.limits[topic]
	if !ok {
		limit = p.limits[""]
	}
	if limit == 0 {
		return nil
	}
	found := false
	for _, i := range items {
		if i.Labels["Metric"] != p.compare.Name || !hasLabels(i.Labels, p.compare.Labels) {
			continue
		}
		bucket := p.compare.DataBucket
		got, ok := i.Data[bucket]
		if !ok {
			return fmt.Errorf("%s: %s has no %s", i.Labels["Name"], p.compare.Name, bucket)
		}
		found = true
		i.Data[bucket+"Threshold"] = limit
		switch {
		case p.compare.ExpectLower && got >= limit:
			return fmt.Errorf("%s: expected %s %s to be lower: got %f, want %f", i.Labels["Name"], p.compare.Name, bucket, got, limit)
		case !p.compare.ExpectLower && got <= limit:
			return fmt.Errorf("%s: expected %s %s to be higher: got %f, want %f", i.Labels["Name"], p.compare.Name, bucket, got, limit)
		}
	}
	if !found {
		return fmt.Errorf("%s: nothing was measured of %s, whose threshold is %f: the workload is too short, or the scheduler's metrics are missing", p.Name(), p.compare.Name, limit)
	}
	return nil
}

func hasLabels(have, want map[string]string) bool {
	for name, value := range want {
		if have[name] != value {
			return false
		}
	}
	return true
}
