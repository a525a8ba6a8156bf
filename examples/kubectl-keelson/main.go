// Command kubectl-keelson is a plugin of kubectl: with it on the PATH,
//
//	kubectl keelson explain-scheduling web-1
//
// says for each node which plugin of the scheduler refuses the pod and why, or which scores it gets, and
// which node would be selected now. With --filename the pod need not exist.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/examples/internal/flagname"
	"github.com/keelson-dev/keelson/examples/internal/schedulerconfig"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// options are the values of the flags.
type options struct {
	kube      kubeconfig.Options
	namespace string
	file      string
	config    string
	part      bool
}

const usage = "Usage: kubectl keelson explain-scheduling POD [flags]\n       kubectl keelson explain-scheduling -f FILE [flags]\n\n"

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	var o options
	f := pflag.NewFlagSet("kubectl keelson", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.kube.Path, "kubeconfig", "", "path of the kubeconfig file (default $KUBECONFIG, ~/.kube/config)")
	f.StringVar(&o.kube.Context, "context", "", "context of the kubeconfig to use")
	f.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the pod (default that of the context)")
	f.StringVarP(&o.file, "filename", "f", "", "manifest of the pod, which need not exist; - reads standard input")
	f.StringVar(&o.config, "config", "", "KubeSchedulerConfiguration file of the scheduler (default its default profile)")
	f.BoolVar(&o.part, "as-decided", false, "look only at as many nodes as the scheduler does in a large cluster, instead of at all")
	f.Usage = func() {
		fmt.Fprintf(out, "Says why a pod gets the node that it gets, or none.\n\n%sFlags:\n%s", usage, f.FlagUsages())
	}
	if err := f.Parse(args); err != nil {
		return flagname.Closest(f, err)
	}
	switch rest := f.Args(); {
	case len(rest) == 0 || rest[0] != "explain-scheduling":
		return fmt.Errorf("want the command explain-scheduling\n%s", strings.TrimSpace(usage))
	case (o.file == "") != (len(rest) == 2):
		return errors.New("want the name of one pod, or a file with --filename")
	default:
		return o.explain(ctx, rest[1:], in, out)
	}
}

// explain reads the state of the cluster and prints what would be decided.
func (o *options) explain(ctx context.Context, name []string, in io.Reader, out io.Writer) error {
	cfg, err := kubeconfig.Load(o.kube)
	if err != nil {
		return err
	}
	cfg.UserAgent = "kubectl-keelson"
	conn, err := rest.New(cfg, rest.Options{})
	if err != nil {
		return err
	}
	defer conn.Close()
	if o.namespace == "" {
		if o.namespace, err = kubeconfig.Namespace(o.kube); err != nil {
			o.namespace = "default"
		}
	}
	pod, err := o.pod(ctx, conn, name, in)
	if err != nil {
		return err
	}
	profile, extenders, err := o.profile(pod)
	if err != nil {
		return err
	}
	state, err := scheduler.Load(ctx, conn)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Pod %s/%s, scheduler %s\n", pod.Namespace, pod.Name, profile.Name())
	if pod.Spec.NodeName != "" {
		fmt.Fprintf(out, "It is on node %s; this is what would be decided if it were not there yet.\n", pod.Spec.NodeName)
		state.RemovePod(pod.UID)
		pod.Spec.NodeName = ""
	}
	for _, url := range extenders {
		fmt.Fprintf(out, "The extender %s is not called.\n", url)
	}
	why := state.Explain(profile, pod, !o.part)
	return printed(out, state, pod, &why)
}

