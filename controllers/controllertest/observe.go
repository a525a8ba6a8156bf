package controllertest

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// Observe calls f as the reconcile of a key by a controller that no manager of Keelson runs, such as one of
// controller-runtime or a loop over client-go, and returns its error. The history and its page show it like
// other runs, and the writes that f sends with its context as those of the run. It may be called from many
// goroutines:
//
//	func (r *observed) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
//		err = r.cluster.Observe(ctx, "website", req, func(ctx context.Context) error {
//			result, err = r.next.Reconcile(ctx, req)
//			return err
//		})
//		return result, err
//	}
func (c *Cluster) Observe(ctx context.Context, controller string, key any, f func(context.Context) error) error {
	of := &reconcile.Run{Controller: controller, Key: key, ID: fmt.Sprint("observed-", c.trace.next())}
	_, err := c.trace.wrap(reconcile.NewContext(ctx, of), of, func(ctx context.Context) (reconcile.Result, error) {
		return reconcile.Result{}, f(ctx)
	})
	return err
}
