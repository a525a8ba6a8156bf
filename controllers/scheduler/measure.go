package scheduler

import "time"

// sampleEvery is how many attempts there are for one of which the calls of plugins are measured.
const sampleEvery = 10

// calls are how often decisions have called the plugins of a profile, in the order of the lists there.
type calls struct{ preFilter, filter, static, preScore, score []int64 }

func newCalls(p *Profile) *calls {
	filters, scores := len(p.filter), len(p.score)
	return &calls{make([]int64, filters), make([]int64, filters), make([]int64, len(p.static)), make([]int64, scores), make([]int64, scores)}
}

// callsOf returns the calls of a profile's plugins.
func (c *Cluster) callsOf(p *Profile) *calls {
	k := c.called[p]
	if k == nil {
		k = newCalls(p)
		c.called[p] = k
	}
	return k
}

// addCalls adds the calls of decisions on a copy of the cluster.
func (c *Cluster) addCalls(of *Cluster) {
	for p, more := range of.called {
		have := c.callsOf(p).lists()
		for i, list := range more.lists() {
			for j, n := range list {
				have[i][j] += n
			}
		}
	}
}

func (k *calls) lists() [5][]int64 {
	return [5][]int64{k.preFilter, k.filter, k.static, k.preScore, k.score}
}

// Evaluation is a point of a plugin of a profile, by their names.
type Evaluation struct{ Plugin, Point, Profile string }

// Evaluations returns how often decisions have called plugins at the points PreFilter, Filter, PreScore and
// Score. What is remembered of a node or of the pod before is no call. Decisions wait meanwhile.
func (s *Scheduler) Evaluations() map[Evaluation]int64 {
	out := map[Evaluation]int64{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, k := range s.cluster.called {
		add := func(plugin Plugin, point string, n int64) {
			if n > 0 {
				out[Evaluation{plugin.Name(), point, p.name}] += n
			}
		}
		for i, f := range p.static {
			add(f, "Filter", k.static[i])
		}
		for i, f := range p.filter {
			add(f.plugin, "PreFilter", k.preFilter[i])
			add(f.plugin, "Filter", k.filter[i])
		}
		for i, f := range p.score {
			add(f.plugin, "PreScore", k.preScore[i])
			add(f.plugin, "Score", k.score[i])
		}
	}
	return out
}

// timing measures the decision under way.
type timing struct {
	// on is set if the points are measured, and sampled if the calls of plugins are: those for each node at
	// one node only, during which atNode is set.
	on, sampled, atNode bool
	// at is when the present point began.
	at        time.Time
	decisions uint64
}

// timed begins to measure a decision, if that is of use.
func (cy *Cycle) timed() {
	m := cy.cluster.measured
	if m == nil || m.Point == nil && m.Plugin == nil {
		return
	}
	cy.timing.decisions++
	cy.timing.on, cy.timing.sampled = true, m.Plugin != nil && cy.timing.decisions%sampleEvery == 1
	cy.timing.at = time.Now()
}

// passed reports a point of the decision that ends now; the next one begins.
func (cy *Cycle) passed(point string, st *Status) {
	if !cy.timing.on {
		return
	}
	now := time.Now()
	if f := cy.cluster.measured.Point; f != nil {
		f(cy.profile.name, point, st.code().String(), now.Sub(cy.timing.at))
	}
	cy.timing.at = now
}

// sample calls a plugin and reports how long that took.
func (cy *Cycle) sample(p Plugin, point string, f func() *Status) *Status {
	began := time.Now()
	st := f()
	cy.cluster.measured.Plugin(p.Name(), point, st.code().String(), time.Since(began))
	return st
}

// askAndSample is ask, measured.
func (cy *Cycle) askAndSample(k *check, n *Node) *Status {
	cy.timing.atNode = false
	st := cy.sample(k.plugin, "Filter", func() *Status { return cy.ask(k, n) })
	cy.timing.atNode = true
	return st
}

// pointOf reports a point of a group, or one after the decision.
func (m *Metrics) pointOf(p *Profile, point string, st *Status, began time.Time) {
	if m != nil && m.Point != nil {
		m.Point(p.name, point, st.code().String(), time.Since(began))
	}
}

// pluginOf reports a call of a plugin in an attempt whose calls are measured.
func (m *Metrics) pluginOf(sampled bool, p Plugin, point string, st *Status, began time.Time) {
	if sampled && m.Plugin != nil {
		m.Plugin(p.Name(), point, st.code().String(), time.Since(began))
	}
}

// handled reports an event that was taken in; empty for one that does not count.
func (s *Scheduler) handled(event string, began time.Time) {
	if f := s.opts.Metrics.Event; f != nil && event != "" {
		f(event, time.Since(began))
	}
}

// resources are the kinds of events by what they are about, as upstream names it.
var resources = map[EventKind]string{ClaimEvent: "PersistentVolumeClaim", VolumeEvent: "PersistentVolume", StorageClassEvent: "storage.k8s.io/StorageClass",
	CSINodeEvent: "storage.k8s.io/CSINode", CSIDriverEvent: "storage.k8s.io/CSIDriver", StorageCapacityEvent: "storage.k8s.io/CSIStorageCapacity",
	VolumeAttachmentEvent: "storage.k8s.io/VolumeAttachment", ResourceClaimEvent: "resource.k8s.io/ResourceClaim",
	ResourceSliceEvent: "resource.k8s.io/ResourceSlice", DeviceClassEvent: "resource.k8s.io/DeviceClass"}

// label is the name that upstream's metrics have for an event, where it has the event.
func (e *Event) label() string {
	resource := resources[e.Kind]
	switch {
	case e.Kind == NodeUpdate && e.OldNode != nil && e.NewNode != nil:
		return "Node" + nodeChange(e.OldNode, e.NewNode)
	case resource == "":
		return e.Kind.String()
	case e.Old == nil:
		return resource + "Add"
	case e.New == nil:
		return resource + "Delete"
	}
	return resource + "Update"
}
