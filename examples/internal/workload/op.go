package workload

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Op is an operation of any kind. Which fields a kind has is in opcodes.
type Op struct {
	Opcode string `json:"opcode"`

	Name                  string            `json:"name"`
	Count                 *int              `json:"count"`
	CountParam            string            `json:"countParam"`
	Prefix                string            `json:"prefix"`
	Namespace             string            `json:"namespace"`
	Namespaces            []string          `json:"namespaces"`
	NamespacePrefix       string            `json:"namespacePrefix"`
	LabelSelector         map[string]string `json:"labelSelector"`
	TemplatePath          string            `json:"templatePath"`
	TemplatePaths         []string          `json:"templatePaths"`
	NodeTemplatePath      string            `json:"nodeTemplatePath"`
	NamespaceTemplatePath string            `json:"namespaceTemplatePath"`
	PodTemplatePath       string            `json:"podTemplatePath"`
	VolumeTemplatePath    string            `json:"persistentVolumeTemplatePath"`
	ClaimTemplatePath     string            `json:"persistentVolumeClaimTemplatePath"`
	CollectMetrics        bool              `json:"collectMetrics"`
	SkipWaitToCompletion  bool              `json:"skipWaitToCompletion"`
	SteadyState           bool              `json:"steadyState"`
	SteadyStateParam      string            `json:"steadyStateParam"`
	Duration              metav1.Duration   `json:"duration"`
	DurationParam         string            `json:"durationParam"`
	CreatePodsOp          *Op               `json:"createPodsOp"`
	DeletePodsPerSecond   int               `json:"deletePodsPerSecond"`
	UpdatePerSecond       int               `json:"updatePerSecond"`
	Subresources          []string          `json:"subresources"`
	Mode                  string            `json:"mode"`
	Number                int               `json:"number"`
	IntervalMilliseconds  int64             `json:"intervalMilliseconds"`
	StageRequirement      string            `json:"stageRequirement"`
	DriverName            string            `json:"driverName"`
	Nodes                 string            `json:"nodes"`
	MaxClaimsPerNode      int               `json:"maxClaimsPerNode"`
	MaxClaimsPerNodeParam string            `json:"maxClaimsPerNodeParam"`
	NodeAllocatable       *allocatable      `json:"nodeAllocatableStrategy"`
	NodeLabels            *nodeLabels       `json:"labelNodePrepareStrategy"`
	UniqueNodeLabel       *uniqueLabel      `json:"uniqueNodeLabelStrategy"`

	at string // its path in the file
}

// allocatable is what nodes have, and the limits of their storage drivers.
type allocatable struct {
	NodeAllocatable    map[string]string     `json:"nodeAllocatable"`
	CSINodeAllocatable map[string]driverSize `json:"csiNodeAllocatable"`
	MigratedPlugins    []string              `json:"migratedPlugins"`
}

// driverSize is how many volumes a driver attaches to a node.
type driverSize struct {
	Count *int32 `json:"count"`
}

// nodeLabels gives the values of a label to nodes in turn.
type nodeLabels struct {
	LabelKey    string   `json:"labelKey"`
	LabelValues []string `json:"labelValues"`
}

// uniqueLabel gives every node its own value of a label.
type uniqueLabel struct {
	LabelKey string `json:"labelKey"`
}

// opcodes are the kinds of operations, with their fields.
var opcodes = map[string][]string{
	"createAny":              {"namespace", "templatePath", "count", "countParam"},
	"createNodes":            {"count", "countParam", "nodeTemplatePath", "nodeAllocatableStrategy", "labelNodePrepareStrategy", "uniqueNodeLabelStrategy"},
	"createNamespaces":       {"prefix", "count", "countParam", "namespaceTemplatePath"},
	"createPods":             {"count", "countParam", "steadyState", "steadyStateParam", "duration", "durationParam", "collectMetrics", "namespace", "podTemplatePath", "skipWaitToCompletion", "persistentVolumeTemplatePath", "persistentVolumeClaimTemplatePath"},
	"createPodSets":          {"count", "countParam", "namespacePrefix", "createPodsOp"},
	"deletePods":             {"namespace", "labelSelector", "skipWaitToCompletion", "deletePodsPerSecond"},
	"createResourceClaims":   {"count", "countParam", "namespace", "templatePath"},
	"createResourceDriver":   {"driverName", "maxClaimsPerNode", "maxClaimsPerNodeParam", "nodes"},
	"churn":                  {"mode", "number", "intervalMilliseconds", "namespace", "templatePaths"},
	"updateAny":              {"namespace", "templatePath", "count", "countParam", "updatePerSecond", "subresources"},
	"barrier":                {"namespaces", "labelSelector", "stageRequirement"},
	"sleep":                  {"duration", "durationParam"},
	"startCollectingMetrics": {"name", "namespaces", "labelSelector"},
	"stopCollectingMetrics":  nil,
	"allocResourceClaims":    {"namespace"},
}

