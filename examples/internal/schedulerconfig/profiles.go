package schedulerconfig

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// profile is a KubeSchedulerProfile.
type profile struct {
	SchedulerName            string `json:"schedulerName,omitempty"`
	PercentageOfNodesToScore *int   `json:"percentageOfNodesToScore,omitempty"`
	Plugins                  struct {
		MultiPoint pluginSet `json:"multiPoint,omitempty"`
		PreEnqueue pluginSet `json:"preEnqueue,omitempty"`
		QueueSort  pluginSet `json:"queueSort,omitempty"`
		PreFilter  pluginSet `json:"preFilter,omitempty"`
		Filter     pluginSet `json:"filter,omitempty"`
		PostFilter pluginSet `json:"postFilter,omitempty"`
		PreScore   pluginSet `json:"preScore,omitempty"`
		Score      pluginSet `json:"score,omitempty"`
		Reserve    pluginSet `json:"reserve,omitempty"`
		Permit     pluginSet `json:"permit,omitempty"`
		PreBind    pluginSet `json:"preBind,omitempty"`
		Bind       pluginSet `json:"bind,omitempty"`
		PostBind   pluginSet `json:"postBind,omitempty"`
	} `json:"plugins,omitempty"`
	PluginConfig []pluginConfig `json:"pluginConfig,omitempty"`
}

type pluginSet struct {
	Enabled  []pluginRef `json:"enabled,omitempty"`
	Disabled []pluginRef `json:"disabled,omitempty"`
}

type pluginRef struct {
	Name   string `json:"name"`
	Weight int64  `json:"weight,omitempty"`
}

type pluginConfig struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitempty"`
}

// strict decodes YAML or JSON and refuses unknown fields.
func strict(data []byte, into any) error {
	issues, err := codec.UnmarshalYAML(data, into, codec.DecodeOptions{Strict: true})
	if err == nil && len(issues) > 0 {
		err = fmt.Errorf("%v", issues[0])
	}
	return err
}

// Options are those of the scheduler that the file describes. An error names the path of what is wrong.
func (c *Configuration) Options() (o scheduler.Options, err error) {
	percent, err := percentage(c.PercentageOfNodesToScore)
	if err != nil {
		return o, err
	}
	if v := c.PodInitialBackoffSeconds; v != nil {
		if *v < 1 {
			return o, fmt.Errorf("podInitialBackoffSeconds: %d: want at least 1", *v)
		}
		o.InitialBackoff = time.Duration(*v) * time.Second
	}
	if v := c.PodMaxBackoffSeconds; v != nil {
		o.MaxBackoff = time.Duration(*v) * time.Second
		if o.MaxBackoff < max(o.InitialBackoff, time.Second) {
			return o, fmt.Errorf("podMaxBackoffSeconds: %d: want no less than podInitialBackoffSeconds", *v)
		}
	}
	var ignored []string
	if o.Extenders, ignored, err = c.extenders(); err != nil {
		return o, err
	}
	if len(c.Profiles) == 0 {
		c.Profiles = []profile{{}}
	}
	for i := range c.Profiles {
		p, err := c.Profiles[i].build(percent, ignored)
		if err != nil {
			return o, fmt.Errorf("profiles[%d].%w", i, err)
		}
		if slices.ContainsFunc(o.Profiles, func(other *scheduler.Profile) bool { return other.Name() == p.Name() }) {
			return o, fmt.Errorf("profiles[%d].schedulerName: %q: another profile has it", i, p.Name())
		}
		o.Profiles = append(o.Profiles, p)
	}
	return o, nil
}

func percentage(v *int) (int, error) {
	if v == nil {
		return 0, nil
	}
	if *v < 0 || *v > 100 {
		return 0, fmt.Errorf("percentageOfNodesToScore: %d: want 0 to 100", *v)
	}
	return *v, nil
}

// choice is what a profile makes of one plugin.
type choice struct {
	plugin scheduler.Plugin
	weight int64
	on     scheduler.Point
}

