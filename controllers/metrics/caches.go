package metrics

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/keelson-dev/keelson/informers"
)

// cache is an informer on the page of Caches.
type cache struct {
	Cluster       string `json:",omitempty"`
	Resource      string
	Type          string
	Namespaces    []string `json:",omitempty"`
	LabelSelector string   `json:",omitempty"`
	FieldSelector string   `json:",omitempty"`
	Transformed   bool     `json:",omitempty"`
	Users         int
	Synced        bool
	NotServed     bool `json:",omitempty"`
	Objects       int
	Bytes         int64
	Overlay       int
	SilentSeconds float64
	LastError     string `json:",omitempty"`
	Handlers      []informers.HandlerStatus
}

// Caches returns a handler that serves the informers of every set in use as JSON, the largest first: what
// each holds and how much, its users, and its last failure. Informers without a list of namespaces hold all.
// The query parameter resource, such as deployments.apps, selects those of one resource.
func (m *Metrics) Caches() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := []cache{}
		only := r.URL.Query().Get("resource")
		for _, s := range m.allSets() {
			for _, i := range s.Status() {
				if only == "" || only == i.Resource {
					page = append(page, cacheOf(s.cluster, i))
				}
			}
		}
		slices.SortStableFunc(page, func(a, b cache) int {
			return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Cluster, b.Cluster))
		})
		w.Header().Set("Content-Type", "application/json")
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		_ = e.Encode(page)
	})
}

func cacheOf(cluster string, i informers.InformerStatus) cache {
	c := cache{
		Cluster: cluster, Resource: i.Resource, Type: i.Type, Namespaces: i.Namespaces, LabelSelector: i.LabelSelector, FieldSelector: i.FieldSelector,
		Transformed: i.Transformed, Users: i.Users, Synced: i.Synced, NotServed: i.NotServed, Objects: i.Objects, Bytes: i.Bytes,
		Overlay: i.Overlay, SilentSeconds: i.Silent.Seconds(), Handlers: i.Handlers,
	}
	if i.LastError != nil {
		c.LastError = i.LastError.Error()
	}
	return c
}
