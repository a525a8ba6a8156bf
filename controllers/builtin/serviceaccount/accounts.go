package serviceaccount

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

type accounts struct {
	wanted     []string
	namespaces informers.Lister[*corev1.Namespace]
	list       informers.Lister[*corev1.ServiceAccount]
	api        *client.Client[*corev1.ServiceAccount]
}

// AddAccounts adds only the controller "serviceaccount".
func AddAccounts(m *manager.Manager, opts Options) error {
	if opts.Accounts == nil {
		opts.Accounts = []string{"default"}
	}
	a := &accounts{
		wanted: opts.Accounts, namespaces: informers.For[*corev1.Namespace](m.Informers()).Lister(),
		list: informers.For[*corev1.ServiceAccount](m.Informers()).Lister(), api: client.For[*corev1.ServiceAccount](m.Conn()),
	}
	_, err := controllers.Add(m, "serviceaccount", reconcile.Func(a.reconcile), controllers.Options{},
		controllers.For[*corev1.Namespace](),
		controllers.Watches(func(e informers.Event[*corev1.ServiceAccount]) []reconcile.Request {
			if e.Type != informers.Deleted {
				return nil
			}
			return []reconcile.Request{{Name: e.Key.Namespace}}
		}))
	return err
}

// reconcile creates the accounts that a namespace lacks.
func (a *accounts) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if alive, err := lives(a.namespaces, req); err != nil || !alive {
		return reconcile.Result{}, err
	}
	for _, name := range a.wanted {
		there, err := a.list.Has(types.NamespacedName{Namespace: req.Name, Name: name})
		if err == nil && !there {
			_, err = a.api.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: req.Name, Name: name}})
		}
		if err := settled(err); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}
