package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// A reconciler gets a key and says when it wants to be run again.
func ExampleFunc() {
	r := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if req.Name == "broken" {
			return reconcile.Result{}, reconcile.TerminalError(errors.New("the name is not allowed"))
		}
		return reconcile.Result{RequeueAfter: time.Minute}, nil
	})
	result, err := r.Reconcile(context.Background(), reconcile.Request{Namespace: "default", Name: "web"})
	fmt.Println(result.RequeueAfter, err)
	_, err = r.Reconcile(context.Background(), reconcile.Request{Namespace: "default", Name: "broken"})
	fmt.Println(err, reconcile.IsTerminal(err))
	// Output:
	// 1m0s <nil>
	// terminal: the name is not allowed true
}
