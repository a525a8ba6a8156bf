package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Profile is a set of plugins with their weights. It is immutable; its methods return changed copies.
type Profile struct {
	name       string
	percentage int
	plugins    []weighted

	// order is that of the plugins at the points where it is not that of plugins.
	order map[Point][]string

	// The plugins of each point; see compile.
	signers  []SignPlugin
	static   []staticFilter
	filter   []filterer
	post     []PostFilterPlugin
	score    []scorer
	reserve  []ReservePlugin
	enqueue  []PreEnqueuePlugin
	permit   []PermitPlugin
	prebind  []PreBindPlugin
	bind     []BindPlugin
	postbind []PostBindPlugin
	sort     QueueSortPlugin
	hints    map[string]*hint
	// generate and placementScore are called for groups; gangEnqueue and gangPermit are set where
	// GangScheduling is used.
	generate                []PlacementGeneratePlugin
	placementScore          []PlacementScorePlugin
	gangEnqueue, gangPermit bool
	// foreign is set if decisions call plugins that are not of this package, and unsigned if one of those
	// filters or scores and does not sign pods.
	foreign, unsigned bool
}

type weighted struct {
	Plugin
	weight int64
	// placement is the weight of scores of placements, 0 for weight.
	placement int64
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
	AtPlacementGenerate
	AtPlacementScore
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
	_, ok = p.(PlacementGeneratePlugin)
	add(ok, AtPlacementGenerate)
	_, ok = p.(PlacementScorePlugin)
	add(ok, AtPlacementScore)
	return out
}

type staticFilter interface {
	FilterPlugin
	SignPlugin
}

// filterer is a plugin that filters, with or without preparation.
type filterer struct {
	plugin Plugin
	pre    PreFilterPlugin
	plain  FilterPlugin
	local  bool
}

// scorer is a plugin that scores, with or without preparation.
type scorer struct {
	plugin         Plugin
	weight         int64
	pre            PreScorePlugin
	plain          ScorePlugin
	local, foreign bool
}

