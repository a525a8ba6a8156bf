// Command loadtest puts load on any API server and says what it took: throughput, latency percentiles, and the CPU time and memory of the
// server's processes.
//
//	loadtest --kubeconfig FILE --objects 10000 --clients 32 --pid "$(pgrep kube-apiserver)"
//
// Everything it makes is in one namespace, which it deletes at the end. The pods it makes are never run: nothing must
// schedule them, so let it meet an API server alone, or keep --objects small.
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

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

// config is what the flags say.
type config struct {
	kubeconfig  string
	namespace   string
	phases      []string
	objects     int
	clients     int
	connections int
	lists       int
	watchers    int
	events      int
	changes     int
	pids        []int
	verbosity   int
}

func main() { component.Exit("loadtest", run(os.Args[1:])) }

func parse(args []string) (*config, error) {
	c := &config{}
	f := pflag.NewFlagSet("loadtest", pflag.ContinueOnError)
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file of the API server (empty: $KUBECONFIG, then the usual place)")
	f.StringVar(&c.namespace, "namespace", "loadtest", "namespace to work in; it must not exist yet and is deleted at the end")
	f.StringSliceVar(&c.phases, "phases", names(), "what to do, in this order; create comes first in any case, for the others need objects")
	f.IntVar(&c.objects, "objects", 1000, "pods to make, 3 kB each")
	f.IntVar(&c.clients, "clients", 32, "requests in flight")
	f.IntVar(&c.connections, "connections", 4, "HTTP/2 connections they are spread over")
	f.IntVar(&c.lists, "lists", 20, "how often the list phases list")
	f.IntVar(&c.watchers, "watchers", 200, "watches of the watch phase")
	f.IntVar(&c.events, "events", 200, "changes all of them see")
	f.IntVar(&c.changes, "apply-changes", 10, "percentage of applies that change something")
	f.IntSliceVar(&c.pids, "pid", nil, "processes of the server, whose CPU time and memory are shown (needs /proc)")
	f.IntVarP(&c.verbosity, "v", "v", 0, "log verbosity: 0 warnings, 2 information, 4 debugging")
	if err := component.Parse(f, "Puts load on an API server and says what it took.", args); err != nil {
		return nil, err
	}
	for flag, n := range map[string]int{"objects": c.objects, "clients": c.clients, "connections": c.connections, "lists": c.lists, "watchers": c.watchers, "events": c.events} {
		if n < 1 {
			return nil, fmt.Errorf("--%s: %d is less than 1", flag, n)
		}
	}
	if c.changes < 0 || c.changes > 100 {
		return nil, fmt.Errorf("--apply-changes: %d is no percentage", c.changes)
	}
	for _, p := range c.phases {
		if !slices.Contains(names(), p) {
			return nil, fmt.Errorf("--phases: no phase is called %q; there are %s", p, strings.Join(names(), ", "))
		}
	}
	for _, pid := range c.pids {
		if _, err := usageOf(pid); err != nil {
			return nil, fmt.Errorf("--pid: %w", err)
		}
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
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: c.kubeconfig})
	if err != nil {
		return err
	}
	cfg.UserAgent = "loadtest"
	var conns []client.Conn
	for range c.connections {
		conn, err := rest.New(cfg, rest.Options{Logger: component.Logger(c.verbosity)})
		if err != nil {
			return err
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	l := &load{config: c, conns: conns, progress: newProgress(os.Stderr)}
	if err := l.prepare(ctx); err != nil {
		return err
	}
	results, err := l.run(ctx)
	printTable(os.Stdout, results)
	return errors.Join(err, l.cleanUp())
}

// prepare makes the namespace and the service account its pods name.
func (l *load) prepare(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}}
	if _, err := client.For[*corev1.Namespace](l.conns[0]).Create(ctx, ns); apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s exists already: delete it, or choose another with --namespace", l.namespace)
	} else if err != nil {
		return fmt.Errorf("namespace %s: %w", l.namespace, err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "default"}}
	if _, err := client.For[*corev1.ServiceAccount](l.conns[0]).Create(ctx, account); err != nil && !apierrors.IsAlreadyExists(err) {
		return errors.Join(fmt.Errorf("service account: %w", err), l.cleanUp())
	}
	return nil
}

// cleanUp deletes what is left, also after an interrupt.
func (l *load) cleanUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	now := int64(0)
	all := client.ListOptions{Namespace: l.namespace}
	return errors.Join(
		client.For[*corev1.Pod](l.conns[0]).DeleteCollection(ctx, all, client.DeleteOptions{GracePeriodSeconds: &now}),
		client.For[*corev1.ConfigMap](l.conns[0]).DeleteCollection(ctx, all),
		client.For[*corev1.Namespace](l.conns[0]).Delete(ctx, types.NamespacedName{Name: l.namespace}))
}