// build returns the profile. Its plugins do not look at the ignored resources.
func (p *profile) build(percent int, ignored []string) (*scheduler.Profile, error) {
	if p.PercentageOfNodesToScore != nil {
		var err error
		if percent, err = percentage(p.PercentageOfNodesToScore); err != nil {
			return nil, err
		}
	}
	plugins, err := p.configured()
	if err != nil {
		return nil, err
	}
	if fit, ok := plugins["NodeResourcesFit"].(*scheduler.NodeResourcesFit); ok && len(ignored) > 0 {
		plugins["NodeResourcesFit"] = fit.Ignoring(ignored...)
	}
	chosen, err := p.choose(plugins)
	if err != nil {
		return nil, err
	}
	out := scheduler.Default().Without("*").Named(cmp.Or(p.SchedulerName, scheduler.DefaultName)).Percentage(percent)
	sorts := 0
	for _, c := range chosen {
		out = out.With(c.plugin, c.weight).Off(c.plugin.Name(), ^c.on)
		if c.on&scheduler.AtQueueSort != 0 {
			sorts++
		}
	}
	if sorts != 1 {
		return nil, fmt.Errorf("plugins.queueSort: %d plugins are enabled: want one", sorts)
	}
	return out, nil
}

// choose applies the sets of plugins: multiPoint first, then those of each point, which win.
func (p *profile) choose(plugins map[string]scheduler.Plugin) ([]*choice, error) {
	var all []*choice
	find := func(name string) *choice {
		if i := slices.IndexFunc(all, func(c *choice) bool { return c.plugin.Name() == name }); i >= 0 {
			return all[i]
		}
		return nil
	}
	for _, ref := range scheduler.Default().Plugins() {
		all = append(all, &choice{plugins[ref.Name], ref.Weight, scheduler.Points(plugins[ref.Name])})
	}
	enable := func(set string, points scheduler.Point, refs []pluginRef) error {
		for i, ref := range refs {
			path := fmt.Sprintf("plugins.%s.enabled[%d]", set, i)
			plugin := plugins[ref.Name]
			switch {
			case plugin == nil:
				return fmt.Errorf("%s: no plugin is called %q", path, ref.Name)
			case points&scheduler.Points(plugin) == 0:
				return fmt.Errorf("%s: plugin %s has no such point", path, ref.Name)
			case ref.Weight < 0:
				return fmt.Errorf("%s.weight: %d: want no negative number", path, ref.Weight)
			}
			c := find(ref.Name)
			if c == nil {
				c = &choice{plugin: plugin, weight: 1}
				all = append(all, c)
			}
			c.on |= points & scheduler.Points(plugin)
			c.weight = cmp.Or(ref.Weight, c.weight)
		}
		return nil
	}
	for _, s := range p.sets() {
		for _, ref := range s.Disabled {
			for _, c := range all {
				if ref.Name == "*" || ref.Name == c.plugin.Name() {
					c.on &^= s.points
				}
			}
		}
		if err := enable(s.name, s.points, s.Enabled); err != nil {
			return nil, err
		}
	}
	return all, p.checkPreparations()
}

type namedSet struct {
	name   string
	points scheduler.Point
	pluginSet
}

// sets are those of all points. A plugin's preparation goes with what it prepares.
func (p *profile) sets() []namedSet {
	s := &p.Plugins
	return []namedSet{
		{"multiPoint", ^scheduler.Point(0), s.MultiPoint}, {"preEnqueue", scheduler.AtPreEnqueue, s.PreEnqueue},
		{"queueSort", scheduler.AtQueueSort, s.QueueSort}, {"filter", scheduler.AtFilter, s.Filter},
		{"postFilter", scheduler.AtPostFilter, s.PostFilter}, {"score", scheduler.AtScore, s.Score},
		{"reserve", scheduler.AtReserve, s.Reserve}, {"permit", scheduler.AtPermit, s.Permit},
		{"preBind", scheduler.AtPreBind, s.PreBind}, {"bind", scheduler.AtBind, s.Bind}, {"postBind", scheduler.AtPostBind, s.PostBind},
	}
}

// checkPreparations refuses to disable only the preparation of a plugin, which this scheduler does not do:
// the plugin could not be used.
func (p *profile) checkPreparations() error {
	for _, s := range []struct {
		name         string
		set, prepare pluginSet
	}{{"preFilter", p.Plugins.Filter, p.Plugins.PreFilter}, {"preScore", p.Plugins.Score, p.Plugins.PreScore}} {
		for i, ref := range s.prepare.Disabled {
			if !slices.ContainsFunc(s.set.Disabled, func(o pluginRef) bool { return o.Name == ref.Name || o.Name == "*" }) {
				return fmt.Errorf("plugins.%s.disabled[%d]: %s: disable it at the point that this prepares too", s.name, i, ref.Name)
			}
		}
	}
	return nil
}

