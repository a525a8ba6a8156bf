package deployment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// facts are what a plan and a status are made of. Writes bring them up to date.
type facts struct {
	dep    *appsv1.Deployment
	new    *appsv1.ReplicaSet   // of the current template; nil if there is none yet
	old    []*appsv1.ReplicaSet // the others that dep controls, oldest first
	oldRun bool                 // Recreate: pods of the old sets still run
	now    time.Time
}

// plan is what to do next, in the order of the fields.
type plan struct {
	// pause says that the rollout was paused or resumed. It is written by itself.
	pause *appsv1.DeploymentCondition
	// create is the set of the current template. The plan ends with it: the next one is made of the set that
	// the server then has.
	create *appsv1.ReplicaSet
	// progress is the condition of a new set that was created or found.
	progress *appsv1.DeploymentCondition
	// adopt gives the new set its revision, the Deployment's annotations and its minReadySeconds.
	adopt *change
	// revision is that of the Deployment; 0: it stays.
	revision int64
	resize   []change
	remove   []*appsv1.ReplicaSet
	// rolling says that the Deployment can make progress: it is not paused, resized or deleted.
	rolling bool
}

// change is what to write into a set.
type change struct {
	set             *appsv1.ReplicaSet // as it was read
	replicas        int32
	annotations     map[string]string
	minReadySeconds int32
}

// split returns the facts of a Deployment and the sets that it controls.
func split(dep *appsv1.Deployment, sets []*appsv1.ReplicaSet, now time.Time) *facts {
	f := &facts{dep: dep, now: now}
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for _, rs := range sets {
		// Of several sets with the template the oldest counts, so that the choice is stable.
		if f.new == nil && sameTemplate(&rs.Spec.Template, &dep.Spec.Template) {
			f.new = rs
			continue
		}
		f.old = append(f.old, rs)
	}
	return f
}

// sameTemplate compares templates without the hash label that distinguishes ReplicaSets.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	x, y := *a, *b
	x.Labels, y.Labels = withoutHash(x.Labels), withoutHash(y.Labels)
	return codec.Equal(&x, &y)
}

