// Package familytest compares the families of metrics of a program with those of the Kubernetes program of
// its name, which are in testdata/families.txt: a line for each, with its type, the names of its labels, or
// -, and the bounds of its histogram. Those that the program does not have are in testdata/absent.txt, each
// with its reason. The tests are in package apimetrics.
package familytest

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
)

// Family is the samples of /metrics with one name.
type Family struct {
	Kind    string              // counter, gauge, histogram, summary
	Labels  []string            // of every series, but for le and quantile
	Buckets []string            // bounds of a histogram but for the infinite one, in order
	Series  map[string]float64  // by name{labels}
	Lines   []string            // the series in their order, as in Series
	Parts   []map[string]string // labels of each
}

var (
	seriesLine = regexp.MustCompile(`^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$`)
	labelPart  = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// parse parses the metrics of a server. Series of one family must have the same labels.
func parse(t *testing.T, text string) map[string]*Family {
	t.Helper()
	out := map[string]*Family{}
	var name string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if kind, ok := strings.CutPrefix(line, "# TYPE "); ok {
			var what string
			name, what, _ = strings.Cut(kind, " ")
			out[name] = &Family{Kind: what, Series: map[string]float64{}}
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
		if bound, ok := labels["le"]; ok && f.Kind == "histogram" {
			if bound != "+Inf" && !slices.Contains(f.Buckets, bound) {
				f.Buckets = append(f.Buckets, bound)
			}
		}
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(labels)), func(l string) bool {
			return l == "le" && f.Kind == "histogram" || l == "quantile" && f.Kind == "summary"
		})
		if f.Parts != nil {
			require.Equal(t, strings.Join(f.Labels, ","), strings.Join(names, ","), line)
		}
		f.Labels, f.Parts = names, append(f.Parts, labels)
		value, err := strconv.ParseFloat(found[3], 64)
		require.NoError(t, err, line)
		f.Lines = append(f.Lines, strings.TrimSuffix(line, " "+found[3]))
		f.Series[f.Lines[len(f.Lines)-1]] = value
	}
	return out
}

// upstreams are the families of Kubernetes 1.36, as parse shows them.
func upstreams(t *testing.T) map[string]*Family {
	t.Helper()
	facts, err := os.ReadFile("testdata/families.txt")
	require.NoError(t, err)
	out := map[string]*Family{}
	for line := range strings.Lines(string(facts)) {
		f := strings.Fields(line)
		known := &Family{Kind: f[1]}
		if f[2] != "-" {
			known.Labels = strings.Split(f[2], ",")
		}
		if len(f) > 3 {
			known.Buckets = strings.Split(f[3], ",")
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

// RequireEach requires of each family of Kubernetes 1.36 either that the program has it, with its labels, or
// that it is absent.
func RequireEach(t *testing.T, m interface{ Describe(chan<- *prometheus.Desc) }) {
	t.Helper()
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		m.Describe(descriptions)
	}()
	here, without, used := map[string]string{}, absent(t), map[string]bool{}
	for d := range descriptions {
		found := described.FindStringSubmatch(d.String())
		var labels []string
		for _, constant := range labelPart.FindAllStringSubmatch(found[2], -1) {
			labels = append(labels, constant[1])
		}
		if found[3] != "" {
			labels = append(labels, strings.Split(found[3], ",")...)
		}
		slices.Sort(labels)
		here[found[1]] = strings.Join(labels, ",")
	}
	for name, f := range upstreams(t) {
		labels, has := here[name]
		i := slices.IndexFunc(without, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		assert.NotEqual(t, has, i >= 0, "%s is here: %v", name, has)
		if i >= 0 {
			used[without[i]] = true
		}
		if has {
			assert.Equal(t, strings.Join(f.Labels, ","), labels, name)
		}
	}
	for _, prefix := range without {
		assert.True(t, used[prefix], "Kubernetes has no family %s", prefix)
	}
}

var described = regexp.MustCompile(`fqName: "([^"]+)".*constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// RequireUpstreams requires every family of the server to have the name, type, labels and buckets that
// Kubernetes 1.36 has (testdata/families.txt), and returns them.
func RequireUpstreams(t *testing.T, text string) map[string]*Family {
	t.Helper()
	known, served := upstreams(t), parse(t, text)
	for name, f := range served {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "promhttp_") {
			continue // of the Prometheus library, on both sides
		}
		want, ok := known[name]
		require.True(t, ok, "Kubernetes has no metric %s", name)
		require.Equal(t, want.Kind, f.Kind, name)
		require.Equal(t, strings.Join(want.Labels, ","), strings.Join(f.Labels, ","), name)
		numbers := func(in []string) (out []float64) {
			for _, b := range in {
				n, err := strconv.ParseFloat(b, 64)
				require.NoError(t, err, name)
				out = append(out, n)
			}
			return out
		}
		if f.Kind == "histogram" {
			require.InDeltaSlice(t, numbers(want.Buckets), numbers(f.Buckets), 1e-9, name)
		}
	}
	return served
}
