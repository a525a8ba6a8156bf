package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/stream"
)

// pod finds the pod of an argument: POD, pod/POD, or TYPE/NAME of an object that selects pods, then one of
// its pods.
func (k *kubectl) pod(ctx context.Context, arg string) (*corev1.Pod, error) {
	pods := client.For[*corev1.Pod](k.conn)
	args := []string{arg}
	list, err := k.targets(ctx, args, false)
	if err != nil || list[0].name == "" {
		// An argument without a slash is the name of a pod.
		return pods.Get(ctx, types.NamespacedName{Namespace: k.namespace, Name: arg})
	}
	t := &list[0]
	if t.GVK.Kind == "Pod" && t.GVK.Group == "" {
		return pods.Get(ctx, types.NamespacedName{Namespace: t.namespace, Name: t.name})
	}
	resp, err := k.conn.Do(ctx, t.request("GET", ""))
	if err != nil {
		return nil, err
	}
	u := &metav1.Unstructured{}
	if err := codec.Unmarshal(resp.Body, u); err != nil {
		return nil, err
	}
	selector, err := podSelector(u)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	var best *corev1.Pod
	n := 0
	for p, err := range pods.All(ctx, client.ListOptions{Namespace: t.namespace, LabelSelector: selector}) {
		if err != nil {
			return nil, err
		}
		n++
		if best == nil || ready(p) && !ready(best) {
			best = p
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%s has no pods", t)
	}
	if n > 1 {
		fmt.Fprintf(k.err, "Found %d pods, using pod/%s\n", n, best.Name)
	}
	return best, nil
}

// podSelector returns the selector of an object's pods: spec.selector, a label selector or a plain map.
func podSelector(u *metav1.Unstructured) (labels.Selector, error) {
	v, _ := u.Nested("spec", "selector")
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return labels.Nothing(), fmt.Errorf("it does not select pods")
	}
	raw, err := codec.Marshal(m)
	if err != nil {
		return labels.Nothing(), err
	}
	_, a := m["matchLabels"]
	_, b := m["matchExpressions"]
	if a || b {
		s := &metav1.LabelSelector{}
		if err := codec.Unmarshal(raw, s); err != nil {
			return labels.Nothing(), err
		}
		return s.Selector()
	}
	set := labels.Set{}
	if err := codec.Unmarshal(raw, &set); err != nil {
		return labels.Nothing(), err
	}
	return labels.SelectorFromSet(set), nil
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// container returns the container to use: the requested one, the annotated default, or the first.
func (k *kubectl) container(p *corev1.Pod, asked string) (string, error) {
	if asked != "" {
		for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
			for _, c := range list {
				if c.Name == asked {
					return asked, nil
				}
			}
		}
		for _, c := range p.Spec.EphemeralContainers {
			if c.Name == asked {
				return asked, nil
			}
		}
		return "", fmt.Errorf("container %s not found in pod %s", asked, p.Name)
	}
	if name := p.Annotations["kubectl.kubernetes.io/default-container"]; name != "" {
		return name, nil
	}
	if len(p.Spec.Containers) > 1 {
		fmt.Fprintf(k.err, "Defaulted container %q out of: %s\n", p.Spec.Containers[0].Name, containerNames(p))
	}
	return p.Spec.Containers[0].Name, nil
}

func containerNames(p *corev1.Pod) string {
	out := ""
	for i, c := range p.Spec.Containers {
		if i > 0 {
			out += ", "
		}
		out += c.Name
	}
	for _, c := range p.Spec.InitContainers {
		out += ", " + c.Name + " (init)"
	}
	return out
}

func logsCommand() command {
	return command{
		name: "logs", usage: "(POD | TYPE/NAME) [flags]", short: "print what a container has written",
		long: "Print what a container has written to its output.",
		flags: func(f *pflag.FlagSet) func(context.Context, *kubectl, []string) error {
			var o stream.LogOptions
			var tail int64
			var since time.Duration
			var sinceTime string
			f.StringVarP(&o.Container, "container", "c", "", "container of the pod")
			f.BoolVarP(&o.Follow, "follow", "f", false, "continue as more is written")
			f.BoolVarP(&o.Previous, "previous", "p", false, "the container's last run before this one")
			f.BoolVar(&o.Timestamps, "timestamps", false, "the time in front of each line")
			f.Int64Var(&tail, "tail", -1, "how many lines at the end; -1 means all")
			f.Int64Var(&o.LimitBytes, "limit-bytes", 0, "how many bytes at most; 0 means all")
			f.DurationVar(&since, "since", 0, "only the last while, such as 5m")
			f.StringVar(&sinceTime, "since-time", "", "only after a time (RFC 3339)")
			return func(ctx context.Context, k *kubectl, args []string) error {
				if len(args) < 1 || len(args) > 2 {
					return usagef("say which pod: POD or TYPE/NAME")
				}
				if len(args) == 2 {
					o.Container = args[1]
				}
				if tail >= 0 {
					o.Tail = &tail
				}
				if since != 0 && sinceTime != "" {
					return usagef("--since and --since-time exclude each other")
				}
				o.Since = since
				if sinceTime != "" {
					at, err := time.Parse(time.RFC3339, sinceTime)
					if err != nil {
						return usagef("--since-time: %v", err)
					}
					o.SinceTime = at
				}
				p, err := k.pod(ctx, args[0])
				if err != nil {
					return err
				}
				if o.Container, err = k.container(p, o.Container); err != nil {
					return err
				}
				body, err := stream.Logs(ctx, k.conn, metav1.KeyOf(p), o)
				if err != nil {
					return err
				}
				defer body.Close()
				_, err = io.Copy(k.out, body)
				return err
			}
		},
	}
}

func execCommand() command {
	return command{
		name: "exec", usage: "(POD | TYPE/NAME) [flags] -- COMMAND [ARGS...]", short: "run a command in a container",
		long: "Run a command in a container and connect its output, and with -i its input. The exit code is the command's.",
		flags: func(f *pflag.FlagSet) func(context.Context, *kubectl, []string) error {
			var container string
			var stdin, tty, quiet bool
			f.StringVarP(&container, "container", "c", "", "container of the pod")
			f.BoolVarP(&stdin, "stdin", "i", false, "pass the standard input")
			f.BoolVarP(&tty, "tty", "t", false, "give the command a terminal; this one's own settings stay as they are")
			f.BoolVarP(&quiet, "quiet", "q", false, "only what the command writes")
			return func(ctx context.Context, k *kubectl, args []string) error {
				if k.dash < 0 {
					return usagef("put the command after --: exec POD -- COMMAND")
				}
				if k.dash != 1 || len(args) < 2 {
					return usagef("one pod before --, and a command after it")
				}
				errOut := k.err
				if quiet {
					k.err = io.Discard
				}
				p, err := k.pod(ctx, args[0])
				if err != nil {
					return err
				}
				if p.HasEnded() {
					return fmt.Errorf("cannot exec into a container in a completed pod; current phase is %s", p.Status.Phase)
				}
				if container, err = k.container(p, container); err != nil {
					return err
				}
				o := stream.Options{Container: container, Command: args[1:], Stdout: k.out, Stderr: errOut, TTY: tty}
				if stdin {
					o.Stdin = k.in
				}
				if tty {
					o.Stderr = nil
				}
				return stream.Exec(ctx, k.conn, metav1.KeyOf(p), o)
			}
		},
	}
}
