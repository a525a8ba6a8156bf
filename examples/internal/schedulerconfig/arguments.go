package schedulerconfig

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

type pluginConfig struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitempty"`
}

// pluginArgs are the arguments of a plugin.
type pluginArgs interface {
	// complete sets what is left out to its defaults.
	complete()
	plugin() (scheduler.Plugin, error)
}

// arguments makes the arguments of those plugins that have some.
var arguments = map[string]func(f Features) pluginArgs{
	"DefaultPreemption":               func(Features) pluginArgs { return &preemptionArgs{} },
	"DynamicResources":                func(Features) pluginArgs { return &devicesArgs{} },
	"InterPodAffinity":                func(Features) pluginArgs { return &podAffinityArgs{} },
	"NodeAffinity":                    func(Features) pluginArgs { return &nodeAffinityArgs{} },
	"NodeResourcesFit":                func(Features) pluginArgs { return &fitArgs{} },
	"NodeResourcesBalancedAllocation": func(Features) pluginArgs { return &balancedArgs{} },
	"PodTopologySpread":               func(Features) pluginArgs { return &spreadArgs{} },
	"VolumeBinding":                   func(f Features) pluginArgs { return &volumeBindingArgs{scores: f.StorageCapacityScoring} },
}

// arguments returns the arguments as they are in the file. An error begins with the rest of their path.
func (c *pluginConfig) arguments(f Features) (pluginArgs, error) {
	build := arguments[c.Name]
	if build == nil {
		return nil, fmt.Errorf(": plugin %s has no arguments", c.Name)
	}
	for field, want := range map[string]string{"kind": c.Name + "Args", "apiVersion": apiVersion} {
		if v, ok := c.Args[field]; ok && v != want {
			return nil, fmt.Errorf(".args.%s: %v: want %s", field, v, want)
		}
	}
	data, err := json.Marshal(c.Args)
	if err != nil {
		return nil, fmt.Errorf(".args: %w", err)
	}
	args := build(f)
	if err := strict(data, args); err != nil {
		return nil, fmt.Errorf(".args: %w", err)
	}
	return args, nil
}

// complete sets the arguments that are left out to their defaults.
func (c *pluginConfig) complete(f Features) error {
	args, err := c.arguments(f)
	if err != nil {
		return err
	}
	args.complete()
	data, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf(".args: %w", err)
	}
	c.Args = nil
	if err := json.Unmarshal(data, &c.Args); err != nil {
		return fmt.Errorf(".args: %w", err)
	}
	c.Args["kind"], c.Args["apiVersion"] = c.Name+"Args", apiVersion
	return nil
}

type preemptionArgs struct {
	metav1.TypeMeta             `json:",inline"`
	MinCandidateNodesPercentage *int `json:"minCandidateNodesPercentage,omitempty"`
	MinCandidateNodesAbsolute   *int `json:"minCandidateNodesAbsolute,omitempty"`
}

func (a *preemptionArgs) complete() {
	setDefault(&a.MinCandidateNodesPercentage, 10)
	setDefault(&a.MinCandidateNodesAbsolute, 100)
}

func (a *preemptionArgs) plugin() (scheduler.Plugin, error) {
	out := &scheduler.DefaultPreemption{}
	if v := a.MinCandidateNodesPercentage; v != nil {
		if *v < 1 || *v > 100 {
			return nil, fmt.Errorf("minCandidateNodesPercentage: %d: want 1 to 100", *v)
		}
		out.MinCandidateNodesPercentage = *v
	}
	if v := a.MinCandidateNodesAbsolute; v != nil {
		if *v < 1 {
			return nil, fmt.Errorf("minCandidateNodesAbsolute: %d: want at least 1", *v)
		}
		out.MinCandidateNodesAbsolute = *v
	}
	return out, nil
}

type devicesArgs struct {
	metav1.TypeMeta `json:",inline"`
	FilterTimeout   *metav1.Duration `json:"filterTimeout,omitempty"`
	BindingTimeout  *metav1.Duration `json:"bindingTimeout,omitempty"`
}

func (a *devicesArgs) complete() {
	setDefault(&a.FilterTimeout, metav1.Duration{Duration: 10 * time.Second})
	setDefault(&a.BindingTimeout, metav1.Duration{Duration: 10 * time.Minute})
}

func (a *devicesArgs) plugin() (scheduler.Plugin, error) {
	out := &scheduler.DynamicResources{}
	if v := a.FilterTimeout; v != nil {
		switch {
		case v.Duration < 0:
			return nil, fmt.Errorf("filterTimeout: %s: want no negative time", v.Duration)
		case v.Duration == 0:
			out.FilterTimeout = -1 // no limit
		default:
			out.FilterTimeout = v.Duration
		}
	}
	if v := a.BindingTimeout; v != nil {
		if v.Duration < time.Second {
			return nil, fmt.Errorf("bindingTimeout: %s: want at least 1s", v.Duration)
		}
		out.BindingTimeout = v.Duration
	}
	return out, nil
}

type podAffinityArgs struct {
	metav1.TypeMeta                    `json:",inline"`
	HardPodAffinityWeight              *int64 `json:"hardPodAffinityWeight,omitempty"`
	IgnorePreferredTermsOfExistingPods bool   `json:"ignorePreferredTermsOfExistingPods"`
}

func (a *podAffinityArgs) complete() { setDefault(&a.HardPodAffinityWeight, 1) }

func (a *podAffinityArgs) plugin() (scheduler.Plugin, error) {
	out := &scheduler.InterPodAffinity{HardPodAffinityWeight: 1, IgnorePreferredTermsOfExistingPods: a.IgnorePreferredTermsOfExistingPods}
	if v := a.HardPodAffinityWeight; v != nil {
		if *v < 0 || *v > 100 {
			return nil, fmt.Errorf("hardPodAffinityWeight: %d: want 0 to 100", *v)
		}
		out.HardPodAffinityWeight = *v
	}
	return out, nil
}

