package informers_test

import (
	"context"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// Website is a type as scaffolded for a custom resource.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebsiteSpec `json:"spec,omitempty"`
}

// WebsiteSpec is the desired state.
type WebsiteSpec struct {
	Host     string `json:"host"`
	Replicas *int32 `json:"replicas,omitempty"`
}

var example = schema.GroupVersion{Group: "example.com", Version: "v1"}

func websiteCRD() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "websites.example.com"
	crd.Spec.Group = "example.com"
	crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "websites", Singular: "website", Kind: "Website", ListKind: "WebsiteList"}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}},
	}}
	return crd
}

// crdCycles is how often TestResourcesComeAndGo installs and removes the definition.
const crdCycles = 1000

// counted counts the requests a handler is serving, open watches among them.
type counted struct {
	http.Handler
	open atomic.Int64
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.open.Add(1)
	defer c.open.Add(-1)
	c.Handler.ServeHTTP(w, r)
}

// comings counts the events of a handler.
type comings struct{ added, deleted int }

func count[T metav1.Object](inf *informers.Informer[T]) *comings {
	n := &comings{}
	inf.AddHandler(func(ev informers.Event[T]) {
		switch ev.Type {
		case informers.Added:
			n.added++
		case informers.Deleted:
			n.deleted++
		}
	}, informers.HandlerOptions{})
	return n
}

// TestResourcesComeAndGo installs and removes a CustomResourceDefinition under running informers, typed,
// dynamic and of metadata: each time all of them find it, none keeps a watch that stays silent, and nothing
// accumulates.
func TestResourcesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sch, err := apiserver.BuiltinScheme()
		require.NoError(t, err)
		client1 := sch.Clone()
		require.NoError(t, scheme.Add[*Website](client1, example, scheme.Kind{Resource: "websites", Namespaced: true}))
		requests := &counted{}
		s := clienttest.Start(t, clienttest.Options{Scheme: client1, Wrap: func(h http.Handler) http.Handler { requests.Handler = h; return requests }})
		c := s.Conn(t, rest.Options{})
		set := informers.NewSet(c, informers.SetOptions{})
		typed := informers.For[*Website](set)
		r := client.Resource{GVR: example.WithResource("websites"), GVK: example.WithKind("Website"), Namespaced: true}
		dynamic := informers.ForResource[*metav1.Unstructured](set, r)
		r.Metadata = true
		delivered := []*comings{count(typed), count(dynamic), count(informers.ForResource[*metav1.PartialObjectMetadata](set, r))}
		run(t, set)
		crds, sites := client.For[*apiextensionsv1.CustomResourceDefinition](c), client.For[*Website](c)
		time.Sleep(time.Minute)
		require.False(t, set.HasSynced(), "pending")
		require.NoError(t, set.WaitForSyncOrAbsent(t.Context()), "programs that treat the resource as optional continue")
		require.NoError(t, set.Ready())
		site := types.NamespacedName{Namespace: "default", Name: "site"}
		cycle := func(i int) {
			_, err := crds.Create(t.Context(), websiteCRD())
			require.NoError(t, err)
			obj := &Website{Spec: WebsiteSpec{Host: "h"}}
			obj.Namespace, obj.Name = site.Namespace, site.Name
			policy := client.RetryPolicy{Tries: 30, MaxWait: time.Second, Wait: 100 * time.Millisecond, On: func(error) bool { return true }}
			require.NoError(t, client.Retry(t.Context(), policy, func(ctx context.Context) error {
				_, err := sites.Create(ctx, obj)
				return err
			}))
			time.Sleep(time.Minute)
			synctest.Wait()
			got, err := typed.Lister().Get(site)
			require.NoError(t, err, "cycle %d: %+v", i, typed.Status())
			require.Equal(t, "h", got.Spec.Host)
			require.True(t, must(dynamic.Lister().Has(site)), "cycle %d: %+v", i, dynamic.Status())
			require.NoError(t, crds.Delete(t.Context(), types.NamespacedName{Name: "websites.example.com"}))
			time.Sleep(time.Minute)
			synctest.Wait()
			for kind, n := range delivered {
				require.Equal(t, comings{i, i}, *n, "cycle %d, informer %d", i, kind)
			}
		}
		cycle(1)
		cycle(2)
		goroutines, open := runtime.NumGoroutine(), requests.open.Load()
		for i := 3; i <= crdCycles; i++ {
			cycle(i)
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+3)
		require.LessOrEqual(t, requests.open.Load(), open+3)
	})
}

// TestDiscoveryFindsALateKind queries a mapper, which has a cached catalog, for a kind that was installed
// later.
func TestDiscoveryFindsALateKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clienttest.Start(t, clienttest.Options{}).Conn(t, rest.Options{})
		d := discovery.New(c, discovery.Options{})
		kind := schema.GroupKind{Group: "example.com", Kind: "Website"}
		_, err := d.ForKind(t.Context(), kind)
		require.Error(t, err)
		_, err = client.For[*apiextensionsv1.CustomResourceDefinition](c).Create(t.Context(), websiteCRD())
		require.NoError(t, err)
		time.Sleep(time.Minute)
		r, err := d.ForKind(t.Context(), kind)
		require.NoError(t, err)
		require.Equal(t, "websites", r.GVR.Resource)
	})
}
