// Package workload reads the workload files of Kubernetes' scheduler benchmark
// (test/integration/scheduler_perf, as of 1.36.3) and runs them against any API server and scheduler.
// examples/loadtest is its command line.
//
// A file is a list of test cases. A case is a template, a list of operations, and workloads that fill in its
// parameters. Reading is strict: a field that is not known, an operation that cannot be done, a parameter
// that is missing or not used, are errors that name the file, the line and the field, before anything is
// started.
//
// # Differences from scheduler_perf
//
// Everything is done by clients of the servers, which are other processes; allocResourceClaims searches for
// devices as the scheduler of this module does. Nodes are made with what a node strategy adds, in place of
// being patched afterwards. The use of memory of the processes is printed by examples/loadtest in place of
// the metrics heap_memory_usage and memory_growth_rate. The latency of pods is measured by their creator too
// (PodLatency), and the rate over the whole time (OverallThroughput), which short workloads need. Of the
// files of 1.36.3, one is refused, nodedeclaredfeatures: its test gives kube-scheduler features that do not
// exist, in its process.
package workload

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3" // its nodes have lines, which the YAML to JSON conversion of package codec loses

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// File is a file of test cases.
type File struct {
	Path  string
	Cases []Case
	doc   yaml.Node
}

// Case is a test case.
type Case struct {
	Name                           string          `json:"name"`
	FeatureGates                   map[string]bool `json:"featureGates"`
	MetricsCollectorConfig         *Collected      `json:"metricsCollectorConfig"`
	WorkloadTemplate               []Op            `json:"workloadTemplate"`
	Workloads                      []Workload      `json:"workloads"`
	SchedulerConfigPath            string          `json:"schedulerConfigPath"`
	DefaultPodTemplatePath         string          `json:"defaultPodTemplatePath"`
	Labels                         []string        `json:"labels"`
	DefaultThresholdMetricSelector *Selector       `json:"defaultThresholdMetricSelector"`
}

// Workload is one size of a case.
type Workload struct {
	Name                    string          `json:"name"`
	Params                  map[string]any  `json:"params"`
	Labels                  []string        `json:"labels"`
	Threshold               any             `json:"threshold"`
	ThresholdMetricSelector *Selector       `json:"thresholdMetricSelector"`
	FeatureGates            map[string]bool `json:"featureGates"`
}

// Collected lists the histograms of the scheduler that are collected, each with the values of labels that
// make a result of their own.
type Collected struct {
	Metrics map[string][]LabelValues `json:"metrics"`
}

// LabelValues are the values of a label that are collected; none means all.
type LabelValues struct {
	Label  string   `json:"label"`
	Values []string `json:"values"`
}

// Selector names the number that a threshold is compared with.
type Selector struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	DataBucket  string            `json:"dataBucket"`
	ExpectLower bool              `json:"expectLower"`
}

// Read reads a file and the templates it names.
func Read(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path}
	if err := yaml.Unmarshal(data, &f.doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := f.decode(data); err != nil {
		return nil, err
	}
	return f, f.validate()
}

// decode is strict.
func (f *File) decode(data []byte) error {
	issues, err := codec.UnmarshalYAML(data, &f.Cases, codec.DecodeOptions{Strict: true})
	if e, ok := errors.AsType[*codec.DecodeError](err); ok && e.Path != "" {
		return f.refuse(e.Path, "%s", e.Msg)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	var errs []error
	for _, i := range issues {
		if i.Line > 0 {
			errs = append(errs, fmt.Errorf("%s:%d: %v", f.Path, i.Line, i))
			continue
		}
		errs = append(errs, f.refuse(i.Path, "%v", i))
	}
	return errors.Join(errs...)
}

// refuse returns an error about a field, with the file and its line.
func (f *File) refuse(path, format string, args ...any) error {
	line := 0
	n := &f.doc
	if len(n.Content) > 0 {
		n = n.Content[0]
		line = n.Line
	}
	for _, step := range steps(path) {
		at := 0
		if n, at = child(n, step); n == nil {
			break
		}
		line = at
	}
	err := fmt.Errorf(format, args...)
	if strings.Contains(err.Error(), path) {
		return fmt.Errorf("%s:%d: %w", f.Path, line, err)
	}
	return fmt.Errorf("%s:%d: %s: %w", f.Path, line, path, err)
}

// steps splits a path such as [0].workloads[1].name into [0], workloads, [1] and name.
func steps(path string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(path, "[", ".["), func(r rune) bool { return r == '.' })
}

