package controller_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// The first try fails; the controller comes back to the key by itself.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tries := 0
	c := controller.New("greeter", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if tries++; tries == 1 {
			return reconcile.Result{}, errors.New("not today")
		}
		fmt.Printf("hello, %s, at try %d\n", req.Name, tries)
		cancel()
		return reconcile.Result{}, nil
	}), controller.Options{})
	c.Enqueue(reconcile.Request{Namespace: "default", Name: "web"})
	fmt.Println(c.Run(ctx))
	// Output:
	// hello, web, at try 2
	// <nil>
}
