package bootstraptokens

import (
	"context"
	"time"

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

type cleaner struct {
	secrets informers.Lister[*corev1.Secret]
	api     *client.Client[*corev1.Secret]
}

// AddCleaner adds the controller to m that deletes bootstrap tokens that have expired.
func AddCleaner(m *manager.Manager) error {
	inf := secrets(m)
	c := &cleaner{secrets: inf.Lister(), api: client.For[*corev1.Secret](m.Conn())}
	_, err := controllers.Add(m, "token-cleaner", reconcile.Func(c.reconcile), controllers.Options{}, controllers.From(inf, controllers.Self))
	return err
}

func (c *cleaner) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var uid types.UID
	var left time.Duration
	var expires bool
	err := c.secrets.View(req, func(s *corev1.Secret) {
		uid = s.UID
		left, expires = remaining(s, time.Now())
	})
	if err != nil || !expires {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	err = c.api.Delete(ctx, req, client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	return reconcile.Result{}, apierrors.IgnoreNotFound(err)
}