// child returns a part of a node and its line; nil if it has no such part.
func child(n *yaml.Node, step string) (*yaml.Node, int) {
	switch n.Kind {
	case yaml.AliasNode:
		return child(n.Alias, step)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i+1], n.Content[i].Line
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(strings.Trim(step, "[]")); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i].Line
		}
	}
	return nil, 0
}

// fields returns the names that a mapping has.
func (f *File) fields(path string) (names []string) {
	if len(f.doc.Content) == 0 {
		return nil
	}
	n := f.doc.Content[0]
	for _, step := range steps(path) {
		if n, _ = child(n, step); n == nil {
			return nil
		}
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			names = append(names, n.Content[i].Value)
		}
	}
	return names
}

// beside returns a path that the file has as the file system does: relative paths are those of its folder.
func (f *File) beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.Path), path)
}

// validate reports what no workload of the file could do.
func (f *File) validate() error {
	if len(f.Cases) == 0 {
		return fmt.Errorf("%s: no test cases defined", f.Path)
	}
	var errs []error
	refuse := func(path, format string, args ...any) { errs = append(errs, f.refuse(path, format, args...)) }
	names := map[string]bool{}
	for i := range f.Cases {
		c, at := &f.Cases[i], fmt.Sprintf("[%d]", i)
		switch {
		case c.Name == "":
			refuse(at+".name", "a test case must have a name")
		case names[c.Name]:
			refuse(at+".name", "%s: name is not unique", c.Name)
		case len(c.Workloads) == 0:
			refuse(at, "%s: no workloads defined", c.Name)
		case len(c.WorkloadTemplate) == 0:
			refuse(at, "%s: no ops defined", c.Name)
		case !slices.ContainsFunc(c.WorkloadTemplate, Op.collects):
			refuse(at+".workloadTemplate", "%s: no op in the workload template collects metrics", c.Name)
		}
		names[c.Name] = true
		for j := range c.WorkloadTemplate {
			errs = append(errs, f.validateOp(&c.WorkloadTemplate[j], fmt.Sprintf("%s.workloadTemplate[%d]", at, j)))
		}
		errs = append(errs, f.validateWorkloads(c, at))
	}
	return errors.Join(errs...)
}

func (f *File) validateWorkloads(c *Case, at string) error {
	var errs []error
	names := map[string]bool{}
	for j := range c.Workloads {
		w, at := &c.Workloads[j], fmt.Sprintf("%s.workloads[%d]", at, j)
		if w.Name == "" || names[w.Name] {
			errs = append(errs, f.refuse(at+".name", "%s: workload name %q is empty or not unique", c.Name, w.Name))
		}
		names[w.Name] = true
		if _, err := limits(w.Threshold); err != nil {
			errs = append(errs, f.refuse(at+".threshold", "%w", err))
		}
		s, where := w.ThresholdMetricSelector, at+".thresholdMetricSelector"
		if s == nil {
			s, where = c.DefaultThresholdMetricSelector, strings.TrimSuffix(at, fmt.Sprintf(".workloads[%d]", j))+".defaultThresholdMetricSelector"
		}
		if s != nil {
			if err := s.validate(c.MetricsCollectorConfig); err != nil {
				errs = append(errs, f.refuse(where, "%w", err))
			}
		}
	}
	return errors.Join(errs...)
}