func withoutHash(labels map[string]string) map[string]string {
	if _, has := labels[appsv1.DefaultDeploymentUniqueLabelKey]; !has {
		return labels
	}
	labels = maps.Clone(labels)
	delete(labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return labels
}

// all returns a new list of all sets.
func (f *facts) all() []*appsv1.ReplicaSet {
	all := slices.Clone(f.old)
	if f.new != nil {
		all = append(all, f.new)
	}
	return all
}

func size(rs *appsv1.ReplicaSet) int32 {
	if rs == nil {
		return 0
	}
	if rs.Spec.Replicas == nil {
		return 1
	}
	return *rs.Spec.Replicas
}

func sum(sets []*appsv1.ReplicaSet, of func(*appsv1.ReplicaSet) int32) (n int32) {
	for _, rs := range sets {
		n += of(rs)
	}
	return n
}

func statusReplicas(rs *appsv1.ReplicaSet) int32 { return rs.Status.Replicas }
func statusReady(rs *appsv1.ReplicaSet) int32    { return rs.Status.ReadyReplicas }
func available(rs *appsv1.ReplicaSet) int32      { return rs.Status.AvailableReplicas }

// planner makes a plan and keeps the sizes that the sets have after it.
type planner struct {
	*facts
	plan
	sizes map[*appsv1.ReplicaSet]int32 // those that differ from what was read
}

// decide returns what to do.
func decide(f *facts) plan {
	p := &planner{facts: f, sizes: map[*appsv1.ReplicaSet]int32{}}
	if f.dep.DeletionTimestamp != nil {
		return p.plan
	}
	p.pause = f.pauseCondition()
	if f.new != nil {
		p.adoptNew()
	}
	switch {
	case f.dep.Spec.Paused:
		p.proportion()
		p.cleanup()
	case f.resized():
		p.proportion()
	case f.dep.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		p.rolling = true
		p.recreate()
	default:
		p.rolling = true
		p.roll()
	}
	return p.plan
}

// pauseCondition returns the condition of a rollout that was paused or resumed, so that the time paused does
// not count as time without progress; nil if neither.
func (f *facts) pauseCondition() *appsv1.DeploymentCondition {
	if !f.judged() {
		return nil
	}
	c := find(f.dep.Status.Conditions, appsv1.DeploymentProgressing)
	if c != nil && c.Reason == "ProgressDeadlineExceeded" {
		return nil
	}
	noted := c != nil && c.Reason == "DeploymentPaused"
	switch {
	case f.dep.Spec.Paused && !noted:
		return condition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentPaused", "Deployment is paused")
	case !f.dep.Spec.Paused && noted:
		return condition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentResumed", "Deployment is resumed")
	}
	return nil
}

// size returns the size of a set after the plan.
func (p *planner) size(rs *appsv1.ReplicaSet) int32 {
	if n, changed := p.sizes[rs]; changed {
		return n
	}
	return size(rs)
}

// steady returns how many available pods a set will keep: its status may not show yet that it is being scaled
// down, which deletes pods that are not available first.
func (p *planner) steady(rs *appsv1.ReplicaSet) int32 { return min(available(rs), p.size(rs)) }

// scale plans a new size of a set, together with the sizes the Deployment has, and reports whether it is one.
func (p *planner) scale(rs *appsv1.ReplicaSet, to int32) bool {
	if p.size(rs) == to {
		return false
	}
	p.sizes[rs] = to
	p.resize = append(p.resize, p.stamped(rs, to))
	return true
}

// stamp plans to write the sizes the Deployment has into a set whose own stays.
func (p *planner) stamp(rs *appsv1.ReplicaSet) {
	if c := p.stamped(rs, p.size(rs)); !maps.Equal(c.annotations, p.adopted(rs).annotations) {
		p.resize = append(p.resize, c)
	}
}

func (p *planner) stamped(rs *appsv1.ReplicaSet, size int32) change {
	c := p.adopted(rs)
	c.replicas, c.annotations = size, p.sizeAnnotations(c.annotations)
	return c
}

// adopted returns a set as it is after the plan's adopt.
func (p *planner) adopted(rs *appsv1.ReplicaSet) change {
	if rs == p.new && p.adopt != nil {
		return *p.adopt
	}
	return change{set: rs, replicas: size(rs), annotations: rs.Annotations, minReadySeconds: rs.Spec.MinReadySeconds}
}

// roll plans one step of a rolling update: up with the new set as far as the surge allows, or down with the
// old ones as far as availability allows. Every step leads to an event that brings the next.
func (p *planner) roll() {
	if p.new == nil {
		p.createNew()
		return
	}
	if p.scale(p.new, p.newSetSize()) || p.shrinkOld() {
		return
	}
	if p.complete() {
		p.cleanup()
	}
}

// recreate plans the end of every old pod before a new one starts. The status of an old set counts pods that
// the informer of pods may not have yet.
func (p *planner) recreate() {
	moved := false
	for _, rs := range p.old {
		moved = p.scale(rs, 0) || moved
	}
	if moved || p.oldRun || sum(p.old, statusReplicas) > 0 {
		return
	}
	if p.new == nil {
		p.createNew()
		return
	}
	p.scale(p.new, p.replicas())
	if p.complete() {
		p.cleanup()
	}
}

// nextRevision is the lowest revision that the set of the current template may have: one above the others.
func (f *facts) nextRevision() int64 {
	next := int64(1)
	for _, rs := range f.old {
		next = max(next, revision(rs.Annotations)+1)
	}
	return next
}

// createNew plans the set of the current template.
func (p *planner) createNew() {
	p.create = p.newSet(p.nextRevision())
	if p.judged() {
		p.progress = condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", p.create.Name))
	}
}

// adoptNew plans what the set of the current template gets of the Deployment, and the revision.
func (p *planner) adoptNew() {
	number := max(p.nextRevision(), revision(p.new.Annotations))
	want := p.setAnnotations(p.new.Annotations, number)
	if !maps.Equal(want, p.new.Annotations) || p.new.Spec.MinReadySeconds != p.dep.Spec.MinReadySeconds {
		p.adopt = &change{set: p.new, replicas: size(p.new), annotations: want, minReadySeconds: p.dep.Spec.MinReadySeconds}
	}
	if p.judged() && p.pause == nil && find(p.dep.Status.Conditions, appsv1.DeploymentProgressing) == nil {
		p.progress = condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "FoundNewReplicaSet", fmt.Sprintf("Found new replica set %q", p.new.Name))
	}
	if p.dep.Annotations[revisionAnnotation] != strconv.FormatInt(number, 10) {
		p.revision = number
	}
}

// newSetSize is how large the new set, which may not exist yet, may be now.
func (f *facts) newSetSize() int32 {
	if f.dep.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return f.replicas()
	}
	have := size(f.new)
	if have >= f.replicas() {
		return f.replicas()
	}
	total := sum(f.old, size) + have
	room := f.replicas() + f.maxSurge() - total
	if room <= 0 {
		return have
	}
	return have + min(room, f.replicas()-have)
}