// collects reports whether the operation ends a collection of metrics.
func (o Op) collects() bool {
	return o.CollectMetrics || o.Opcode == "stopCollectingMetrics" || o.CreatePodsOp != nil && o.CreatePodsOp.CollectMetrics
}

// validateOp reports fields that the operation does not have, and values that do not fit.
func (f *File) validateOp(o *Op, at string) error {
	o.at = at
	known, ok := opcodes[o.Opcode]
	if !ok {
		return f.refuse(at+".opcode", "unknown opcode %q; there are %s", o.Opcode, strings.Join(slices.Sorted(maps.Keys(opcodes)), ", "))
	}
	var errs []error
	refuse := func(field, format string, args ...any) {
		errs = append(errs, f.refuse(at+"."+field, format, args...))
	}
	for _, name := range f.fields(at) {
		if name != "opcode" && !slices.Contains(known, name) {
			refuse(name, "%s has no such field", o.Opcode)
		}
	}
	for field, param := range map[string]string{"countParam": o.CountParam, "durationParam": o.DurationParam, "steadyStateParam": o.SteadyStateParam, "maxClaimsPerNodeParam": o.MaxClaimsPerNodeParam} {
		if param != "" && (param[0] != '$' || len(param) == 1) {
			refuse(field, "%q: a parameter begins with $", param)
		}
	}
	if o.Count != nil && *o.Count < 0 || o.Number < 0 || o.DeletePodsPerSecond < 0 || o.UpdatePerSecond < 0 || o.MaxClaimsPerNode < 0 || o.IntervalMilliseconds < 0 {
		refuse("opcode", "numbers must not be negative")
	}
	if o.CollectMetrics && o.SkipWaitToCompletion {
		refuse("collectMetrics", "must not be true with skipWaitToCompletion")
	}
	if o.SkipWaitToCompletion && o.SteadyState {
		refuse("steadyState", "must not be true with skipWaitToCompletion")
	}
	errs = append(errs, f.validateKind(o))
	return errors.Join(errs...)
}

// validateKind reports what an operation of its kind must have.
func (f *File) validateKind(o *Op) error {
	missing := func(field string) error { return f.refuse(o.at+"."+field, "%s needs it", o.Opcode) }
	switch {
	case slices.Contains([]string{"createAny", "updateAny", "createResourceClaims"}, o.Opcode) && o.TemplatePath == "":
		return missing("templatePath")
	case slices.Contains([]string{"createResourceClaims", "deletePods"}, o.Opcode) && o.Namespace == "":
		return missing("namespace")
	case o.Opcode == "createNamespaces" && o.Prefix == "":
		return missing("prefix")
	case o.Opcode == "createResourceDriver" && o.DriverName == "":
		return missing("driverName")
	case o.Opcode == "createResourceDriver" && o.Nodes == "":
		return missing("nodes")
	case o.Opcode == "startCollectingMetrics" && len(o.Namespaces) == 0:
		return missing("namespaces")
	case o.Opcode == "churn" && o.Mode != "create" && o.Mode != "recreate":
		return f.refuse(o.at+".mode", "invalid mode %q: want create or recreate", o.Mode)
	case o.Opcode == "churn" && o.Mode == "recreate" && o.Number == 0:
		return f.refuse(o.at+".number", "must not be 0 with mode recreate")
	case o.Opcode == "churn" && len(o.TemplatePaths) == 0:
		return missing("templatePaths")
	case o.Opcode == "barrier" && !slices.Contains([]string{"", "Scheduled", "Attempted"}, o.StageRequirement):
		return f.refuse(o.at+".stageRequirement", "%q: want Scheduled or Attempted", o.StageRequirement)
	case o.Opcode == "createPods" && (o.VolumeTemplatePath == "") != (o.ClaimTemplatePath == ""):
		return f.refuse(o.at, "persistentVolumeTemplatePath and persistentVolumeClaimTemplatePath go together")
	case o.NodeLabels != nil && (o.NodeLabels.LabelKey == "" || len(o.NodeLabels.LabelValues) == 0):
		return f.refuse(o.at+".labelNodePrepareStrategy", "needs labelKey and labelValues")
	case o.UniqueNodeLabel != nil && o.UniqueNodeLabel.LabelKey == "":
		return f.refuse(o.at+".uniqueNodeLabelStrategy", "needs labelKey")
	case o.Opcode == "createPodSets" && o.CreatePodsOp == nil:
		return missing("createPodsOp")
	case o.Opcode == "createPodSets" && o.CreatePodsOp.Opcode != "createPods":
		return f.refuse(o.at+".createPodsOp.opcode", "%q: want createPods", o.CreatePodsOp.Opcode)
	case o.Opcode == "createPodSets":
		return f.validateOp(o.CreatePodsOp, o.at+".createPodsOp")
	}
	return nil
}

