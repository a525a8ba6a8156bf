// Package kubefeatures has the features that the components of Kubernetes 1.36 know by --feature-gates. All
// of them know all, so that one setting may be given to each: a component that a feature does not concern
// accepts it and does nothing.
package kubefeatures

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
)

// Release is the release of Kubernetes.
var Release = featuregate.MajorMinor(1, 36)

// table has a line for each feature: its name, its stage, on or off, "locked" if that cannot be changed, and
// "needs" with the features that it is of no use without.
//
//go:embed features-1.36.txt
var table string

// Set is a set of features and what they need.
type Set struct {
	Specs map[featuregate.Feature]featuregate.Spec
	Needs map[featuregate.Feature][]featuregate.Feature
}

// Kubernetes returns the features of Kubernetes. The caller may change them.
func Kubernetes() Set {
	s := Set{Specs: map[featuregate.Feature]featuregate.Spec{}, Needs: map[featuregate.Feature][]featuregate.Feature{}}
	for line := range strings.Lines(table) {
		line, needs, _ := strings.Cut(strings.TrimSpace(line), " needs ")
		fields := strings.Fields(line)
		spec := featuregate.Spec{Since: Release, Stage: featuregate.Stage(strings.TrimPrefix(fields[1], "GA")), Default: fields[2] == "on", LockToDefault: len(fields) > 3}
		name := featuregate.Feature(fields[0])
		s.Specs[name] = spec
		for need := range strings.FieldsSeq(needs) {
			s.Needs[name] = append(s.Needs[name], featuregate.Feature(need))
		}
	}
	return s
}

// Fixed is a feature that a program has or lacks whatever the setting, and why.
type Fixed struct {
	On  bool
	Why string
}

// Fix locks features of the set, which must be in it.
func (s Set) Fix(fixed map[featuregate.Feature]Fixed) error {
	for name, f := range fixed {
		spec, ok := s.Specs[name]
		if !ok {
			return fmt.Errorf("Kubernetes %s has no feature %s", Release, name)
		}
		spec.Default, spec.LockToDefault, spec.LockReason = f.On, true, f.Why
		s.Specs[name] = spec
	}
	return nil
}

// Gate returns a gate of the features.
func (s Set) Gate() (*featuregate.Gate, error) {
	specs := map[featuregate.Feature][]featuregate.Spec{}
	for name, spec := range s.Specs {
		specs[name] = []featuregate.Spec{spec}
	}
	g := featuregate.New(Release)
	return g, g.Add(specs)
}

// Metric is which features are on, and how far they have come: settings do not change while a program runs.
func Metric(g *featuregate.Gate) prometheus.Collector {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubernetes_feature_enabled", Help: "Whether a feature is on, and how far it has come."},
		[]string{"name", "stage"})
	for _, f := range g.All() {
		on := 0.0
		if f.Enabled {
			on = 1
		}
		v.WithLabelValues(string(f.Feature), string(f.Stage)).Set(on)
	}
	return v
}