// shrinkOld scales old sets down: unhealthy pods first, which costs no availability, then as many as may be
// missing. It reports whether it does.
func (p *planner) shrinkOld() bool {
	left := sum(p.old, p.size)
	if left == 0 {
		return false
	}
	least := p.replicas() - p.maxUnavailable()
	// Pods of the new set that are not available yet count against what may be taken away.
	most := left + p.size(p.new) - least - (p.size(p.new) - p.steady(p.new))
	if most <= 0 {
		return false
	}
	dropped := int32(0)
	for _, rs := range p.old {
		n := min(most-dropped, p.size(rs)-p.steady(rs))
		p.scale(rs, p.size(rs)-n)
		dropped += n
	}
	spare := max(sum(p.all(), p.steady)-least, 0)
	down := int32(0)
	for _, rs := range p.old {
		n := min(p.size(rs), spare-down)
		p.scale(rs, p.size(rs)-n)
		down += n
	}
	return dropped+down > 0
}

// resized reports whether the Deployment's size is another than the one its active sets were scaled for.
func (f *facts) resized() bool {
	for _, rs := range f.all() {
		if size(rs) == 0 {
			continue
		}
		if n, err := strconv.Atoi(rs.Annotations[desiredAnnotation]); err == nil && int32(n) != f.replicas() {
			return true
		}
	}
	return false
}

// proportion brings a changed size to the sets without rolling: all of it to the one active set, or in
// proportion when a rollout is under way or paused.
func (p *planner) proportion() {
	active := slices.DeleteFunc(p.all(), func(rs *appsv1.ReplicaSet) bool { return size(rs) == 0 })
	if all := p.all(); len(active) == 0 && len(all) > 0 {
		active = all[len(all)-1:] // that of the current template, or else the newest
	}
	if len(active) == 1 {
		if !p.scale(active[0], p.replicas()) {
			p.stamp(active[0])
		}
		return
	}
	if p.saturated() {
		for _, rs := range p.old {
			p.scale(rs, 0)
		}
		return
	}
	if p.dep.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		p.share(active)
	}
}

// saturated reports whether the set of the current template has all pods, as many as it was scaled for.
func (f *facts) saturated() bool {
	if f.new == nil || size(f.new) != f.replicas() || available(f.new) != f.replicas() {
		return false
	}
	n, err := strconv.Atoi(f.new.Annotations[desiredAnnotation])
	return err == nil && int32(n) == f.replicas()
}

// share distributes the pods that the sets are to have more or fewer over them.
func (p *planner) share(active []*appsv1.ReplicaSet) {
	allowed := int32(0)
	if p.replicas() > 0 {
		allowed = p.replicas() + p.maxSurge()
	}
	toAdd := allowed - sum(active, size)
	// The largest sets change most, so they come first; among equals, the newer when growing and the older
	// when shrinking.
	slices.SortStableFunc(active, func(a, b *appsv1.ReplicaSet) int {
		age := a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time)
		if toAdd > 0 {
			age = -age
		}
		return cmp.Or(cmp.Compare(size(b), size(a)), age)
	})
	parts := make([]int32, len(active))
	added := int32(0)
	for i, rs := range active {
		parts[i] = p.part(rs, toAdd, added)
		added += parts[i]
	}
	for i, rs := range active {
		to := size(rs) + parts[i]
		if i == 0 {
			to = max(0, to+toAdd-added) // rounding leftovers
		}
		if !p.scale(rs, to) {
			p.stamp(rs)
		}
	}
}

// part is a set's part of toAdd, by its size relative to what all sets together were scaled for.
func (f *facts) part(rs *appsv1.ReplicaSet, toAdd, added int32) int32 {
	if toAdd == added {
		return 0
	}
	if f.replicas() == 0 {
		return -size(rs)
	}
	before := f.dep.Status.Replicas
	if n, err := strconv.Atoi(rs.Annotations[maxAnnotation]); err == nil && n > 0 {
		before = int32(n)
	}
	if before == 0 {
		return 0
	}
	want := float64(size(rs)) * float64(f.replicas()+f.maxSurge()) / float64(before)
	part := int32(roundHalfAway(want)) - size(rs)
	if toAdd > 0 {
		return min(part, toAdd-added)
	}
	return max(part, toAdd-added)
}

func roundHalfAway(v float64) int64 {
	if v < 0 {
		return int64(v - 0.5)
	}
	return int64(v + 0.5)
}

// cleanup plans the deletion of the sets without pods among those of the lowest revisions, which are beyond
// the history limit.
func (p *planner) cleanup() {
	if p.dep.Spec.RevisionHistoryLimit == nil {
		return
	}
	old := slices.DeleteFunc(slices.Clone(p.old), func(rs *appsv1.ReplicaSet) bool { return rs.DeletionTimestamp != nil })
	slices.SortStableFunc(old, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Compare(revision(a.Annotations), revision(b.Annotations))
	})
	for _, rs := range old[:max(0, len(old)-int(*p.dep.Spec.RevisionHistoryLimit))] {
		if _, changes := p.sizes[rs]; !changes && size(rs) == 0 && rs.Status.Replicas == 0 && rs.Generation <= rs.Status.ObservedGeneration {
			p.remove = append(p.remove, rs)
		}
	}
}