// filled returns the operations of a workload with its parameters filled in.
func (s *Selected) filled() ([]Op, error) {
	var ops []Op
	var errs []error
	used := map[string]bool{}
	for _, o := range s.Case.WorkloadTemplate {
		errs = append(errs, s.fill(&o, used))
		if o.Opcode != "createPodSets" {
			ops = append(ops, o)
			continue
		}
		each := *o.CreatePodsOp
		errs = append(errs, s.fill(&each, used))
		for i := range deref(o.Count, 0) {
			each.Namespace = fmt.Sprintf("%s-%d", o.NamespacePrefix, i)
			ops = append(ops, each)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Workload.Params)) {
		if !used[name] {
			errs = append(errs, s.File.refuse(s.at+".params."+name, "no operation uses the parameter"))
		}
	}
	return ops, errors.Join(errs...)
}

// fill replaces the parameters of an operation by the workload's.
func (s *Selected) fill(o *Op, used map[string]bool) error {
	var errs []error
	refuse := func(field, format string, args ...any) {
		errs = append(errs, s.File.refuse(o.at+"."+field, "workload %s: "+format, append([]any{s.Name()}, args...)...))
	}
	count := func(field, param string) int {
		n, ok := value(s.Workload.Params, param, used).(int64)
		if !ok || n < 0 {
			refuse(field, "parameter %s is not a whole number of 0 or more", param)
		}
		return int(n)
	}
	if o.CountParam != "" {
		n := count("countParam", o.CountParam)
		o.Count = &n
	}
	if o.MaxClaimsPerNodeParam != "" {
		o.MaxClaimsPerNode = count("maxClaimsPerNodeParam", o.MaxClaimsPerNodeParam)
	}
	if o.DurationParam != "" {
		text, _ := value(s.Workload.Params, o.DurationParam, used).(string)
		d, err := time.ParseDuration(text)
		if err != nil {
			refuse("durationParam", "parameter %s is no duration: %w", o.DurationParam, err)
		}
		o.Duration.Duration = d
	}
	if o.SteadyStateParam != "" {
		on, ok := value(s.Workload.Params, o.SteadyStateParam, used).(bool)
		if !ok {
			refuse("steadyStateParam", "parameter %s is neither true nor false", o.SteadyStateParam)
		}
		o.SteadyState = on
	}
	if o.SteadyState && o.Duration.Duration <= 0 {
		refuse("steadyState", "needs a duration of more than 0")
	}
	if o.SteadyState && deref(o.Count, 0) == 0 {
		refuse("steadyState", "needs a count of more than 0")
	}
	return errors.Join(errs...)
}

// value returns a parameter, or nil.
func value(params map[string]any, param string, used map[string]bool) any {
	name := strings.TrimPrefix(param, "$")
	used[name] = true
	return params[name]
}

func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
