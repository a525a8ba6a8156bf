package controllertest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/builtin/namespace"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Website is a custom resource: a plain struct, nothing generated.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebsiteSpec   `json:"spec,omitempty"`
	Status            WebsiteStatus `json:"status,omitempty"`
}

type WebsiteSpec struct {
	Image    string `json:"image,omitempty"`
	Replicas *int32 `json:"replicas,omitempty"`
}

type WebsiteStatus struct {
	Ready bool `json:"ready,omitempty"`
}

func websites(t testing.TB) *scheme.Scheme {
	s := scheme.New()
	require.NoError(t, api.AddToScheme(s))
	require.NoError(t, scheme.Add[*Website](s, schema.GroupVersion{Group: "example.com", Version: "v1"}, scheme.Kind{Resource: "websites", Namespaced: true}))
	return s
}

// addWebsites is an operator: a config map per website, then status.
func addWebsites(m *manager.Manager) error {
	sites := informers.For[*Website](m.Informers()).Lister()
	_, err := controllers.Add(m, "website", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		site, err := sites.Get(req)
		if err != nil || site.Status.Ready {
			return reconcile.Result{}, nil
		}
		page := &corev1.ConfigMap{ObjectMeta: controllertest.Name(req.Namespace, req.Name)}
		page.OwnerReferences = []metav1.OwnerReference{metav1.NewControllerRef(site, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Website"})}
		if _, err := client.For[*corev1.ConfigMap](m.Conn()).Create(ctx, page); err != nil {
			return reconcile.Result{}, err
		}
		site.Status.Ready = true
		_, err = client.For[*Website](m.Conn()).UpdateStatus(ctx, site)
		return reconcile.Result{}, err
	}), controllers.Options{}, controllers.For[*Website]())
	return err
}

// A controller of a custom resource, tested against the real server on virtual time.
func TestWebsiteBecomesReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{
			CRDs: os.DirFS("testdata/crd"), Scheme: websites(t), Controllers: []controllertest.Adder{addWebsites}})
		controllertest.Create(c, &Website{ObjectMeta: controllertest.Name("default", "site")})
		c.Settle() // every watch has delivered everything and every controller is idle
		site := controllertest.Get[*Website](c, "default", "site")
		require.True(t, site.Status.Ready)
		require.Equal(t, int32(1), *site.Spec.Replicas, "the definition's default")
	})
}

// Custom resources are collected and emptied as built-in ones are.
func TestCustomResourcesAreCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{CRDs: os.DirFS("testdata/crd"), Scheme: websites(t), Controllers: []controllertest.Adder{
			addWebsites,
			func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) },
			func(m *manager.Manager) error { return namespace.Add(m, namespace.Options{}) },
		}})
		controllertest.Create(c, &Website{ObjectMeta: controllertest.Name("default", "site")})
		c.Settle()
		require.True(t, controllertest.Exists[*corev1.ConfigMap](c, "default", "site"))
		controllertest.Delete[*Website](c, "default", "site")
		c.Sleep(10 * time.Second)
		require.False(t, controllertest.Exists[*corev1.ConfigMap](c, "default", "site"))

		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "ns")})
		c.Settle()
		controllertest.Create(c, &Website{ObjectMeta: controllertest.Name("ns", "site")})
		c.Settle()
		controllertest.Delete[*corev1.Namespace](c, "", "ns")
		c.Sleep(time.Minute)
		require.False(t, controllertest.Exists[*Website](c, "ns", "site"))
		require.False(t, controllertest.Exists[*corev1.Namespace](c, "", "ns"))
	})
}

func Example() {
	t := new(testing.T) // the test's own
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{
			CRDs: os.DirFS("testdata/crd"), Scheme: websites(t), Controllers: []controllertest.Adder{addWebsites}})
		controllertest.Create(c, &Website{ObjectMeta: controllertest.Name("default", "site")})
		c.Settle()
		fmt.Println("ready:", controllertest.Get[*Website](c, "default", "site").Status.Ready)
	})
	// Output: ready: true
}

// A reply is lost after the write has taken effect, and the client learns of it by the next attempt.
func ExampleCluster_Inject() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{})
		c.Inject(controllertest.Fault{
			Requests: controllertest.Requests{Verbs: []string{"create"}, Resource: "configmaps"},
			Times:    1,
			Effect:   controllertest.LoseReply(),
		})
		calls := c.Record(controllertest.Requests{Resource: "configmaps"})
		maps := client.For[*corev1.ConfigMap](c.Admin())
		for range 2 {
			_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "settings")})
			fmt.Println(errors.Is(err, io.ErrUnexpectedEOF), apierrors.IsAlreadyExists(err))
		}
		for _, rule := range controllertest.LeastRules(calls.Calls()) {
			fmt.Println(rule.Resources, rule.Verbs)
		}
	})
	// Output:
	// true false
	// false true
	// [configmaps] [create]
}