// Default returns the profile of [DefaultName]: the default plugins of Kubernetes 1.36 with their weights.
func Default() *Profile {
	p := &Profile{name: DefaultName, plugins: []weighted{
		{Plugin: SchedulingGates{}, weight: 1}, {Plugin: PrioritySort{}, weight: 1},
		{Plugin: NodeUnschedulable{}, weight: 1}, {Plugin: NodeName{}, weight: 1},
		{Plugin: TaintToleration{}, weight: 3}, {Plugin: &NodeAffinity{}, weight: 2},
		{Plugin: NodePorts{}, weight: 1}, {Plugin: &NodeResourcesFit{}, weight: 1},
		{Plugin: VolumeRestrictions{}, weight: 1}, {Plugin: NodeVolumeLimits{}, weight: 1},
		{Plugin: &VolumeBinding{}}, {Plugin: VolumeZone{}, weight: 1},
		{Plugin: &PodTopologySpread{}, weight: 2},
		{Plugin: &InterPodAffinity{HardPodAffinityWeight: 1}, weight: 2},
		{Plugin: &DynamicResources{}, weight: 2}, {Plugin: &DefaultPreemption{}, weight: 1},
		{Plugin: &NodeResourcesBalancedAllocation{}, weight: 1}, {Plugin: ImageLocality{}, weight: 1},
		{Plugin: DefaultBinder{}, weight: 1}, {Plugin: NodeDeclaredFeatures{}, weight: 1},
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
	out := p.uncompiled(slices.Clone(p.plugins))
	w := weighted{Plugin: plugin, weight: max(weight, 1)}
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
	out := p.uncompiled(nil)
	for _, w := range p.plugins {
		if !slices.Contains(names, w.Name()) && !slices.Contains(names, "*") {
			out.plugins = append(out.plugins, w)
		}
	}
	out.compile()
	return out
}

// PluginWeight is a plugin of a profile with its weight, of which 0 counts as 1.
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
	out := p.uncompiled(slices.Clone(p.plugins))
	if i := out.index(name); i >= 0 {
		out.plugins[i].off |= at
	}
	out.compile()
	return out
}

// PlacementWeight returns the profile with another weight for the scores that a plugin gives placements; 0
// means that of its other scores.
func (p *Profile) PlacementWeight(name string, weight int64) *Profile {
	out := p.uncompiled(slices.Clone(p.plugins))
	if i := out.index(name); i >= 0 {
		out.plugins[i].placement = max(weight, 0)
	}
	out.compile()
	return out
}

// Order returns the profile with the named plugins called first at some points, in that order; the others
// follow in the order of [Profile.Plugins]. Without it, filters whose answers are remembered (see
// [FilterPlugin]) are called before all others, and [DefaultBinder] after all others that bind. The order
// decides which of several plugins says why a node is refused, and which binds.
func (p *Profile) Order(at Point, names ...string) *Profile {
	out := p.uncompiled(p.plugins)
	out.order = maps.Clone(p.order)
	if out.order == nil {
		out.order = map[Point][]string{}
	}
	for point := AtPreEnqueue; point <= AtPlacementScore; point <<= 1 {
		if at&point != 0 {
			out.order[point] = slices.Clone(names)
		}
	}
	out.compile()
	return out
}

// uncompiled returns the profile with other plugins.
func (p *Profile) uncompiled(plugins []weighted) *Profile {
	return &Profile{name: p.name, percentage: p.percentage, order: p.order, plugins: plugins}
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

// compile sorts the plugins by the points that they implement.
func (p *Profile) compile() {
	p.hints = map[string]*hint{}
	for _, w := range p.plugins {
		p.hints[w.Name()] = hintOf(w.Plugin)
		p.foreign = p.foreign || isForeign(w.Plugin) && Points(w.Plugin)&^w.off&(AtFilter|AtPostFilter|AtScore|AtReserve|AtPlacementGenerate|AtPlacementScore) != 0
	}
	p.compileSigners()
	p.enqueue = pluginsAt[PreEnqueuePlugin](p, AtPreEnqueue)
	if sorters := pluginsAt[QueueSortPlugin](p, AtQueueSort); len(sorters) > 0 {
		p.sort = sorters[len(sorters)-1]
	}
	p.compileFilters()
	p.post = pluginsAt[PostFilterPlugin](p, AtPostFilter)
	p.compileScores()
	p.reserve = pluginsAt[ReservePlugin](p, AtReserve)
	p.permit = pluginsAt[PermitPlugin](p, AtPermit)
	p.compileGroups()
	p.prebind = pluginsAt[PreBindPlugin](p, AtPreBind)
	p.bind = pluginsAt[BindPlugin](p, AtBind)
	p.postbind = pluginsAt[PostBindPlugin](p, AtPostBind)
	if _, ordered := p.order[AtBind]; !ordered {
		slices.SortStableFunc(p.bind, func(a, b BindPlugin) int { return cmp.Compare(rankAtBind(a), rankAtBind(b)) })
	}
}

// compileGroups sorts out what concerns groups. GangScheduling is called at none of its points: the scheduler
// does its part there.
func (p *Profile) compileGroups() {
	p.enqueue, p.gangEnqueue = withoutGangs(p.enqueue)
	p.permit, p.gangPermit = withoutGangs(p.permit)
	p.generate = pluginsAt[PlacementGeneratePlugin](p, AtPlacementGenerate)
	p.placementScore = pluginsAt[PlacementScorePlugin](p, AtPlacementScore)
}

func withoutGangs[T Plugin](list []T) (rest []T, found bool) {
	for _, p := range list {
		if _, ok := any(p).(GangScheduling); ok {
			found = true
		} else {
			rest = append(rest, p)
		}
	}
	return rest, found
}

// placements reports whether groups are tried in placements: whether a plugin divides the nodes.
func (p *Profile) placements() bool { return len(p.generate) > 0 }

// rankAtBind lets the default come after all others.
func rankAtBind(p BindPlugin) int {
	if _, last := p.(DefaultBinder); last {
		return 1
	}
	return 0
}

// at returns the plugins that are used at a point, in the order of that point.
func (p *Profile) at(point Point) (out []weighted) {
	for _, w := range p.plugins {
		if w.off&point == 0 && Points(w.Plugin)&point != 0 {
			out = append(out, w)
		}
	}
	rank := func(w weighted) int {
		if i := slices.Index(p.order[point], w.Name()); i >= 0 {
			return i
		}
		return len(p.order[point])
	}
	slices.SortStableFunc(out, func(a, b weighted) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

func pluginsAt[T Plugin](p *Profile, point Point) (out []T) {
	for _, w := range p.at(point) {
		if x, ok := w.Plugin.(T); ok {
			out = append(out, x)
		}
	}
	return out
}

// compileSigners collects the plugins that sign pods among those that filter or score.
func (p *Profile) compileSigners() {
	for _, w := range p.plugins {
		if Points(w.Plugin)&^w.off&(AtFilter|AtScore) == 0 {
			continue
		}
		if x, ok := w.Plugin.(SignPlugin); ok {
			p.signers = append(p.signers, x)
		} else if isForeign(w.Plugin) {
			p.unsigned = true
		}
	}
}

// isLocal reports whether what a plugin says about one pod depends on one node alone. A plugin that is not of
// this package says so by signing pods.
func isLocal(p Plugin) bool {
	if isForeign(p) {
		_, signs := p.(SignPlugin)
		return signs
	}
	return isNodeLocal[p.Name()]
}

// compileFilters lets static filters come first. If the order is given, only those do that are before all
// others; what the rest says is not remembered.
func (p *Profile) compileFilters() {
	_, ordered := p.order[AtFilter]
	var plain []filterer
	for _, w := range p.at(AtFilter) {
		if x, ok := w.Plugin.(PreFilterPlugin); ok {
			p.filter = append(p.filter, filterer{plugin: x, pre: x, local: isLocal(x)})
		}
		x, ok := w.Plugin.(FilterPlugin)
		static, isStatic := w.Plugin.(staticFilter)
		switch {
		case !ok:
		case isStatic && (!ordered || len(p.filter) == 0):
			p.static = append(p.static, static)
		case ordered:
			p.filter = append(p.filter, filterer{plugin: x, plain: x, local: isLocal(x)})
		default:
			plain = append(plain, filterer{plugin: x, plain: x, local: isLocal(x)})
		}
	}
	p.filter = append(p.filter, plain...)
}

func (p *Profile) compileScores() {
	for _, w := range p.at(AtScore) {
		s := scorer{plugin: w.Plugin, weight: max(w.weight, 1), local: isLocal(w.Plugin), foreign: isForeign(w.Plugin)}
		if x, ok := w.Plugin.(PreScorePlugin); ok {
			s.pre = x
		} else {
			s.plain = w.Plugin.(ScorePlugin)
		}
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
	case len(p.bind) == 0:
		return fmt.Errorf("profile %s: no plugin binds pods: add DefaultBinder", p.name)
	case len(p.generate) > 1:
		return fmt.Errorf("profile %s: %d plugins generate placements: want at most one", p.name, len(p.generate))
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
