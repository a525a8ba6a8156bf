// Command keelson is a small operator: it sets the key answer in every ConfigMap that has a greeting. The
// program upstream does the same with controller-runtime; the benchmark of the folder above compares both.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cfg, err := kubeconfig.Load(kubeconfig.Options{})
	if err != nil {
		return err
	}
	conn, err := rest.New(cfg, rest.Options{})
	if err != nil {
		return err
	}
	defer conn.Close()
	lock := leaselock.New(conn, types.NamespacedName{Namespace: "default", Name: os.Args[1]}, leaselock.Options{})
	elector, err := leaderelection.New(lock, leaderelection.Options{})
	if err != nil {
		return err
	}
	m := manager.New(conn, manager.Options{Elector: elector})
	maps, cached := client.For[*corev1.ConfigMap](m.Conn()), informers.For[*corev1.ConfigMap](m.Informers()).Lister()
	answer := func(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
		cm, err := cached.Get(key)
		if err != nil || cm.Data["greeting"] == "" || cm.Data["answer"] != "" {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
		cm.Data["answer"] = "hello"
		_, err = maps.Update(ctx, cm)
		return reconcile.Result{}, err
	}
	if _, err := controllers.Add(m, "hello", reconcile.Func(answer), controllers.Options{}, controllers.For[*corev1.ConfigMap]()); err != nil {
		return err
	}
	return m.Run(ctx)
}
