package workload

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// collectedByDefault are the histograms that a case collects which does not say otherwise.
var collectedByDefault = Collected{Metrics: map[string][]LabelValues{
	"scheduler_framework_extension_point_duration_seconds": {{Label: "extension_point"}},
	"scheduler_scheduling_attempt_duration_seconds":        {{Label: "result", Values: []string{"scheduled", "unschedulable", "error"}}},
	"scheduler_pod_scheduling_duration_seconds":            nil,
	"scheduler_pod_scheduling_sli_duration_seconds":        nil,
	"scheduler_plugin_execution_duration_seconds":          {{Label: "plugin"}, {Label: "extension_point"}},
	"scheduler_queueing_hint_execution_duration_seconds":   {{Label: "plugin"}, {Label: "event"}},
	"scheduler_event_handling_duration_seconds":            {{Label: "event"}},
}}

// histograms are the metrics of a scheduler at one time.
type histograms map[string]*dto.MetricFamily

// readHistograms reads Prometheus' text format.
func readHistograms(text []byte) (histograms, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(text))
}

// grown are the observations between two times.
type grown struct {
	count   float64
	sum     float64
	buckets map[float64]float64 // observations of at most the key
}

// since returns what a metric observed after before, by the values of the labels that are collected.
func (h histograms) since(before histograms, metric string, by []LabelValues) map[string]*grown {
	out := map[string]*grown{}
	for sign, at := range map[float64]histograms{1: h, -1: before} {
		family := at[metric]
		if family == nil {
			continue
		}
		for _, m := range family.Metric {
			key, ok := keyOf(m, by)
			if m.Histogram == nil || !ok {
				continue
			}
			g := out[key]
			if g == nil {
				g = &grown{buckets: map[float64]float64{}}
				out[key] = g
			}
			g.count += sign * float64(m.Histogram.GetSampleCount())
			g.sum += sign * m.Histogram.GetSampleSum()
			for _, b := range m.Histogram.Bucket {
				g.buckets[b.GetUpperBound()] += sign * float64(b.GetCumulativeCount())
			}
		}
	}
	return out
}

// keyOf joins the values of the collected labels; false if one of them is not collected.
func keyOf(m *dto.Metric, by []LabelValues) (string, bool) {
	var values []string
	for _, l := range by {
		i := slices.IndexFunc(m.Label, func(p *dto.LabelPair) bool { return p.GetName() == l.Label })
		if i < 0 || len(l.Values) > 0 && !slices.Contains(l.Values, m.Label[i].GetValue()) {
			return "", false
		}
		values = append(values, m.Label[i].GetValue())
	}
	return strings.Join(values, "\x00"), true
}

// quantile interpolates in the bucket, as Prometheus' histogram_quantile does.
func (g *grown) quantile(q float64) float64 {
	rank, below, low := q*g.count, 0.0, 0.0
	for _, bound := range slices.Sorted(maps.Keys(g.buckets)) {
		n := g.buckets[bound]
		if n >= rank {
			if math.IsInf(bound, 1) || n == below {
				return low
			}
			return low + (bound-low)*(rank-below)/(n-below)
		}
		below, low = n, bound
	}
	return low
}

// items returns the histograms that grew between before and h, in milliseconds.
func (c *Collected) items(name string, before, h histograms) (out []Item) {
	for _, metric := range slices.Sorted(maps.Keys(c.Metrics)) {
		all := h.since(before, metric, c.Metrics[metric])
		for _, key := range slices.Sorted(maps.Keys(all)) {
			g := all[key]
			if g.count <= 0 {
				continue
			}
			i := Item{Labels: map[string]string{"Name": name, "Metric": metric}, Data: map[string]float64{}, Unit: "ms"}
			for at, value := range strings.Split(key, "\x00") {
				if at < len(c.Metrics[metric]) {
					i.Labels[c.Metrics[metric][at].Label] = value
				}
			}
			for bucket, q := range map[string]float64{"Perc50": 0.5, "Perc90": 0.9, "Perc95": 0.95, "Perc99": 0.99} {
				i.Data[bucket] = g.quantile(q) * 1000
			}
			i.Data["Average"] = g.sum / g.count * 1000
			out = append(out, i)
		}
	}
	return out
}

// gatesOf returns the feature gates of a server, as its metric kubernetes_feature_enabled has them.
func gatesOf(text []byte) (map[string]bool, error) {
	h, err := readHistograms(text)
	if err != nil {
		return nil, err
	}
	gates := map[string]bool{}
	family := h["kubernetes_feature_enabled"]
	if family == nil {
		return nil, fmt.Errorf("the metrics have no kubernetes_feature_enabled")
	}
	for _, m := range family.Metric {
		for _, l := range m.Label {
			if l.GetName() == "name" {
				gates[l.GetValue()] = cmp.Compare(m.Gauge.GetValue(), 0) > 0
			}
		}
	}
	return gates, nil
}

// CheckGates reports a feature gate of the workload that no server has, or that one has set otherwise. Each
// of the texts is the metrics of a server.
func (s *Selected) CheckGates(texts ...[]byte) error {
	var servers []map[string]bool
	for _, text := range texts {
		gates, err := gatesOf(text)
		if err != nil && len(s.Gates()) > 0 {
			return fmt.Errorf("%s: which feature gates the server has is not known: %w", s.Name(), err)
		}
		servers = append(servers, gates)
	}
	want := s.Gates()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		known := false
		for _, gates := range servers {
			on, ok := gates[name]
			known = known || ok
			if ok && on != want[name] {
				return s.RefuseGate(name, fmt.Errorf("want %v, the server runs with %v", want[name], on))
			}
		}
		if !known {
			return s.RefuseGate(name, fmt.Errorf("want %v, no server has this feature gate", want[name]))
		}
	}
	return nil
}
