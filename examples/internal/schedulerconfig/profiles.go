package schedulerconfig

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// profile is a KubeSchedulerProfile.
type profile struct {
	SchedulerName            string `json:"schedulerName,omitempty"`
	PercentageOfNodesToScore *int   `json:"percentageOfNodesToScore,omitempty"`
	Plugins                  struct {
		MultiPoint        pluginSet `json:"multiPoint,omitempty"`
		PreEnqueue        pluginSet `json:"preEnqueue,omitempty"`
		QueueSort         pluginSet `json:"queueSort,omitempty"`
		PreFilter         pluginSet `json:"preFilter,omitempty"`
		Filter            pluginSet `json:"filter,omitempty"`
		PostFilter        pluginSet `json:"postFilter,omitempty"`
		PreScore          pluginSet `json:"preScore,omitempty"`
		Score             pluginSet `json:"score,omitempty"`
		Reserve           pluginSet `json:"reserve,omitempty"`
		Permit            pluginSet `json:"permit,omitempty"`
		PreBind           pluginSet `json:"preBind,omitempty"`
		Bind              pluginSet `json:"bind,omitempty"`
		PostBind          pluginSet `json:"postBind,omitempty"`
		PlacementGenerate pluginSet `json:"placementGenerate,omitempty"`
		PlacementScore    pluginSet `json:"placementScore,omitempty"`
	} `json:"plugins,omitempty"`
	PluginConfig []pluginConfig `json:"pluginConfig,omitempty"`

	features Features
}

// forGroups are the plugins that only a feature makes default ones.
func forGroups() []scheduler.Plugin {
	return []scheduler.Plugin{scheduler.GangScheduling{}, scheduler.TopologyPlacementGenerator{}, scheduler.PodGroupPodsCount{}}
}

// defaults is the profile that plugins are added to and taken from.
func (p *profile) defaults() *scheduler.Profile {
	out := scheduler.Default()
	for i, plugin := range forGroups() {
		if i == 0 && p.features.GangScheduling || i > 0 && p.features.TopologyAwareWorkloadScheduling {
			out = out.With(plugin, 1)
		}
	}
	return out
}

type pluginSet struct {
	Enabled  []pluginRef `json:"enabled,omitempty"`
	Disabled []pluginRef `json:"disabled,omitempty"`
}

