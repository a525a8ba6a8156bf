// Command custom-scheduler is kube-scheduler with one more plugin: it prefers nodes whose cache has what a
// pod needs. It places the pods whose spec.schedulerName is warm-scheduler.
package main

import (
	"context"
	"log"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

type warm struct{}

func (warm) Name() string { return "Warm" }

func (warm) Score(p *scheduler.Pod, n *scheduler.Node) int64 {
	if n.Label("cache") == p.Label("cache") {
		return scheduler.MaxNodeScore
	}
	return 0
}

func run(ctx context.Context, conn client.Conn) error {
	m := manager.New(conn, manager.Options{})
	profile := scheduler.Default().Named("warm-scheduler").With(warm{}, 5)
	if err := scheduler.Add(m, scheduler.Options{Profiles: []*scheduler.Profile{profile}}); err != nil {
		return err
	}
	return m.Run(ctx)
}

func main() {
	cfg, err := kubeconfig.Load(kubeconfig.Options{})
	if err != nil {
		log.Fatal(err)
	}
	conn, err := rest.New(cfg, rest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), conn); err != nil {
		log.Fatal(err)
	}
}
