package scheduler

import (
	"fmt"
	"slices"
)

// Profile is a set of plugins with their weights. It is immutable; its methods return changed copies.
type Profile struct {
	name       string
	percentage int
	plugins    []weighted

	// The plugins of each point; see compile.
	static    []staticFilter
	prefilter []PreFilterPlugin
	filter    []FilterPlugin
	post      []PostFilterPlugin
	score     []scorer
	reserve   []ReservePlugin
	enqueue   []PreEnqueuePlugin
	permit    []PermitPlugin
	prebind   []PreBindPlugin
	bind      []BindPlugin
	postbind  []PostBindPlugin
	sort      QueueSortPlugin
	hints     map[string]*hint
}

type weighted struct {
	Plugin
	weight int64
	// off are the points at which the plugin is not used.
	off Point
}

// Point is a set of points at which plugins are called.
type Point int

// The points of plugins. A plugin with a preparation is used at AtFilter with AtPreFilter, and at AtScore
// with AtPreScore, or not at all.
const (
	AtPreEnqueue Point = 1 << iota
	AtQueueSort
	AtFilter
	AtPostFilter
	AtScore
	AtReserve
	AtPermit
	AtPreBind
	AtBind
	AtPostBind
)

// Points returns the points that a plugin implements.
func Points(p Plugin) (out Point) {
	add := func(ok bool, at Point) {
		if ok {
			out |= at
		}
	}
	_, ok := p.(PreEnqueuePlugin)
	add(ok, AtPreEnqueue)
	_, ok = p.(QueueSortPlugin)
	add(ok, AtQueueSort)
	_, ok = p.(PreFilterPlugin)
	add(ok, AtFilter)
	_, ok = p.(FilterPlugin)
	add(ok, AtFilter)
	_, ok = p.(PostFilterPlugin)
	add(ok, AtPostFilter)
	_, ok = p.(PreScorePlugin)
	add(ok, AtScore)
	_, ok = p.(ScorePlugin)
	add(ok, AtScore)
	_, ok = p.(ReservePlugin)
	add(ok, AtReserve)
	_, ok = p.(PermitPlugin)
	add(ok, AtPermit)
	_, ok = p.(PreBindPlugin)
	add(ok, AtPreBind)
	_, ok = p.(BindPlugin)
	add(ok, AtBind)
	_, ok = p.(PostBindPlugin)
	add(ok, AtPostBind)
	return out
}

type staticFilter interface {
	FilterPlugin
	SignPlugin
}

// scorer is a plugin that scores, with or without preparation.
type scorer struct {
	plugin Plugin
	weight int64
	pre    PreScorePlugin
	plain  ScorePlugin
}

// Default returns the profile of [DefaultName]: the default plugins of Kubernetes 1.36 with their weights.
func Default() *Profile {
	p := &Profile{name: DefaultName, plugins: []weighted{
		{SchedulingGates{}, 1, 0}, {PrioritySort{}, 1, 0}, {NodeUnschedulable{}, 1, 0}, {NodeName{}, 1, 0}, {TaintToleration{}, 3, 0},
		{&NodeAffinity{}, 2, 0}, {NodePorts{}, 1, 0}, {&NodeResourcesFit{}, 1, 0}, {VolumeRestrictions{}, 1, 0},
		{NodeVolumeLimits{}, 1, 0}, {&VolumeBinding{}, 1, 0}, {VolumeZone{}, 1, 0}, {&PodTopologySpread{}, 2, 0},
		{&InterPodAffinity{HardPodAffinityWeight: 1}, 2, 0}, {&DynamicResources{}, 2, 0}, {&DefaultPreemption{}, 1, 0},
		{&NodeResourcesBalancedAllocation{}, 1, 0}, {ImageLocality{}, 1, 0}, {NodeDeclaredFeatures{}, 1, 0},
	}}
	p.compile()
	return p
}

// Name returns the value of spec.schedulerName of the pods that the profile is for.
func (p *Profile) Name() string { return p.name }

// Named returns the profile for the pods of another spec.schedulerName.
func (p *Profile) Named(name string) *Profile {
	out := *p
	out.name = name
	return &out
}

// Percentage returns the profile with a percentage of the nodes that are enough as feasible ones, from 1 to
// 100; 0 lets it fall with the size of the cluster.
func (p *Profile) Percentage(percent int) *Profile {
	out := *p
	out.percentage = percent
	return &out
}

// With returns the profile with a plugin, instead of the one of that name if there is one. weight counts for
// plugins that score; 0 means 1.
func (p *Profile) With(plugin Plugin, weight int64) *Profile {
	out := &Profile{name: p.name, percentage: p.percentage, plugins: slices.Clone(p.plugins)}
	w := weighted{plugin, max(weight, 1), 0}
	if i := out.index(plugin.Name()); i >= 0 {
		out.plugins[i] = w
	} else {
		out.plugins = append(out.plugins, w)
	}
	out.compile()
	return out
}