type pluginRef struct {
	Name   string `json:"name"`
	Weight int64  `json:"weight"`
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
	o.DelayCache = c.DelayCacheUntilActive
	for i := range c.Profiles {
		c.Profiles[i].features = c.features
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
	placed, err := p.place(plugins)
	if err != nil {
		return nil, err
	}
	out := scheduler.Default().Without("*").Named(cmp.Or(p.SchedulerName, scheduler.DefaultName)).Percentage(percent)
	for _, name := range slices.Sorted(maps.Keys(plugins)) {
		var on scheduler.Point
		for at, names := range placed.names {
			if slices.Contains(names, name) {
				on |= at
			}
		}
		if on != 0 {
			out = out.With(plugins[name], weight(placed.weights, name)).Off(name, ^on).PlacementWeight(name, weight(placed.placementWeights, name))
		}
	}
	for at, names := range placed.names {
		out = out.Order(at, names...)
	}
	if n := len(placed.names[scheduler.AtQueueSort]); n != 1 {
		return nil, fmt.Errorf("plugins.queueSort: %d plugins are enabled: want one", n)
	}
	if len(placed.names[scheduler.AtBind]) == 0 {
		return nil, errors.New("plugins.bind: no plugin is enabled: want one, such as DefaultBinder")
	}
	if n := len(placed.names[scheduler.AtPlacementGenerate]); n > 1 {
		return nil, fmt.Errorf("plugins.placementGenerate: %d plugins are enabled: want at most one", n)
	}
	return out, nil
}

// placement is which plugins are called at which point, in their order.
type placement struct {
	names                     map[scheduler.Point][]string
	weights, placementWeights [][]pluginRef
}

// weight is that of a plugin's score: the first that is given, or 1.
func weight(lists [][]pluginRef, name string) int64 {
	for _, list := range lists {
		for _, ref := range list {
			if ref.Name == name {
				return max(ref.Weight, 1)
			}
		}
	}
	return 1
}

// place applies the sets of plugins as upstream does. At each point, first are those of multiPoint that the
// point's own set enables too, in the order of that; then the other ones of multiPoint that the point does
// not disable, and then the rest of its own.
func (p *profile) place(plugins map[string]scheduler.Plugin) (*placement, error) {
	multi := p.merged()
	out := &placement{names: map[scheduler.Point][]string{}, weights: [][]pluginRef{p.Plugins.Score.Enabled, multi.Enabled},
		placementWeights: [][]pluginRef{p.Plugins.PlacementScore.Enabled, multi.Enabled}}
	for _, s := range append(p.sets(), namedSet{"multiPoint", ^scheduler.Point(0), p.Plugins.MultiPoint}) {
		if err := s.check(plugins); err != nil {
			return nil, fmt.Errorf("plugins.%s.%w", s.name, err)
		}
	}
	for _, s := range p.sets() {
		if s.isPreparation() {
			continue // see checkParts
		}
		var first, second, third []string
		for _, ref := range multi.Enabled {
			if s.points&scheduler.Points(plugins[ref.Name]) != 0 && !s.disables(ref.Name) && !s.enables(ref.Name) {
				second = append(second, ref.Name)
			}
		}
		for _, ref := range s.Enabled {
			if !s.disables("*") && multi.enables(ref.Name) && !s.disables(ref.Name) {
				first = append(first, ref.Name)
			} else {
				third = append(third, ref.Name)
			}
		}
		out.names[s.points] = slices.Concat(first, second, third)
	}
	return out, p.checkParts(out)
}

func (s *pluginSet) enables(name string) bool {
	return slices.ContainsFunc(s.Enabled, func(r pluginRef) bool { return r.Name == name })
}

func (s *pluginSet) disables(name string) bool {
	return slices.ContainsFunc(s.Disabled, func(r pluginRef) bool { return r.Name == name || r.Name == "*" })
}

// merged is the set multiPoint with the default plugins in it: those that are enabled again are in their
// place, others come last.
func (p *profile) merged() pluginSet {
	s := p.Plugins.MultiPoint
	out := pluginSet{Disabled: s.Disabled}
	for _, ref := range p.defaults().Plugins() {
		r := pluginRef{Name: ref.Name}
		if scheduler.Points(ref.Plugin)&(scheduler.AtScore|scheduler.AtPlacementScore) != 0 {
			r.Weight = ref.Weight
		}
		if i := slices.IndexFunc(s.Enabled, func(own pluginRef) bool { return own.Name == ref.Name }); i >= 0 {
			r = s.Enabled[i]
		}
		if !s.disables(ref.Name) {
			out.Enabled = append(out.Enabled, r)
		}
	}
	for _, r := range s.Enabled {
		if !out.enables(r.Name) {
			out.Enabled = append(out.Enabled, r)
		}
	}
	return out
}

type namedSet struct {
	name   string
	points scheduler.Point
	pluginSet
}

// check refuses names of plugins that do not exist, that have no such point, or that are there twice.
func (s *namedSet) check(plugins map[string]scheduler.Plugin) error {
	for i, ref := range s.Enabled {
		path := fmt.Sprintf("enabled[%d]", i)
		plugin := plugins[ref.Name]
		switch {
		case plugin == nil:
			return fmt.Errorf("%s: no plugin is called %q", path, ref.Name)
		case s.isPreparation() && !isPart(s.name, ref.Name), s.points&scheduler.Points(plugin) == 0 && !isPart(s.name, ref.Name):
			return fmt.Errorf("%s: plugin %s has no such point", path, ref.Name)
		case ref.Weight < 0:
			return fmt.Errorf("%s.weight: %d: want no negative number", path, ref.Weight)
		case slices.ContainsFunc(s.Enabled[:i], func(r pluginRef) bool { return r.Name == ref.Name }):
			return fmt.Errorf("%s: %s is enabled already", path, ref.Name)
		}
	}
	for i, ref := range s.Disabled {
		if ref.Name != "*" && plugins[ref.Name] == nil {
			return fmt.Errorf("disabled[%d]: no plugin is called %q", i, ref.Name)
		}
	}
	return nil
}

func (s *namedSet) isPreparation() bool { return s.name == "preFilter" || s.name == "preScore" }

// sets are those of all points.
func (p *profile) sets() []namedSet {
	s := &p.Plugins
	return []namedSet{
		{"preEnqueue", scheduler.AtPreEnqueue, s.PreEnqueue}, {"queueSort", scheduler.AtQueueSort, s.QueueSort},
		{"preFilter", scheduler.AtFilter, s.PreFilter}, {"filter", scheduler.AtFilter, s.Filter},
		{"postFilter", scheduler.AtPostFilter, s.PostFilter},
		{"preScore", scheduler.AtScore, s.PreScore}, {"score", scheduler.AtScore, s.Score},
		{"reserve", scheduler.AtReserve, s.Reserve}, {"permit", scheduler.AtPermit, s.Permit},
		{"preBind", scheduler.AtPreBind, s.PreBind}, {"bind", scheduler.AtBind, s.Bind}, {"postBind", scheduler.AtPostBind, s.PostBind},
		{"placementGenerate", scheduler.AtPlacementGenerate, s.PlacementGenerate},
		{"placementScore", scheduler.AtPlacementScore, s.PlacementScore},
	}
}

// parts are what plugins do at other points upstream, and here wherever they are enabled at their main point.
// strict sets cannot be without the plugin even if they disable all: upstream fails then when it schedules.
// What the others do without it is a matter of when, and not of whether, a pod is placed.
var parts = []struct {
	set, main string
	at        scheduler.Point
	plugins   []string
	strict    bool
}{
	{"preEnqueue", "filter", scheduler.AtFilter, []string{"DynamicResources"}, false},
	{"preEnqueue", "postFilter", scheduler.AtPostFilter, []string{"DefaultPreemption"}, false},
	{"preFilter", "filter", scheduler.AtFilter, []string{"NodeVolumeLimits", "DynamicResources", "NodeResourcesFit", "InterPodAffinity", "NodeAffinity",
		"NodeDeclaredFeatures", "NodePorts", "PodTopologySpread", "VolumeBinding", "VolumeRestrictions", "VolumeZone"}, true},
	{"postFilter", "filter", scheduler.AtFilter, []string{"DynamicResources"}, false},
	{"preScore", "score", scheduler.AtScore, []string{"NodeResourcesBalancedAllocation", "NodeResourcesFit", "InterPodAffinity", "NodeAffinity",
		"PodTopologySpread", "TaintToleration", "VolumeBinding"}, false},
	{"reserve", "filter", scheduler.AtFilter, []string{"VolumeBinding", "DynamicResources"}, true},
	{"preBind", "filter", scheduler.AtFilter, []string{"VolumeBinding", "DynamicResources"}, true},
}

func isPart(set, plugin string) bool {
	for _, part := range parts {
		if part.set == set && slices.Contains(part.plugins, plugin) {
			return true
		}
	}
	return false
}

// checkParts refuses sets that separate a plugin's parts, or order them in another way than its main point,
// which this scheduler does not do.
func (p *profile) checkParts(placed *placement) error {
	sets := p.sets()
	for _, part := range parts {
		s := sets[slices.IndexFunc(sets, func(s namedSet) bool { return s.name == part.set })]
		main := placed.names[part.at]
		for _, name := range part.plugins {
			used, disabled := slices.Contains(main, name), s.disables(name) && (part.strict || !s.disables("*"))
			switch {
			case used && disabled && !s.enables(name):
				return fmt.Errorf("plugins.%s.disabled: %s: disable it at the point %s too, which does not work without", s.name, name, part.main)
			case !used && s.enables(name):
				return fmt.Errorf("plugins.%s.enabled: %s: enable it at the point %s too, as it has no effect without", s.name, name, part.main)
			}
		}
	}
	last := -1
	for i, ref := range p.Plugins.PreFilter.Enabled {
		at := slices.Index(placed.names[scheduler.AtFilter], ref.Name)
		if at < last {
			return fmt.Errorf("plugins.preFilter.enabled[%d]: %s: want the order of the point filter", i, ref.Name)
		}
		last = at
	}
	return nil
}

// configured are the plugins there are, with their arguments.
func (p *profile) configured() (map[string]scheduler.Plugin, error) {
	out := map[string]scheduler.Plugin{}
	for _, ref := range scheduler.Default().Plugins() {
		out[ref.Name] = ref.Plugin
	}
	for _, plugin := range forGroups() {
		out[plugin.Name()] = plugin
	}
	var err error
	if out["VolumeBinding"], err = arguments["VolumeBinding"](p.features).plugin(); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, c := range p.PluginConfig {
		path := fmt.Sprintf("pluginConfig[%d]", i)
		if seen[c.Name] {
			return nil, fmt.Errorf("%s.name: %s has arguments already", path, c.Name)
		}
		seen[c.Name] = true
		if out[c.Name] == nil {
			return nil, fmt.Errorf("%s: no plugin is called %q", path, c.Name)
		}
		args, err := c.arguments(p.features)
		if err != nil {
			return nil, fmt.Errorf("%s%w", path, err)
		}
		if out[c.Name], err = args.plugin(); err != nil {
			return nil, fmt.Errorf("%s.args: %w", path, err)
		}
	}
	return out, nil
}

// complete sets what is left out of the profile to its defaults.
func (p *profile) complete() error {
	p.SchedulerName = cmp.Or(p.SchedulerName, scheduler.DefaultName)
	p.Plugins.MultiPoint = p.merged()
	known := func(name string) bool {
		return slices.ContainsFunc(p.PluginConfig, func(c pluginConfig) bool { return c.Name == name })
	}
	for name := range arguments {
		if !known(name) {
			p.PluginConfig = append(p.PluginConfig, pluginConfig{Name: name})
		}
	}
	slices.SortFunc(p.PluginConfig, func(a, b pluginConfig) int { return cmp.Compare(a.Name, b.Name) })
	for i := range p.PluginConfig {
		if err := p.PluginConfig[i].complete(p.features); err != nil {
			return fmt.Errorf("pluginConfig %s%w", p.PluginConfig[i].Name, err)
		}
	}
	return nil
}
