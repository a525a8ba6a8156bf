package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/examples/internal/load"
	"github.com/keelson-dev/keelson/examples/internal/servers"
	"github.com/keelson-dev/keelson/examples/internal/workload"
)

// workloads are the flags of workload files.
type workloads struct {
	files, labels    []string
	run              string
	matches          *regexp.Regexp
	servers          string
	schedulerMetrics string
	ignoredGates     []string
	topic            string
	dataItems        string
}

func (w *workloads) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&w.files, "workload", nil, "workload files of Kubernetes' scheduler_perf to run in place of the phases")
	f.StringSliceVar(&w.labels, "labels", nil, "labels that workloads must have, or with a minus before them must not have")
	f.StringVar(&w.run, "run", "", "regular expression that the names of workloads match, such as ^SchedulingBasic/5Nodes$")
	f.StringVar(&w.servers, "servers", "", "folder with kube-apiserver, kube-scheduler and, if they are there, etcd and kube-controller-manager, which are started afresh for each workload (empty: the cluster of --kubeconfig)")
	f.StringVar(&w.schedulerMetrics, "scheduler-metrics", "", "URL of the scheduler of --kubeconfig, such as https://127.0.0.1:10259, whose metrics are collected")
	f.StringSliceVar(&w.ignoredGates, "ignore-feature-gates", nil, "feature gates of workload files that are not set")
	f.StringVar(&w.topic, "topic", "", "whose thresholds count where a workload has several")
	f.StringVar(&w.dataItems, "data-items", "", "file to write the results to, as scheduler_perf writes them")
}

// parsed checks the flags.
func (w *workloads) parsed(f *pflag.FlagSet) (err error) {
	if len(w.files) == 0 {
		for _, name := range []string{"labels", "run", "servers", "scheduler-metrics", "ignore-feature-gates", "topic", "data-items"} {
			if f.Changed(name) {
				return fmt.Errorf("--%s is for workload files: --workload", name)
			}
		}
		return nil
	}
	for _, name := range []string{"phases", "objects", "clients", "lists", "watchers", "events", "apply-changes", "namespace"} {
		if f.Changed(name) {
			return fmt.Errorf("--%s is not for workload files, which say themselves what is done", name)
		}
	}
	if w.servers != "" && (f.Changed("kubeconfig") || w.schedulerMetrics != "" || f.Changed("pid")) {
		return errors.New("--kubeconfig, --scheduler-metrics and --pid are for a cluster that runs: not with --servers")
	}
	if w.matches, err = regexp.Compile(w.run); err != nil {
		return fmt.Errorf("--run: %w", err)
	}
	return nil
}

// runWorkloads reads all files before it runs anything.
func (c *config) runWorkloads(ctx context.Context) error {
	var plans []*workload.Plan
	for _, path := range c.workloads.files {
		f, err := workload.Read(path)
		if err != nil {
			return err
		}
		for _, s := range f.Select(c.workloads.labels) {
			if !c.workloads.matches.MatchString(s.Name()) {
				continue
			}
			p, err := s.Plan()
			if err != nil {
				return err
			}
			plans = append(plans, p)
		}
	}
	if len(plans) == 0 {
		return errors.New("no workload has these labels and this name")
	}
	var all []workload.Item
	var errs []error
	for _, p := range plans {
		items, err := c.runWorkload(ctx, p)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name(), err))
		}
		all = append(all, items...)
		if ctx.Err() != nil {
			break
		}
	}
	printItems(os.Stdout, all)
	if c.workloads.dataItems != "" {
		errs = append(errs, writeItems(c.workloads.dataItems, all))
	}
	return errors.Join(errs...)
}

func (c *config) runWorkload(ctx context.Context, p *workload.Plan) ([]workload.Item, error) {
	names, pids := make([]string, len(c.PIDs)), c.PIDs
	for i, pid := range pids {
		names[i] = fmt.Sprint("process ", pid)
	}
	var cfg, metrics rest.Config
	var err error
	if c.workloads.servers != "" {
		var s *servers.Servers
		if ctx, s, err = startServers(ctx, c.workloads.servers, p.Selected, c.workloads.ignoredGates); err != nil {
			return nil, err
		}
		defer s.End()
		cfg, metrics, names, pids = s.Config, s.Metrics, s.Names, s.PIDs
	} else {
		if p.SchedulerConfig() != "" {
			return nil, p.RefuseConfig(errors.New("the scheduler of --kubeconfig runs already: it can be set with --servers only"))
		}
		if cfg, err = kubeconfig.Load(kubeconfig.Options{Path: c.kubeconfig}); err != nil {
			return nil, err
		}
		if c.workloads.schedulerMetrics != "" {
			metrics = cfg
			metrics.Host, metrics.TLS.CAData, metrics.TLS.CAFile, metrics.TLS.Insecure = c.workloads.schedulerMetrics, nil, "", true
		}
	}
	conns, err := c.connect(cfg)
	if err != nil {
		return nil, err
	}
	o := workload.Options{Topic: c.workloads.topic, Keep: c.workloads.servers != "", Progress: os.Stderr, Measuring: processes(names, pids)}
	for _, conn := range conns {
		defer conn.Close()
		o.Conns = append(o.Conns, conn)
	}
	if metrics.Host != "" {
		conn, err := rest.New(metrics, rest.Options{})
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		o.Metrics = func(ctx context.Context) ([]byte, error) { return page(ctx, conn) }
	}
	if c.workloads.servers == "" {
		if err := c.checkGates(ctx, p.Selected, o); err != nil {
			return nil, err
		}
	}
	return p.Run(ctx, o)
}

