package serviceaccount

import (
	"context"
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// RootCAConfigMap is the name of the config map with the root certificate.
const RootCAConfigMap = "kube-root-ca.crt"

type publisher struct {
	data       map[string]string
	namespaces informers.Lister[*corev1.Namespace]
	list       informers.Lister[*corev1.ConfigMap]
	api        *client.Client[*corev1.ConfigMap]
}

// AddRootCA adds only the controller "root-ca-certificate-publisher". rootCA is PEM data.
func AddRootCA(m *manager.Manager, rootCA []byte) error {
	p := &publisher{
		data: map[string]string{"ca.crt": string(rootCA)}, namespaces: informers.For[*corev1.Namespace](m.Informers()).Lister(),
		list: informers.For[*corev1.ConfigMap](m.Informers()).Lister(), api: client.For[*corev1.ConfigMap](m.Conn()),
	}
	_, err := controllers.Add(m, "root-ca-certificate-publisher", reconcile.Func(p.reconcile), controllers.Options{},
		controllers.For[*corev1.Namespace](),
		controllers.Watches(func(e informers.Event[*corev1.ConfigMap]) []reconcile.Request {
			if e.Key.Name != RootCAConfigMap {
				return nil
			}
			return []reconcile.Request{{Name: e.Key.Namespace}}
		}))
	return err
}

// reconcile creates the config map of a namespace, or restores its data and its description.
func (p *publisher) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if alive, err := lives(p.namespaces, req); err != nil || !alive {
		return reconcile.Result{}, err
	}
	have, err := p.list.Get(types.NamespacedName{Namespace: req.Name, Name: RootCAConfigMap})
	switch {
	case apierrors.IsNotFound(err):
		_, err = p.api.Create(ctx, newRootCA(req.Name, p.data))
	case err != nil:
		return reconcile.Result{}, err
	case restore(have, p.data):
		_, err = p.api.Update(ctx, have)
	}
	return reconcile.Result{}, settled(err)
}

// descriptionAnnotation has the description of an object for its readers.
const descriptionAnnotation = "kubernetes.io/description"

// newRootCA returns the config map of a namespace.
func newRootCA(namespace string, data map[string]string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: RootCAConfigMap}}
	restore(c, data)
	return c
}

// restore gives a config map the data, and a description if it has none, and reports whether that changes it.
func restore(c *corev1.ConfigMap, data map[string]string) bool {
	if maps.Equal(c.Data, data) && c.Annotations[descriptionAnnotation] != "" {
		return false
	}
	c.Data = maps.Clone(data)
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[descriptionAnnotation] = "Contains a CA bundle that can be used to verify the API server from inside the cluster."
	return true
}