type nodeAffinityArgs struct {
	metav1.TypeMeta `json:",inline"`
	AddedAffinity   *corev1.NodeAffinity `json:"addedAffinity,omitempty"`
}

func (a *nodeAffinityArgs) complete() {}

func (a *nodeAffinityArgs) plugin() (scheduler.Plugin, error) {
	return scheduler.NewNodeAffinity(a.AddedAffinity)
}

// resourceSpec is a ResourceSpec; the weight is 1 if it is not given.
type resourceSpec struct {
	Name   corev1.ResourceName `json:"name"`
	Weight *int64              `json:"weight,omitempty"`
}

func weights(list []resourceSpec) (out []scheduler.ResourceWeight) {
	for _, r := range list {
		w := scheduler.ResourceWeight{Name: r.Name, Weight: 1}
		if r.Weight != nil {
			w.Weight = *r.Weight
		}
		out = append(out, w)
	}
	return out
}

// completed are the resources with their weights, cpu and memory if there are none.
func completed(list []resourceSpec) []resourceSpec {
	if len(list) == 0 {
		list = []resourceSpec{{Name: corev1.ResourceCPU}, {Name: corev1.ResourceMemory}}
	}
	for i := range list {
		setDefault(&list[i].Weight, 1)
	}
	return list
}

// shapePoint is a UtilizationShapePoint.
type shapePoint struct {
	Utilization int64 `json:"utilization"`
	Score       int64 `json:"score"`
}

func shapeOf(points []shapePoint) (out []scheduler.ShapePoint) {
	for _, p := range points {
		out = append(out, scheduler.ShapePoint(p))
	}
	return out
}

type fitArgs struct {
	metav1.TypeMeta       `json:",inline"`
	IgnoredResources      []string `json:"ignoredResources,omitempty"`
	IgnoredResourceGroups []string `json:"ignoredResourceGroups,omitempty"`
	ScoringStrategy       struct {
		Type                     string         `json:"type,omitempty"`
		Resources                []resourceSpec `json:"resources,omitempty"`
		RequestedToCapacityRatio *struct {
			Shape []shapePoint `json:"shape,omitempty"`
		} `json:"requestedToCapacityRatio,omitempty"`
	} `json:"scoringStrategy,omitempty"`
}

func (a *fitArgs) complete() {
	s := &a.ScoringStrategy
	s.Type = cmp.Or(s.Type, string(scheduler.LeastAllocated))
	s.Resources = completed(s.Resources)
}

func (a *fitArgs) plugin() (scheduler.Plugin, error) {
	s := &a.ScoringStrategy
	o := scheduler.FitOptions{IgnoredResources: a.IgnoredResources, IgnoredResourceGroups: a.IgnoredResourceGroups,
		Strategy: scheduler.ScoringStrategy(s.Type), Resources: weights(s.Resources)}
	if r := s.RequestedToCapacityRatio; r != nil {
		o.Shape = shapeOf(r.Shape)
	}
	return scheduler.NewNodeResourcesFit(o)
}

type balancedArgs struct {
	metav1.TypeMeta `json:",inline"`
	Resources       []resourceSpec `json:"resources,omitempty"`
}

func (a *balancedArgs) complete() { a.Resources = completed(a.Resources) }

func (a *balancedArgs) plugin() (scheduler.Plugin, error) {
	return scheduler.NewNodeResourcesBalancedAllocation(weights(a.Resources))
}

type volumeBindingArgs struct {
	metav1.TypeMeta    `json:",inline"`
	BindTimeoutSeconds *int64       `json:"bindTimeoutSeconds,omitempty"`
	Shape              []shapePoint `json:"shape,omitempty"`

	// scores is set if nodes are scored by the capacity of their storage.
	scores bool
}

func (a *volumeBindingArgs) complete() {
	setDefault(&a.BindTimeoutSeconds, 600)
	if a.scores && len(a.Shape) == 0 {
		a.Shape = []shapePoint{{0, 10}, {100, 0}}
	}
}

func (a *volumeBindingArgs) plugin() (scheduler.Plugin, error) {
	if v := a.BindTimeoutSeconds; v != nil && *v < 1 {
		return nil, fmt.Errorf("bindTimeoutSeconds: %d: want at least 1", *v)
	}
	if len(a.Shape) > 0 && !a.scores {
		return nil, errors.New("shape: nodes are scored by the capacity of their storage only with the feature gate StorageCapacityScoring")
	}
	a.complete()
	timeout := time.Duration(*a.BindTimeoutSeconds) * time.Second
	if !a.scores {
		return &scheduler.VolumeBinding{Timeout: timeout}, nil
	}
	return scheduler.NewVolumeBinding(timeout, shapeOf(a.Shape))
}

type spreadArgs struct {
	metav1.TypeMeta    `json:",inline"`
	DefaultConstraints []corev1.TopologySpreadConstraint `json:"defaultConstraints,omitempty"`
	DefaultingType     string                            `json:"defaultingType,omitempty"`
}

func (a *spreadArgs) complete() { a.DefaultingType = cmp.Or(a.DefaultingType, "System") }

func (a *spreadArgs) plugin() (scheduler.Plugin, error) {
	switch a.DefaultingType {
	case "", "System":
		if len(a.DefaultConstraints) > 0 {
			return nil, errors.New("defaultConstraints: they need the defaultingType List")
		}
		return &scheduler.PodTopologySpread{}, nil
	case "List":
		return scheduler.NewPodTopologySpread(a.DefaultConstraints)
	}
	return nil, fmt.Errorf("defaultingType: %q: want System or List", a.DefaultingType)
}
