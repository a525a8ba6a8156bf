// Command upstream is a small operator: it sets the key answer in every ConfigMap that has a greeting. The
// program keelson does the same with Keelson; the benchmark of the folder above compares both.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func main() {
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctrl.SetLogger(logr.Discard())
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	m, err := ctrl.NewManager(cfg, ctrl.Options{
		LeaderElection: true, LeaderElectionID: os.Args[1], LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true,
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	maps := m.GetClient()
	answer := func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		cm := &corev1.ConfigMap{}
		if err := maps.Get(ctx, req.NamespacedName, cm); err != nil {
			return ctrl.Result{}, crclient.IgnoreNotFound(err)
		}
		if cm.Data["greeting"] == "" || cm.Data["answer"] != "" {
			return ctrl.Result{}, nil
		}
		cm.Data["answer"] = "hello"
		return ctrl.Result{}, maps.Update(ctx, cm)
	}
	if err := ctrl.NewControllerManagedBy(m).For(&corev1.ConfigMap{}).Complete(reconcile.Func(answer)); err != nil {
		return err
	}
	return m.Start(ctx)
}