// Without returns the profile without the named plugins; "*" names all of them.
func (p *Profile) Without(names ...string) *Profile {
	out := &Profile{name: p.name, percentage: p.percentage}
	for _, w := range p.plugins {
		if !slices.Contains(names, w.Name()) && !slices.Contains(names, "*") {
			out.plugins = append(out.plugins, w)
		}
	}
	out.compile()
	return out
}

// PluginWeight is a plugin of a profile with its weight.
type PluginWeight struct {
	Plugin Plugin
	Name   string
	Weight int64
}

// Plugins returns the plugins of the profile, in their order.
func (p *Profile) Plugins() (out []PluginWeight) {
	for _, w := range p.plugins {
		out = append(out, PluginWeight{w.Plugin, w.Name(), w.weight})
	}
	return out
}

// Off returns the profile with a plugin that is not used at some points.
func (p *Profile) Off(name string, at Point) *Profile {
	out := &Profile{name: p.name, percentage: p.percentage, plugins: slices.Clone(p.plugins)}
	if i := out.index(name); i >= 0 {
		out.plugins[i].off |= at
	}
	out.compile()
	return out
}

func (p *Profile) index(name string) int {
	return slices.IndexFunc(p.plugins, func(w weighted) bool { return w.Name() == name })
}

// plugin returns a plugin by name, nil if there is none.
func (p *Profile) plugin(name string) Plugin {
	if i := p.index(name); i >= 0 {
		return p.plugins[i].Plugin
	}
	return nil
}

// compile sorts the plugins by the points that they implement, which keep their order.
func (p *Profile) compile() {
	p.hints = map[string]*hint{}
	for i := range p.plugins {
		w := &p.plugins[i]
		p.hints[w.Name()] = hintOf(w.Plugin)
		p.compileDecision(w)
		if x, ok := w.Plugin.(PreEnqueuePlugin); ok && w.at(AtPreEnqueue) {
			p.enqueue = append(p.enqueue, x)
		}
		if x, ok := w.Plugin.(QueueSortPlugin); ok && w.at(AtQueueSort) {
			p.sort = x
		}
		if x, ok := w.Plugin.(ReservePlugin); ok && w.at(AtReserve) {
			p.reserve = append(p.reserve, x)
		}
		if x, ok := w.Plugin.(PermitPlugin); ok && w.at(AtPermit) {
			p.permit = append(p.permit, x)
		}
		if x, ok := w.Plugin.(PreBindPlugin); ok && w.at(AtPreBind) {
			p.prebind = append(p.prebind, x)
		}
		if x, ok := w.Plugin.(BindPlugin); ok && w.at(AtBind) {
			p.bind = append(p.bind, x)
		}
		if x, ok := w.Plugin.(PostBindPlugin); ok && w.at(AtPostBind) {
			p.postbind = append(p.postbind, x)
		}
	}
}

func (w *weighted) at(point Point) bool { return w.off&point == 0 }

func (p *Profile) compileDecision(w *weighted) {
	if w.at(AtFilter) {
		if x, ok := w.Plugin.(PreFilterPlugin); ok {
			p.prefilter = append(p.prefilter, x)
		}
		if x, ok := w.Plugin.(staticFilter); ok {
			p.static = append(p.static, x)
		} else if x, ok := w.Plugin.(FilterPlugin); ok {
			p.filter = append(p.filter, x)
		}
	}
	if x, ok := w.Plugin.(PostFilterPlugin); ok && w.at(AtPostFilter) {
		p.post = append(p.post, x)
	}
	s := scorer{plugin: w.Plugin, weight: w.weight}
	if x, ok := w.Plugin.(PreScorePlugin); ok {
		s.pre = x
	} else if x, ok := w.Plugin.(ScorePlugin); ok {
		s.plain = x
	}
	if (s.pre != nil || s.plain != nil) && w.at(AtScore) {
		p.score = append(p.score, s)
	}
}

// check reports what makes a profile unusable.
func (p *Profile) check() error {
	switch {
	case p.name == "":
		return fmt.Errorf("profile without a name: set it with Named")
	case p.sort == nil:
		return fmt.Errorf("profile %s: no plugin sorts the queue: add PrioritySort", p.name)
	case p.percentage < 0 || p.percentage > 100:
		return fmt.Errorf("profile %s: percentage %d: want 0 to 100", p.name, p.percentage)
	}
	for i, w := range p.plugins {
		if p.index(w.Name()) != i {
			return fmt.Errorf("profile %s: two plugins are called %s", p.name, w.Name())
		}
	}
	return nil
}