// configured are the plugins there are, with their arguments.
func (p *profile) configured() (map[string]scheduler.Plugin, error) {
	out := map[string]scheduler.Plugin{}
	for _, ref := range scheduler.Default().Plugins() {
		out[ref.Name] = ref.Plugin
	}
	seen := map[string]bool{}
	for i, c := range p.PluginConfig {
		path := fmt.Sprintf("pluginConfig[%d]", i)
		if seen[c.Name] {
			return nil, fmt.Errorf("%s.name: %s has arguments already", path, c.Name)
		}
		seen[c.Name] = true
		build := builders[c.Name]
		switch {
		case out[c.Name] == nil:
			return nil, fmt.Errorf("%s: no plugin is called %q", path, c.Name)
		case build == nil:
			return nil, fmt.Errorf("%s: plugin %s has no arguments", path, c.Name)
		}
		for field, want := range map[string]string{"kind": c.Name + "Args", "apiVersion": "kubescheduler.config.k8s.io/v1"} {
			if v, ok := c.Args[field]; ok && v != want {
				return nil, fmt.Errorf("%s.args.%s: %v: want %s", path, field, v, want)
			}
		}
		data, err := json.Marshal(c.Args)
		if err != nil {
			return nil, fmt.Errorf("%s.args: %w", path, err)
		}
		if out[c.Name], err = build(data); err != nil {
			return nil, fmt.Errorf("%s.args: %w", path, err)
		}
	}
	return out, nil
}

// builders make plugins of their arguments.
var builders = map[string]func(data []byte) (scheduler.Plugin, error){
	"DefaultPreemption":               newDefaultPreemption,
	"DynamicResources":                newDynamicResources,
	"InterPodAffinity":                newInterPodAffinity,
	"NodeAffinity":                    newNodeAffinity,
	"NodeResourcesFit":                newNodeResourcesFit,
	"NodeResourcesBalancedAllocation": newBalancedAllocation,
	"PodTopologySpread":               newPodTopologySpread,
	"VolumeBinding":                   newVolumeBinding,
}

func newDefaultPreemption(data []byte) (scheduler.Plugin, error) {
	args := struct {
		metav1.TypeMeta             `json:",inline"`
		MinCandidateNodesPercentage *int `json:"minCandidateNodesPercentage,omitempty"`
		MinCandidateNodesAbsolute   *int `json:"minCandidateNodesAbsolute,omitempty"`
	}{}
	if err := strict(data, &args); err != nil {
		return nil, err
	}
	out := &scheduler.DefaultPreemption{}
	if v := args.MinCandidateNodesPercentage; v != nil {
		if *v < 1 || *v > 100 {
			return nil, fmt.Errorf("minCandidateNodesPercentage: %d: want 1 to 100", *v)
		}
		out.MinCandidateNodesPercentage = *v
	}
	if v := args.MinCandidateNodesAbsolute; v != nil {
		if *v < 1 {
			return nil, fmt.Errorf("minCandidateNodesAbsolute: %d: want at least 1", *v)
		}
		out.MinCandidateNodesAbsolute = *v
	}
	return out, nil
}

func newDynamicResources(data []byte) (scheduler.Plugin, error) {
	args := struct {
		metav1.TypeMeta `json:",inline"`
		FilterTimeout   *metav1.Duration `json:"filterTimeout,omitempty"`
		BindingTimeout  *metav1.Duration `json:"bindingTimeout,omitempty"`
	}{}
	if err := strict(data, &args); err != nil {
		return nil, err
	}
	out := &scheduler.DynamicResources{}
	if v := args.FilterTimeout; v != nil {
		switch {
		case v.Duration < 0:
			return nil, fmt.Errorf("filterTimeout: %s: want no negative time", v.Duration)
		case v.Duration == 0:
			out.FilterTimeout = -1 // no limit
		default:
			out.FilterTimeout = v.Duration
		}
	}
	if v := args.BindingTimeout; v != nil {
		if v.Duration < time.Second {
			return nil, fmt.Errorf("bindingTimeout: %s: want at least 1s", v.Duration)
		}
		out.BindingTimeout = v.Duration
	}
	return out, nil
}

