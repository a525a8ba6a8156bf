// Command website is an operator in one file: of every Website it makes a Deployment.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Website is a custom resource: a plain struct, nothing generated.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebsiteSpec `json:"spec"`
}

type WebsiteSpec struct {
	Image    string `json:"image"`
	Replicas *int32 `json:"replicas,omitempty" default:"1" openapi:"minimum=0"`
}

var (
	group = schema.GroupVersion{Group: "example.com", Version: "v1"}
	kind  = scheme.Kind{Resource: "websites", Namespaced: true}
)

// definition is the CustomResourceDefinition of Website, in YAML.
func definition() ([]byte, error) {
	crd, err := openapi.Derive[*Website](group, kind, openapi.DeriveOptions{})
	if err != nil {
		return nil, err
	}
	return codec.MarshalYAML(crd)
}

// withWebsites is the built-in kinds and ours.
func withWebsites() (*scheme.Scheme, error) {
	s := api.Scheme().Clone()
	return s, scheme.Add[*Website](s, group, kind)
}

// desired is the Deployment of a Website.
func desired(s *scheme.Scheme, site *Website) (*appsv1.Deployment, error) {
	labels := map[string]string{"website": site.Name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	d.Spec.Replicas, d.Spec.Selector = site.Spec.Replicas, &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: site.Spec.Image}}
	return d, controllers.Own(s, site, d)
}

// add adds the controller to m.
func add(m *manager.Manager) error {
	sites := informers.For[*Website](m.Informers()).Lister()
	deployments := client.For[*appsv1.Deployment](m.Conn())
	reconciler := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		site, err := sites.Get(req)
		if err != nil { // if the Website has been deleted, the garbage collector removes its Deployment
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
		d, err := desired(m.Conn().Scheme(), site)
		if err != nil {
			return reconcile.Result{}, err
		}
		_, err = deployments.Apply(ctx, d, client.ApplyOptions{FieldManager: "website", Force: true})
		return reconcile.Result{}, err
	})
	_, err := controllers.Add(m, "website", reconciler, controllers.Options{},
		controllers.For[*Website](), controllers.Owns[*Website, *appsv1.Deployment]())
	return err
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "crd" { // website crd | kubectl apply -f -
		text, err := definition()
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(text)
		return err
	}
	cfg, err := kubeconfig.Load(kubeconfig.Options{})
	if err != nil {
		return err
	}
	if cfg.Scheme, err = withWebsites(); err != nil {
		return err
	}
	conn, err := rest.New(cfg, rest.Options{})
	if err != nil {
		return err
	}
	defer conn.Close()
	m := manager.New(conn, manager.Options{})
	if err := add(m); err != nil {
		return err
	}
	return m.Run(ctx)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}
