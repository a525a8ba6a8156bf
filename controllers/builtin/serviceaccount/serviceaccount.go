// Package serviceaccount creates the default service account and the config map with the cluster's root
// certificate in every active namespace, and restores them when they are deleted or changed.
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

// Options of the controllers.
type Options struct {
	// Accounts are the service accounts of every namespace; nil means "default".
	Accounts []string
	// RootCA is the PEM data published in every namespace; if empty, nothing is published.
	RootCA []byte
}

// Add adds the controllers "serviceaccount" and, with a RootCA, "root-ca-certificate-publisher" to m.
func Add(m *manager.Manager, opts Options) error {
	if err := AddAccounts(m, opts); err != nil || len(opts.RootCA) == 0 {
		return err
	}
	return AddRootCA(m, opts.RootCA)
}

// AddAccounts adds only the controller "serviceaccount".
func AddAccounts(m *manager.Manager, opts Options) error {
	if opts.Accounts == nil {
		opts.Accounts = []string{"default"}
	}
	namespaces := informers.For[*corev1.Namespace](m.Informers()).Lister()
	accounts := informers.For[*corev1.ServiceAccount](m.Informers()).Lister()
	accountAPI := client.For[*corev1.ServiceAccount](m.Conn())
	_, err := controllers.Add(m, "serviceaccount", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if alive, err := lives(namespaces, req); err != nil || !alive {
			return reconcile.Result{}, err
		}
		for _, name := range opts.Accounts {
			key := types.NamespacedName{Namespace: req.Name, Name: name}
			there, err := accounts.Has(key)
			if err != nil {
				return reconcile.Result{}, err
			}
			if there {
				continue
			}
			_, err = accountAPI.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: req.Name, Name: name}})
			if err := settled(err); err != nil {
				return reconcile.Result{}, err
			}
		}
		return reconcile.Result{}, nil
	}), controllers.Options{}, controllers.For[*corev1.Namespace](),
		controllers.Watches(func(e informers.Event[*corev1.ServiceAccount]) []reconcile.Request {
			if e.Type != informers.Deleted {
				return nil
			}
			return []reconcile.Request{{Name: e.Key.Namespace}}
		}))
	return err
}

// AddRootCA adds only the controller "root-ca-certificate-publisher". rootCA is PEM data.
func AddRootCA(m *manager.Manager, rootCA []byte) error {
	namespaces := informers.For[*corev1.Namespace](m.Informers()).Lister()
	want := map[string]string{"ca.crt": string(rootCA)}
	configMaps := informers.For[*corev1.ConfigMap](m.Informers()).Lister()
	mapAPI := client.For[*corev1.ConfigMap](m.Conn())
	_, err := controllers.Add(m, "root-ca-certificate-publisher", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if alive, err := lives(namespaces, req); err != nil || !alive {
			return reconcile.Result{}, err
		}
		key := types.NamespacedName{Namespace: req.Name, Name: RootCAConfigMap}
		cm, err := configMaps.Get(key)
		if apierrors.IsNotFound(err) {
			_, err = mapAPI.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: req.Name, Name: RootCAConfigMap,
				Annotations: map[string]string{"kubernetes.io/description": "Contains a CA bundle that can be used to verify the API server from inside the cluster."}}, Data: want})
			return reconcile.Result{}, settled(err)
		}
		if err != nil || maps.Equal(cm.Data, want) {
			return reconcile.Result{}, err
		}
		cm.Data = maps.Clone(want)
		_, err = mapAPI.Update(ctx, cm)
		return reconcile.Result{}, settled(err)
	}), controllers.Options{}, controllers.For[*corev1.Namespace](),
		controllers.Watches(func(e informers.Event[*corev1.ConfigMap]) []reconcile.Request {
			if e.Key.Name != RootCAConfigMap {
				return nil
			}
			return []reconcile.Request{{Name: e.Key.Namespace}}
		}))
	return err
}

func lives(namespaces informers.Lister[*corev1.Namespace], req reconcile.Request) (alive bool, err error) {
	err = namespaces.View(req, func(ns *corev1.Namespace) {
		alive = ns.DeletionTimestamp == nil && ns.Status.Phase != corev1.NamespaceTerminating
	})
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return alive, err
}

// settled ignores the errors that mean that the object exists already, or that the namespace is being
// deleted.
func settled(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.HasCause(err, "NamespaceTerminating") {
		return nil
	}
	return err
}