func newInterPodAffinity(data []byte) (scheduler.Plugin, error) {
	args := struct {
		metav1.TypeMeta                    `json:",inline"`
		HardPodAffinityWeight              *int64 `json:"hardPodAffinityWeight,omitempty"`
		IgnorePreferredTermsOfExistingPods bool   `json:"ignorePreferredTermsOfExistingPods,omitempty"`
	}{}
	if err := strict(data, &args); err != nil {
		return nil, err
	}
	out := &scheduler.InterPodAffinity{HardPodAffinityWeight: 1, IgnorePreferredTermsOfExistingPods: args.IgnorePreferredTermsOfExistingPods}
	if v := args.HardPodAffinityWeight; v != nil {
		if *v < 0 || *v > 100 {
			return nil, fmt.Errorf("hardPodAffinityWeight: %d: want 0 to 100", *v)
		}
		out.HardPodAffinityWeight = *v
	}
	return out, nil
}

func newNodeAffinity(data []byte) (scheduler.Plugin, error) {
	args := struct {
		metav1.TypeMeta `json:",inline"`
		AddedAffinity   *corev1.NodeAffinity `json:"addedAffinity,omitempty"`
	}{}
	if err := strict(data, &args); err != nil {
		return nil, err
	}
	return scheduler.NewNodeAffinity(args.AddedAffinity)
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

func newNodeResourcesFit(data []byte) (scheduler.Plugin, error) {
	args := struct {
		metav1.TypeMeta       `json:",inline"`
		IgnoredResources      []string `json:"ignoredResources,omitempty"`
		IgnoredResourceGroups []string `json:"ignoredResourceGroups,omitempty"`
		ScoringStrategy       struct {
			Type                     string         `json:"type,omitempty"`
			Resources                []resourceSpec `json:"resources,omitempty"`
			RequestedToCapacityRatio struct {
				Shape []struct {
					Utilization int64 `json:"utilization"`
					Score       int64 `json:"score"`
				} `json:"shape,omitempty"`
			} `json:"requestedToCapacityRatio,omitempty"`
		} `json:"scoringStrategy,omitempty"`
	}{}
	if err := strict(data, &args); err != nil {
		return nil, err
	}
	s := &args.ScoringStrategy
	o := scheduler.FitOptions{IgnoredResources: args.IgnoredResources, IgnoredResourceGroups: args.IgnoredResourceGroups,
		Strategy: scheduler.ScoringStrategy(s.Type), Resources: weights(s.Resources)}
	for _, p := range s.RequestedToCapacityRatio.Shape {
		o.Shape = append(o.Shape, scheduler.ShapePoint{Utilization: p.Utilization, Score: p.Score})
	}
	return scheduler.NewNodeResourcesFit(o)
}

func newBalancedAllocation(data []byte) (scheduler.Plugin, error) {
	args := struct {
		metav1.TypeMeta `json:",inline"`
		Resources       []resourceSpec `json:"resources,omitempty"`
	}{}
	if err := strict(data, &args); err != nil {
		return nil, err
	}
	return scheduler.NewNodeResourcesBalancedAllocation(weights(args.Resources))
}

func newVolumeBinding(data []byte) (scheduler.Plugin, error) {
	args := struct {
		metav1.TypeMeta    `json:",inline"`
		BindTimeoutSeconds *int64 `json:"bindTimeoutSeconds,omitempty"`
		Shape              []any  `json:"shape,omitempty"`
	}{}
	if err := strict(data, &args); err != nil {
		return nil, err
	}
	out := &scheduler.VolumeBinding{}
	if v := args.BindTimeoutSeconds; v != nil {
		if *v < 1 {
			return nil, fmt.Errorf("bindTimeoutSeconds: %d: want at least 1", *v)
		}
		out.Timeout = time.Duration(*v) * time.Second
	}
	if len(args.Shape) > 0 {
		return nil, errors.New("shape: nodes are not scored by the capacity of their storage")
	}
	return out, nil
}

func newPodTopologySpread(data []byte) (scheduler.Plugin, error) {
	args := struct {
		metav1.TypeMeta    `json:",inline"`
		DefaultConstraints []corev1.TopologySpreadConstraint `json:"defaultConstraints,omitempty"`
		DefaultingType     string                            `json:"defaultingType,omitempty"`
	}{}
	if err := strict(data, &args); err != nil {
		return nil, err
	}
	switch args.DefaultingType {
	case "", "System":
		if len(args.DefaultConstraints) > 0 {
			return nil, errors.New("defaultConstraints: they need the defaultingType List")
		}
		return &scheduler.PodTopologySpread{}, nil
	case "List":
		return scheduler.NewPodTopologySpread(args.DefaultConstraints)
	}
	return nil, fmt.Errorf("defaultingType: %q: want System or List", args.DefaultingType)
}
