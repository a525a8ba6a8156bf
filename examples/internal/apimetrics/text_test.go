package apimetrics_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
)

// family is the samples of /metrics with one name.
type family struct {
	kind    string              // counter, gauge, histogram, summary
	labels  []string            // of every series, but for le and quantile
	buckets []string            // bounds of a histogram but for the infinite one, in order
	series  map[string]float64  // by name{labels}
	lines   []string            // the series in their order, as in series
	parts   []map[string]string // labels of each
}

var (
	seriesLine = regexp.MustCompile(`^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$`)
	labelPart  = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// parse parses the metrics of a server. Series of one family must have the same labels.
func parse(t *testing.T, text string) map[string]*family {
	t.Helper()
	out := map[string]*family{}
	var name string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if kind, ok := strings.CutPrefix(line, "# TYPE "); ok {
			var what string
			name, what, _ = strings.Cut(kind, " ")
			out[name] = &family{kind: what, series: map[string]float64{}}
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		found := seriesLine.FindStringSubmatch(line)
		require.NotNil(t, found, line)
		f := out[name]
		require.True(t, strings.HasPrefix(found[1], name), line)
		labels := map[string]string{}
		for _, l := range labelPart.FindAllStringSubmatch(found[2], -1) {
			labels[l[1]] = l[2]
		}
		if bound, ok := labels["le"]; ok && f.kind == "histogram" {
			if bound != "+Inf" && !slices.Contains(f.buckets, bound) {
				f.buckets = append(f.buckets, bound)
			}
		}
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(labels)), func(l string) bool {
			return l == "le" && f.kind == "histogram" || l == "quantile" && f.kind == "summary"
		})
		if f.parts != nil {
			require.Equal(t, strings.Join(f.labels, ","), strings.Join(names, ","), line)
		}
		f.labels, f.parts = names, append(f.parts, labels)
		value, err := strconv.ParseFloat(found[3], 64)
		require.NoError(t, err, line)
		f.lines = append(f.lines, strings.TrimSuffix(line, " "+found[3]))
		f.series[f.lines[len(f.lines)-1]] = value
	}
	return out
}

// upstreams are the families of Kubernetes 1.36, as parse shows them.
func upstreams(t *testing.T) map[string]*family {
	t.Helper()
	facts, err := os.ReadFile("testdata/families.txt")
	require.NoError(t, err)
	out := map[string]*family{}
	for line := range strings.Lines(string(facts)) {
		f := strings.Fields(line)
		known := &family{kind: f[1]}
		if f[2] != "-" {
			known.labels = strings.Split(f[2], ",")
		}
		if len(f) > 3 {
			known.buckets = strings.Split(f[3], ",")
		}
		out[f[0]] = known
	}
	return out
}

// absent are the families of testdata/absent.txt: the beginnings of their names.
func absent(t *testing.T) (out []string) {
	t.Helper()
	lines, err := os.ReadFile("testdata/absent.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(lines)) {
		prefix, why, ok := strings.Cut(strings.TrimSpace(line), " ")
		if prefix == "#" {
			continue
		}
		require.True(t, ok && why != "", line)
		out = append(out, prefix)
	}
	return out
}

// requireEach requires of each family of Kubernetes 1.36 either that the server has it or that it is absent.
func requireEach(t *testing.T, m *apimetrics.Metrics) {
	t.Helper()
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		m.Describe(descriptions)
	}()
	here, without, used := map[string]bool{}, absent(t), map[string]bool{}
	for d := range descriptions {
		here[describedName.FindStringSubmatch(d.String())[1]] = true
	}
	for name := range upstreams(t) {
		i := slices.IndexFunc(without, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		assert.NotEqual(t, here[name], i >= 0, "%s is here: %v", name, here[name])
		if i >= 0 {
			used[without[i]] = true
		}
	}
	for _, prefix := range without {
		assert.True(t, used[prefix], "Kubernetes has no family %s", prefix)
	}
}

var describedName = regexp.MustCompile(`fqName: "([^"]+)"`)

// requireUpstreams requires every family of the server to have the name, type, labels and buckets that
// Kubernetes 1.36 has (testdata/families.txt), and returns them.
func requireUpstreams(t *testing.T, text string) map[string]*family {
	t.Helper()
	known, served := upstreams(t), parse(t, text)
	for name, f := range served {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "promhttp_") {
			continue // of the Prometheus library, on both sides
		}
		want, ok := known[name]
		require.True(t, ok, "Kubernetes has no metric %s", name)
		require.Equal(t, want.kind, f.kind, name)
		require.Equal(t, strings.Join(want.labels, ","), strings.Join(f.labels, ","), name)
		numbers := func(in []string) (out []float64) {
			for _, b := range in {
				n, err := strconv.ParseFloat(b, 64)
				require.NoError(t, err, name)
				out = append(out, n)
			}
			return out
		}
		if f.kind == "histogram" {
			require.InDeltaSlice(t, numbers(want.buckets), numbers(f.buckets), 1e-9, name)
		}
	}
	return served
}
