package registry

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/cache"
)

// Image is the content of a registry's caches at one revision, with the objects that were decoded and encoded
// there: immutable plain data that any number of registries may share. See Options.Image.
type Image struct {
	revision int64
	caches   map[string]cached // by prefix
}

// cached is the content of one cache.
type cached struct {
	info   *scheme.Info // of the kind by which its objects were decoded
	fields []string     // that it keeps of each object
	state  *cache.Snapshot
}

// Revision returns the revision of the store whose content the image has.
func (i *Image) Revision() int64 { return i.revision }

// Image returns the content of the caches that are at a revision of the store. Those of kinds that are
// changed after they are read from the store, as custom resources are, are left out.
func (r *Registry) Image(revision int64) *Image {
	r.mu.Lock()
	defer r.mu.Unlock()
	table := r.table.Load()
	image := &Image{revision: revision, caches: make(map[string]cached, len(table.caches))}
	for _, w := range table.caches {
		if !w.running || w.stopped {
			continue
		}
		c := w.cache.Load()
		if state := c.Snapshot(); state.Revision() == revision && !c.Inconsistent() {
			image.caches[w.source.prefix] = cached{w.source.info, w.fields, state}
		}
	}
	for _, res := range table.resources {
		if res.changesOnRead() {
			delete(image.caches, res.prefix) // its encoded forms depend on the definition
		}
	}
	return image
}

// initial returns the content with which a cache of res may begin; nil if the image does not have it.
func (i *Image) initial(res *Resource) *cache.Snapshot {
	if i == nil || res.changesOnRead() {
		return nil
	}
	if c, ok := i.caches[res.prefix]; ok && c.info == res.info && slices.Equal(c.fields, res.keptFields()) {
		return c.state
	}
	return nil
}

// changesOnRead reports that objects as they are served depend on more than the stored bytes and the Go type.
func (r *Resource) changesOnRead() bool { return r.def.OnRead != nil || r.def.FromStored != nil }
