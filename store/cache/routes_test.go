package cache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/wake"
)

// FuzzRoutes: every change that passes a watch's own filter must wake it.
func FuzzRoutes(f *testing.F) {
	for _, p := range []string{"", "/pods/", "/pods/a/", "/pods/a", "/pods/a/x", "/pods/a/b/", "/po", "/other/", "/pods//", "/pods/a//"} {
		for _, k := range []string{"a/x", "a", "a/b/c", "", "/", "a/"} {
			f.Add(p, k, "n1", "n2")
		}
	}
	f.Fuzz(func(t *testing.T, prefix, name, old, value string) {
		key := "/pods/" + name
		prev := newObject("/pods/", kvOf(key, 1))
		prev.Attrs.Fields = map[string]string{"node": old}
		obj := newObject("/pods/", kvOf(key, 2))
		obj.Attrs.Fields = map[string]string{"node": value}
		r := newRoutes("/pods/")
		var watches []*watcher
		for _, opts := range []WatchOptions{{Prefix: prefix}, {Prefix: prefix, Field: "node", Value: value}, {Prefix: prefix, Field: "node", Value: old}, {Prefix: prefix, Field: "other"}} {
			w := &watcher{opts: opts, route: r.of(opts), wake: wake.New()}
			r.add(w)
			watches = append(watches, w)
		}
		ch := &change{seq: 7, kind: Modified, obj: obj, prev: prev}
		r.notify([]*change{ch})
		for _, w := range watches {
			if _, ok := w.event(ch); ok {
				require.EqualValues(t, 7, w.pending.Load(), "%+v misses %q", w.opts, key)
			}
			r.remove(w)
		}
		require.Empty(t, r.groups)
		require.Empty(t, r.fields)
	})
}

func kvOf(key string, revision int64) store.KV {
	return store.KV{Key: key, Revision: revision, CreateRevision: 1}
}