// limits are those of a workload by topic; the one of the empty topic is that of all others.
func limits(threshold any) (map[string]float64, error) {
	number := func(v any) (float64, error) {
		n, ok := v.(float64)
		if i, whole := v.(int64); whole {
			n, ok = float64(i), true
		}
		if !ok || n < 0 {
			return 0, fmt.Errorf("threshold %v: want a number of 0 or more, or one for each topic", v)
		}
		return n, nil
	}
	if threshold == nil {
		return nil, nil
	}
	byTopic, ok := threshold.(map[string]any)
	if !ok {
		byTopic = map[string]any{"": threshold}
	}
	out := map[string]float64{}
	for topic, v := range byTopic {
		n, err := number(v)
		if err != nil {
			return nil, err
		}
		out[topic] = n
	}
	return out, nil
}

// validate reports a number that is not collected.
func (s *Selector) validate(c *Collected) error {
	if s.DataBucket == "" {
		return fmt.Errorf("dataBucket should be set for metric %s", s.Name)
	}
	if s.Name == throughput {
		return nil
	}
	if c == nil {
		c = &collectedByDefault
	}
	labels, ok := c.Metrics[s.Name]
	if !ok {
		return fmt.Errorf("metric %s is not collected: see metricsCollectorConfig", s.Name)
	}
	for name, value := range s.Labels {
		if !slices.ContainsFunc(labels, func(l LabelValues) bool {
			return l.Label == name && (len(l.Values) == 0 || slices.Contains(l.Values, value))
		}) {
			return fmt.Errorf("metric %s is not collected with %s=%q", s.Name, name, value)
		}
	}
	return nil
}

// Selected is a workload to run.
type Selected struct {
	File     *File
	Case     *Case
	Workload *Workload
	at       string // its path
	caseAt   string
}

// Name returns the names of the case and the workload, as in SchedulingBasic/5Nodes.
func (s *Selected) Name() string { return s.Case.Name + "/" + s.Workload.Name }

// Gates returns the feature gates that the workload is to run with.
func (s *Selected) Gates() map[string]bool {
	gates := map[string]bool{}
	for _, g := range []map[string]bool{s.Case.FeatureGates, s.Workload.FeatureGates} {
		maps.Copy(gates, g)
	}
	return gates
}

// WithoutGate returns the workload without a feature gate.
func (s *Selected) WithoutGate(name string) *Selected {
	out, c, w := *s, *s.Case, *s.Workload
	c.FeatureGates, w.FeatureGates = maps.Clone(c.FeatureGates), maps.Clone(w.FeatureGates)
	delete(c.FeatureGates, name)
	delete(w.FeatureGates, name)
	out.Case, out.Workload = &c, &w
	return &out
}

// RefuseGate returns an error about one of the feature gates, with the place where it is set.
func (s *Selected) RefuseGate(name string, err error) error {
	at := s.caseAt
	if _, ok := s.Workload.FeatureGates[name]; ok {
		at = s.at
	}
	return s.File.refuse(at+".featureGates."+name, "%w", err)
}

// RefuseConfig returns an error about the configuration of the scheduler.
func (s *Selected) RefuseConfig(err error) error {
	return s.File.refuse(s.caseAt+".schedulerConfigPath", "%w", err)
}

// SchedulerConfig returns the path of the scheduler's configuration; empty if there is none.
func (s *Selected) SchedulerConfig() string {
	if s.Case.SchedulerConfigPath == "" {
		return ""
	}
	return s.File.beside(s.Case.SchedulerConfigPath)
}

// Select returns the workloads that have all labels of filter, or lack those with a minus before them, as in
// "performance,-short". The labels of a workload include those of its case.
func (f *File) Select(filter []string) (out []*Selected) {
	for i := range f.Cases {
		c := &f.Cases[i]
		for j := range c.Workloads {
			w := &c.Workloads[j]
			has := func(label string) bool {
				return slices.Contains(c.Labels, label) || slices.Contains(w.Labels, label)
			}
			if !slices.ContainsFunc(filter, func(label string) bool {
				name, without := strings.CutPrefix(label, "-")
				name = strings.TrimPrefix(name, "+")
				return name != "" && has(name) == without
			}) {
				at := fmt.Sprintf("[%d]", i)
				out = append(out, &Selected{File: f, Case: c, Workload: w, caseAt: at, at: fmt.Sprintf("%s.workloads[%d]", at, j)})
			}
		}
	}
	return out
}