// connect opens the connections that requests are spread over.
func (c *config) connect(cfg rest.Config) (conns []*rest.Conn, err error) {
	cfg.UserAgent = "loadtest"
	for range c.connections {
		conn, err := rest.New(cfg, rest.Options{Logger: component.Logger(c.verbosity)})
		if err != nil {
			for _, conn := range conns {
				_ = conn.Close()
			}
			return nil, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

// checkGates compares the feature gates of a workload with those of a cluster that runs.
func (c *config) checkGates(ctx context.Context, s *workload.Selected, o workload.Options) error {
	for _, name := range c.workloads.ignoredGates {
		s = s.WithoutGate(name)
	}
	if len(s.Gates()) == 0 {
		return nil
	}
	text, err := page(ctx, o.Conns[0])
	if err != nil {
		return fmt.Errorf("feature gates of the API server: %w", err)
	}
	texts := [][]byte{text}
	if o.Metrics != nil {
		if text, err = o.Metrics(ctx); err != nil {
			return fmt.Errorf("feature gates of the scheduler: %w", err)
		}
		texts = append(texts, text)
	}
	return s.CheckGates(texts...)
}

// page reads the metrics of a server.
func page(ctx context.Context, conn client.Conn) ([]byte, error) {
	resp, err := conn.Do(ctx, &client.Request{Path: "/metrics", Accept: "text/plain"})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// processes measures the CPU time that processes take for a pod, and their memory at the end.
func processes(names []string, pids []int) func(string) func(int) []workload.Item {
	return func(name string) func(int) []workload.Item {
		before := make([]load.Usage, len(pids))
		for i, pid := range pids {
			before[i], _ = load.UsageOf(pid) // zero for a process that has ended
		}
		return func(scheduled int) (items []workload.Item) {
			for i, pid := range pids {
				u, err := load.UsageOf(pid)
				if err != nil {
					continue
				}
				item := func(metric, unit string, v float64) {
					items = append(items, workload.Item{Labels: map[string]string{"Name": name, "Metric": metric, "process": names[i]}, Data: map[string]float64{"Average": v}, Unit: unit})
				}
				if scheduled > 0 {
					item("CPUPerPod", "ms", float64((u.CPU-before[i].CPU).Microseconds())/1000/float64(scheduled))
				}
				item("ResidentMemory", "MiB", float64(u.Resident)/(1<<20))
			}
			return items
		}
	}
}

// printItems prints a line for each result.
func printItems(out io.Writer, items []workload.Item) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "NAME\tMETRIC\tAVERAGE\tP50\tP90\tP95\tP99\tUNIT")
	for _, i := range items {
		var labels []string
		for _, l := range slices.Sorted(maps.Keys(i.Labels)) {
			if l != "Name" && l != "Metric" {
				labels = append(labels, l+"="+i.Labels[l])
			}
		}
		metric := i.Labels["Metric"]
		if len(labels) > 0 {
			metric += "{" + strings.Join(labels, ",") + "}"
		}
		fmt.Fprintf(w, "%s\t%s", i.Labels["Name"], metric)
		for _, bucket := range []string{"Average", "Perc50", "Perc90", "Perc95", "Perc99"} {
			v, ok := i.Data[bucket]
			if d, whole := i.Data["Duration"]; bucket == "Average" && whole {
				v, ok = d, true
			}
			if ok {
				fmt.Fprintf(w, "\t%.3f", v)
			} else {
				fmt.Fprint(w, "\t-")
			}
		}
		fmt.Fprintf(w, "\t%s\n", i.Unit)
	}
}

// writeItems writes the results as the dashboard of Kubernetes reads them: every item has all labels.
func writeItems(path string, items []workload.Item) error {
	names := map[string]bool{}
	for _, i := range items {
		for name := range i.Labels {
			names[name] = true
		}
	}
	for _, i := range items {
		for name := range names {
			if _, ok := i.Labels[name]; !ok {
				i.Labels[name] = "not applicable"
			}
		}
	}
	data, err := codec.Marshal(struct {
		Version   string          `json:"version"`
		DataItems []workload.Item `json:"dataItems"`
	}{"v1", items})
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
