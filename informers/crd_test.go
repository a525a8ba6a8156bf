package informers_test

import (
	"context"
	"os"
	"runtime"
	"strconv"
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

// WebsiteSpec is what is wanted.
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

// TestResourcesComeAndGo installs and removes a CustomResourceDefinition under a running informer.
func TestResourcesComeAndGo(t *testing.T) {
	cycles := 30
	if n, err := strconv.Atoi(os.Getenv("KEELSON_SEEDS")); err == nil && n > 0 {
		cycles = n
	}
	synctest.Test(t, func(t *testing.T) {
		sch, err := apiserver.BuiltinScheme()
		require.NoError(t, err)
		client1 := sch.Clone()
		require.NoError(t, scheme.Add[*Website](client1, example, scheme.Kind{Resource: "websites", Namespaced: true}))
		s := clienttest.Start(t, clienttest.Options{Scheme: client1})
		c := s.Conn(t, rest.Options{})
		set := informers.NewSet(c, informers.SetOptions{})
		inf := informers.For[*Website](set)
		added, deleted := 0, 0
		inf.AddHandler(func(ev informers.Event[*Website]) {
			switch ev.Type {
			case informers.Added:
				added++
				require.Equal(t, "h", ev.New().Spec.Host)
			case informers.Deleted:
				deleted++
			}
		}, informers.HandlerOptions{})
		run(t, set)
		crds, sites := client.For[*apiextensionsv1.CustomResourceDefinition](c), client.For[*Website](c)
		d := discovery.New(c, discovery.Options{})
		time.Sleep(time.Minute)
		require.False(t, inf.HasSynced(), "pending")
		var goroutines int
		for i := range cycles {
			_, err := crds.Create(t.Context(), websiteCRD())
			require.NoError(t, err)
			site := &Website{Spec: WebsiteSpec{Host: "h"}}
			site.Namespace, site.Name = "default", "site"
			require.NoError(t, client.Retry(t.Context(), client.RetryPolicy{Tries: 30, MaxWait: time.Second, Wait: 100 * time.Millisecond, On: func(error) bool { return true }}, func(ctx context.Context) error {
				_, err := sites.Create(ctx, site)
				return err
			}))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.True(t, inf.Lister().Has(types.NamespacedName{Namespace: "default", Name: "site"}), "cycle %d: %+v", i, inf.Status())
			require.Equal(t, i+1, added)
			if i == 0 {
				r, err := d.ForKind(t.Context(), schema.GroupKind{Group: "example.com", Kind: "Website"})
				require.NoError(t, err)
				require.Equal(t, "websites", r.GVR.Resource)
			}
			require.NoError(t, crds.Delete(t.Context(), types.NamespacedName{Name: "websites.example.com"}))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, i+1, deleted, "cycle %d: %+v", i, inf.Status())
			if i == 1 {
				goroutines = runtime.NumGoroutine()
			}
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+3)
	})
}
