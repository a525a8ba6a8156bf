package peers

import (
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/aggregation"
	"github.com/keelson-dev/keelson/store/crd"
)

// grace is how long the versions of a deleted object are still not looked for at peers: those learn of the
// deletion a moment later, and what they served before is remembered here.
const grace = 5 * time.Minute

// foreign are the API versions that every server serves by objects in the store. It is guarded by Peers.mu.
type foreign struct {
	objects map[string][]schema.GroupVersion // by resource and name
	active  map[schema.GroupVersion]int      // of how many objects each is
	deleted map[schema.GroupVersion]time.Time
}

func newForeign() foreign {
	return foreign{objects: map[string][]schema.GroupVersion{}, active: map[schema.GroupVersion]int{}, deleted: map[schema.GroupVersion]time.Time{}}
}

// definitions are the CustomResourceDefinitions.
func (f *foreign) definitions(p *Peers) source {
	return source{resource: crd.Resource, set: func(name string, obj metav1.Object) {
		var versions []schema.GroupVersion
		if d, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
			for _, v := range d.Spec.Versions {
				versions = append(versions, schema.GroupVersion{Group: d.Spec.Group, Version: v.Name})
			}
		}
		p.setForeign(crd.Resource.Resource+"/"+name, versions)
	}}
}

// services are the APIServices that name a service.
func (f *foreign) services(p *Peers) source {
	return source{resource: aggregation.Resource, set: func(name string, obj metav1.Object) {
		var versions []schema.GroupVersion
		if s, ok := obj.(*apiregistrationv1.APIService); ok && s.Spec.Service != nil {
			versions = []schema.GroupVersion{{Group: s.Spec.Group, Version: s.Spec.Version}}
		}
		p.setForeign(aggregation.Resource.Resource+"/"+name, versions)
	}}
}

// setForeign replaces the versions of an object, and publishes the state if that changes them.
func (p *Peers) setForeign(key string, versions []schema.GroupVersion) {
	p.mu.Lock()
	changed, removed := p.foreign.set(key, versions)
	p.mu.Unlock()
	if changed {
		p.publish()
	}
	if removed {
		select {
		case p.deleted <- struct{}{}:
		default:
		}
	}
}

// set replaces the versions of an object; removed says that a version is of no object any more.
func (f *foreign) set(key string, versions []schema.GroupVersion) (changed, removed bool) {
	for _, gv := range versions {
		f.active[gv]++
		changed = changed || f.active[gv] == 1
	}
	for _, gv := range f.objects[key] {
		if f.active[gv]--; f.active[gv] == 0 {
			delete(f.active, gv)
			f.deleted[gv], changed, removed = time.Now(), true, true
		}
	}
	if len(versions) > 0 {
		f.objects[key] = versions
	} else {
		delete(f.objects, key)
	}
	return changed, removed
}

// has reports whether a version is of an object that exists, or did not long ago.
func (f *foreign) has(gv schema.GroupVersion) bool {
	_, gone := f.deleted[gv]
	return gone || f.active[gv] > 0
}

// expire forgets what was deleted long ago.
func (f *foreign) expire() {
	for gv, at := range f.deleted {
		if time.Since(at) >= grace {
			delete(f.deleted, gv)
		}
	}
}

// expiry is the time until expire forgets something; a long one if nothing was deleted.
func (f *foreign) expiry() time.Duration {
	wait := 24 * time.Hour
	for _, at := range f.deleted {
		wait = min(wait, time.Until(at.Add(grace)))
	}
	return wait
}
