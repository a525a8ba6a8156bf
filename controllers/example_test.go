package controllers_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Website is a custom resource: a plain struct, nothing generated.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebsiteSpec `json:"spec,omitempty"`
}

type WebsiteSpec struct {
	Image    string `json:"image,omitempty"`
	Replicas *int32 `json:"replicas,omitempty"`
}

var websiteKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Website"}

func withWebsites() (*scheme.Scheme, error) {
	s := api.Scheme().Clone()
	return s, scheme.Add[*Website](s, websiteKind.GroupVersion(), scheme.Kind{Resource: "websites", Namespaced: true})
}

// desired is the Deployment of a Website.
func desired(site *Website) *appsv1.Deployment {
	labels := map[string]string{"website": site.Name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name,
		OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(site, websiteKind)}}}
	d.Spec.Replicas, d.Spec.Selector = site.Spec.Replicas, &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: site.Spec.Image}}
	return d
}

func run(ctx context.Context, cfg rest.Config) error { // cfg from client/kubeconfig; its Scheme knows Website
	conn, err := rest.New(cfg, rest.Options{})
	if err != nil {
		return err
	}
	defer conn.Close()
	m := manager.New(conn, manager.Options{})
	websites := informers.For[*Website](m.Informers()).Lister()
	deployments := client.For[*appsv1.Deployment](m.Conn())
	reconciler := reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		site, err := websites.Get(r)
		if err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
		opts := client.ApplyOptions{FieldManager: "website", Force: true}
		_, err = deployments.Apply(ctx, desired(site), opts)
		return reconcile.Result{}, err
	})
	if _, err := controllers.Add(m, "website", reconciler, controllers.Options{},
		controllers.For[*Website](), controllers.Owns[*Website, *appsv1.Deployment]()); err != nil {
		return err
	}
	return m.Run(ctx)
}

// An operator in one function: it maintains a Deployment for every Website and reverts other changes to it.
func Example() {
	cfg, err := kubeconfig.Load(kubeconfig.Options{})
	if err != nil {
		return
	}
	if cfg.Scheme, err = withWebsites(); err != nil {
		return
	}
	_ = run(context.Background(), cfg)
}

// The operator of the Example does what it says.
func TestTheOperatorOfTheExample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := withWebsites()
		require.NoError(t, err)
		c := controllertest.Start(t, controllertest.Options{CRDs: os.DirFS("controllertest/testdata/crd"), Scheme: s})
		c.Run(manager.Func(func(ctx context.Context) error { return run(ctx, c.Config()) }))
		controllertest.Create(c, &Website{ObjectMeta: controllertest.Name("default", "blog"), Spec: WebsiteSpec{Image: "nginx", Replicas: new(int32(3))}})
		image := func() string {
			return controllertest.Get[*appsv1.Deployment](c, "default", "blog").Spec.Template.Spec.Containers[0].Image
		}
		c.Settle()
		require.Equal(t, "nginx", image())
		controllertest.Update(c, "default", "blog", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "other" })
		c.Settle()
		require.Equal(t, "nginx", image(), "a stranger's change does not last")
		controllertest.Update(c, "default", "blog", func(w *Website) { w.Spec.Image = "httpd" })
		c.Settle()
		require.Equal(t, "httpd", image())
	})
}