// pod reads the pod from the API server, or from the file, with what the server makes of it.
func (o *options) pod(ctx context.Context, conn client.Conn, name []string, in io.Reader) (*corev1.Pod, error) {
	pods := client.For[*corev1.Pod](conn)
	if o.file == "" {
		return pods.Get(ctx, types.NamespacedName{Namespace: o.namespace, Name: name[0]})
	}
	if o.file != "-" {
		file, err := os.Open(o.file)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	objs, err := manifest.Read(in, o.file)
	if err != nil {
		return nil, err
	}
	if len(objs) != 1 {
		return nil, fmt.Errorf("%s: %d objects: want one pod", o.file, len(objs))
	}
	if kind := manifest.KindOf(api.Scheme(), objs[0]); kind.Kind != "Pod" || kind.Group != "" {
		return nil, fmt.Errorf("%s: %s: want a Pod", o.file, kind.Kind)
	}
	text, err := codec.Marshal(objs[0])
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	if err := codec.Unmarshal(text, pod); err != nil {
		return nil, fmt.Errorf("%s: %w", o.file, err)
	}
	pod.Namespace = cmp.Or(pod.Namespace, o.namespace)
	if pod.Name != "" { // it may be there already
		pod.Name, pod.GenerateName = "", pod.Name+"-"
	}
	return pods.Create(ctx, pod, client.CreateOptions{DryRun: true})
}

// profile is the one that decides about the pod, with the extenders that are interested in any.
func (o *options) profile(pod *corev1.Pod) (*scheduler.Profile, []string, error) {
	name := cmp.Or(pod.Spec.SchedulerName, scheduler.DefaultName)
	if o.config == "" {
		if name != scheduler.DefaultName {
			return nil, nil, fmt.Errorf("the pod is for the scheduler %q: give its configuration with --config", name)
		}
		return scheduler.Default(), nil, nil
	}
	data, err := os.ReadFile(o.config)
	if err != nil {
		return nil, nil, err
	}
	c, err := schedulerconfig.Read(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", o.config, err)
	}
	opts, err := c.Options()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", o.config, err)
	}
	i := slices.IndexFunc(opts.Profiles, func(p *scheduler.Profile) bool { return p.Name() == name })
	if i < 0 {
		return nil, nil, fmt.Errorf("%s: no profile is for the pod's scheduler %q", o.config, name)
	}
	var extenders []string
	for _, x := range opts.Extenders {
		extenders = append(extenders, x.URL)
	}
	return opts.Profiles[i], extenders, nil
}

// printed writes the decision, who refuses which node, and the scores of the others.
func printed(out io.Writer, state *scheduler.Cluster, pod *corev1.Pod, why *scheduler.Explanation) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	switch {
	case why.Failed != nil:
		fmt.Fprintf(w, "No node: %s: %s\n", why.Failed.Plugin, why.Failed.Message())
	case why.Node != "":
		fmt.Fprintf(w, "Selected: %s, of %d nodes that can take it; %d of %d refuse it\n", why.Node, len(why.Feasible), len(why.Refused), why.Nodes)
	default:
		fmt.Fprintln(w, "No node:", why.Message())
		if node, victims := state.Preempt(pod); node != "" {
			names := []string{}
			for _, v := range victims {
				names = append(names, v.Namespace+"/"+v.Name)
			}
			fmt.Fprintf(w, "Preemption would make room on %s by ending: %s\n", node, strings.Join(names, ", "))
		}
	}
	if len(why.Refused) > 0 {
		fmt.Fprint(w, "\nREFUSED BY\tPLUGIN\tREASON\n")
		for _, r := range why.Refused {
			fmt.Fprintf(w, "%s\t%s\t%s\n", r.Node, r.Status.Plugin, r.Status.Message())
		}
	}
	if err := w.Flush(); err != nil || len(why.Feasible) == 0 {
		return err
	}
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nSCORES\tTOTAL")
	for _, s := range why.Scores {
		fmt.Fprintf(w, "\t%s x%d", s.Plugin, s.Weight)
	}
	fmt.Fprintln(w)
	for _, i := range ranking(why.Feasible) {
		fmt.Fprintf(w, "%s\t%d", why.Feasible[i].Node, why.Feasible[i].Score)
		for _, s := range why.Scores {
			if s.Raw[i] == s.Normalized[i] {
				fmt.Fprintf(w, "\t%d", s.Raw[i])
			} else {
				fmt.Fprintf(w, "\t%d of %d", s.Normalized[i], s.Raw[i])
			}
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// ranking are the indexes of the nodes, the best first.
func ranking(nodes []scheduler.Scored) []int {
	out := make([]int, len(nodes))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(nodes[b].Score, nodes[a].Score) })
	return out
}
