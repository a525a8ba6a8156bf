// Command loadtest puts load on any API server and reports the result: throughput, latency percentiles, and
// the CPU time and memory of the server's processes.
//
//	loadtest --kubeconfig FILE --objects 10000 --clients 32 --pid "$(pgrep kube-apiserver)"
//
// Everything it creates is in one namespace, which it deletes at the end. The pods must not be scheduled: run
// it against an API server without a scheduler, or keep --objects small.
//
// With --workload it runs the workload files of Kubernetes' scheduler benchmark, scheduler_perf, in place of
// that, on a cluster that is there, or on programs that it starts, ours or Kubernetes' own:
//
//	loadtest --workload misc/performance-config.yaml --labels integration-test,short --servers DIR
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/examples/internal/load"
)

// config holds the values of the flags.
type config struct {
	load.Options
	kubeconfig  string
	phases      []string
	connections int
	verbosity   int
	workloads   workloads
}

func main() { component.Exit("loadtest", run(os.Args[1:])) }

func parse(args []string) (*config, error) {
	c := &config{Options: load.Options{Progress: os.Stderr}}
	f := pflag.NewFlagSet("loadtest", pflag.ContinueOnError)
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file of the API server (empty: $KUBECONFIG, then the usual place)")
	f.StringVar(&c.Namespace, "namespace", "loadtest", "namespace to work in; it must not exist yet and is deleted at the end")
	f.StringSliceVar(&c.phases, "phases", load.Names(), "what to do, in this order; create comes first in any case, for the others need objects")
	f.IntVar(&c.Objects, "objects", 1000, "pods to create, 4 kB each")
	f.IntVar(&c.Clients, "clients", 32, "requests in flight")
	f.IntVar(&c.connections, "connections", 4, "HTTP/2 connections they are spread over")
	f.IntVar(&c.Lists, "lists", 20, "how often the list phases list")
	f.IntVar(&c.Watchers, "watchers", 200, "watches of the watch phase")
	f.IntVar(&c.Events, "events", 200, "changes all of them see")
	f.IntVar(&c.Changes, "apply-changes", 10, "percentage of applies that change something")
	f.IntSliceVar(&c.PIDs, "pid", nil, "processes of the server, whose CPU time and memory are shown (needs /proc)")
	f.IntVarP(&c.verbosity, "v", "v", 0, "log verbosity: 0 warnings, 2 information, 4 debugging")
	c.workloads.flags(f)
	if err := component.Parse(f, "Puts load on an API server, or on it and a scheduler, and says what it took.", args); err != nil {
		return nil, err
	}
	if err := c.workloads.parsed(f); err != nil {
		return nil, err
	}
	for flag, n := range map[string]int{"objects": c.Objects, "clients": c.Clients, "connections": c.connections, "lists": c.Lists, "watchers": c.Watchers, "events": c.Events} {
		if n < 1 {
			return nil, fmt.Errorf("--%s: %d is less than 1", flag, n)
		}
	}
	if c.Changes < 0 || c.Changes > 100 {
		return nil, fmt.Errorf("--apply-changes: %d is no percentage", c.Changes)
	}
	for _, p := range c.phases {
		if !slices.Contains(load.Names(), p) {
			return nil, fmt.Errorf("--phases: no phase is called %q; there are %s", p, strings.Join(load.Names(), ", "))
		}
	}
	for _, pid := range c.PIDs {
		if _, err := load.UsageOf(pid); err != nil {
			return nil, fmt.Errorf("--pid: %w", err)
		}
	}
	if !slices.Contains(c.phases, "create") {
		c.phases = append(c.phases, "create")
	}
	return c, nil
}

func run(args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	ctx, stop := component.Context()
	defer stop()
	if len(c.workloads.files) > 0 {
		return c.runWorkloads(ctx)
	}
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: c.kubeconfig})
	if err != nil {
		return err
	}
	opened, err := c.connect(cfg)
	if err != nil {
		return err
	}
	var conns []client.Conn
	for _, conn := range opened {
		defer conn.Close()
		conns = append(conns, conn)
	}
	l := load.New(conns, c.Options)
	if err := l.Prepare(ctx); err != nil {
		return err
	}
	results, err := l.Run(ctx, c.phases)
	load.PrintTable(os.Stdout, results)
	// The created objects are deleted after an interrupt too.
	cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return errors.Join(err, l.CleanUp(cleaning))
}
