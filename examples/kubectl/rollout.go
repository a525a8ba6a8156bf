package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// lastSeen is when an event happened last.
func lastSeen(e *corev1.Event) metav1.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return metav1.Time{Time: e.Series.LastObservedTime.Time}
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp
	case !e.EventTime.IsZero():
		return metav1.Time{Time: e.EventTime.Time}
	}
	return e.CreationTimestamp
}

// columns writes rows with aligned cells.
func columns(w io.Writer, rows [][]string, indent string, gap int) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		b.WriteString(indent)
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-len([]rune(cell))+gap))
			}
		}
		fmt.Fprintln(w, b.String())
	}
}

func rolloutCommand() command {
	return command{
		name: "rollout", usage: "status (TYPE NAME | TYPE/NAME) [flags]", short: "follow a rollout",
		long: "Follow the rollout of a deployment, daemon set or stateful set until it is complete or has failed.",
		flags: func(f *pflag.FlagSet) func(context.Context, *kubectl, []string) error {
			var watch bool
			var timeout time.Duration
			f.BoolVarP(&watch, "watch", "w", true, "wait until the rollout is complete")
			f.DurationVar(&timeout, "timeout", 0, "how long to wait; 0 means forever")
			return func(ctx context.Context, k *kubectl, args []string) error {
				if len(args) == 0 || args[0] != "status" {
					return usagef("the only subcommand is: rollout status TYPE/NAME")
				}
				list, err := k.targets(ctx, args[1:], false)
				if err != nil {
					return err
				}
				if len(list) != 1 || list[0].name == "" {
					return usagef("say which one: rollout status TYPE/NAME")
				}
				if timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeoutCause(ctx, timeout, errors.New("timed out waiting for the rollout"))
					defer cancel()
				}
				t := &list[0]
				switch {
				case t.GVR.Group == "apps" && t.GVR.Resource == "deployments":
					err = rollout(ctx, k, t, watch, deploymentProgress)
				case t.GVR.Group == "apps" && t.GVR.Resource == "daemonsets":
					err = rollout(ctx, k, t, watch, daemonSetProgress)
				case t.GVR.Group == "apps" && t.GVR.Resource == "statefulsets":
					err = rollout(ctx, k, t, watch, statefulSetProgress)
				default:
					return fmt.Errorf("no status viewer has been implemented for %s", t.GVK.Kind)
				}
				if cause := context.Cause(ctx); cause != nil && err != nil {
					return cause
				}
				return err
			}
		},
	}
}

// rollout prints the progress of one object whenever it changes, until it is done.
func rollout[T metav1.Object](ctx context.Context, k *kubectl, t *target, watch bool, progress func(T) (string, bool, error)) error {
	api := client.For[T](k.conn)
	list, err := api.List(ctx, client.ListOptions{Namespace: t.namespace, FieldSelector: fields.OneEqual("metadata.name", t.name)})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		_, err := k.conn.Do(ctx, t.request("GET", "")) // for the server's error
		return err
	}
	last := ""
	see := func(obj T) (bool, error) {
		text, done, err := progress(obj)
		if err == nil && text != last {
			fmt.Fprintln(k.out, text)
			last = text
		}
		return done, err
	}
	if done, err := see(list.Items[0]); err != nil || done || !watch {
		return err
	}
	o := client.WatchOptions{Namespace: t.namespace, FieldSelector: fields.OneEqual("metadata.name", t.name), ResourceVersion: list.ResourceVersion}
	for e, err := range api.Watch(ctx, o) {
		if err != nil {
			return err
		}
		if e.Type == client.Deleted {
			return errors.New("object has been deleted")
		}
		if done, err := see(e.Object); err != nil || done {
			return err
		}
	}
	return context.Cause(ctx)
}

func deploymentProgress(d *appsv1.Deployment) (string, bool, error) {
	s, want := d.Status, int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	if d.Generation > s.ObservedGeneration {
		return "Waiting for deployment spec update to be observed...", false, nil
	}
	if i := slices.IndexFunc(s.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == appsv1.DeploymentProgressing }); i >= 0 && s.Conditions[i].Reason == "ProgressDeadlineExceeded" {
		return "", false, fmt.Errorf("deployment %q exceeded its progress deadline", d.Name)
	}
	switch {
	case s.UpdatedReplicas < want:
		return fmt.Sprintf("Waiting for deployment %q rollout to finish: %d out of %d new replicas have been updated...", d.Name, s.UpdatedReplicas, want), false, nil
	case s.Replicas > s.UpdatedReplicas:
		return fmt.Sprintf("Waiting for deployment %q rollout to finish: %d old replicas are pending termination...", d.Name, s.Replicas-s.UpdatedReplicas), false, nil
	case s.AvailableReplicas < s.UpdatedReplicas:
		return fmt.Sprintf("Waiting for deployment %q rollout to finish: %d of %d updated replicas are available...", d.Name, s.AvailableReplicas, s.UpdatedReplicas), false, nil
	}
	return fmt.Sprintf("deployment %q successfully rolled out", d.Name), true, nil
}

func daemonSetProgress(d *appsv1.DaemonSet) (string, bool, error) {
	s := d.Status
	if d.Spec.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType {
		return "", true, fmt.Errorf("rollout status is only available for %s strategy type", appsv1.RollingUpdateDaemonSetStrategyType)
	}
	switch {
	case d.Generation > s.ObservedGeneration:
		return "Waiting for daemon set spec update to be observed...", false, nil
	case s.UpdatedNumberScheduled < s.DesiredNumberScheduled:
		return fmt.Sprintf("Waiting for daemon set %q rollout to finish: %d out of %d new pods have been updated...", d.Name, s.UpdatedNumberScheduled, s.DesiredNumberScheduled), false, nil
	case s.NumberAvailable < s.DesiredNumberScheduled:
		return fmt.Sprintf("Waiting for daemon set %q rollout to finish: %d of %d updated pods are available...", d.Name, s.NumberAvailable, s.DesiredNumberScheduled), false, nil
	}
	return fmt.Sprintf("daemon set %q successfully rolled out", d.Name), true, nil
}

func statefulSetProgress(d *appsv1.StatefulSet) (string, bool, error) {
	s, want := d.Status, int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	u := d.Spec.UpdateStrategy
	if u.Type != appsv1.RollingUpdateStatefulSetStrategyType {
		return "", true, fmt.Errorf("rollout status is only available for %s strategy type", appsv1.RollingUpdateStatefulSetStrategyType)
	}
	switch {
	case s.ObservedGeneration == 0 || d.Generation > s.ObservedGeneration:
		return "Waiting for statefulset spec update to be observed...", false, nil
	case s.ReadyReplicas < want:
		return fmt.Sprintf("Waiting for %d pods to be ready...", want-s.ReadyReplicas), false, nil
	}
	if r := u.RollingUpdate; r != nil && r.Partition != nil && *r.Partition > 0 {
		if s.UpdatedReplicas < want-*r.Partition {
			return fmt.Sprintf("Waiting for partitioned roll out to finish: %d out of %d new pods have been updated...", s.UpdatedReplicas, want-*r.Partition), false, nil
		}
		return fmt.Sprintf("partitioned roll out complete: %d new pods have been updated...", s.UpdatedReplicas), true, nil
	}
	if s.UpdateRevision != s.CurrentRevision {
		return fmt.Sprintf("waiting for statefulset rolling update to complete %d pods at revision %s...", s.UpdatedReplicas, s.UpdateRevision), false, nil
	}
	return fmt.Sprintf("statefulset rolling update complete %d pods at revision %s...", s.CurrentReplicas, s.CurrentRevision), true, nil
}

func apiResourcesCommand() command {
	return command{
		name: "api-resources", usage: "[flags]", short: "list the resources the server has",
		long: "List the resources the server has, built in or custom, with the short names they go by.",
		flags: func(f *pflag.FlagSet) func(context.Context, *kubectl, []string) error {
			var noHeaders bool
			f.BoolVar(&noHeaders, "no-headers", false, "no heading line")
			return func(ctx context.Context, k *kubectl, args []string) error {
				if len(args) > 0 {
					return usagef("unexpected argument %q", args[0])
				}
				catalog, err := k.find.Catalog(ctx)
				if err != nil {
					return err
				}
				var rows [][]string
				if !noHeaders {
					rows = append(rows, []string{"NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"})
				}
				for _, r := range catalog.Preferred() {
					rows = append(rows, []string{r.GVR.Resource, strings.Join(r.ShortNames, ","), r.GVR.GroupVersion().String(), fmt.Sprint(r.Namespaced), r.GVK.Kind})
				}
				columns(k.out, rows, "", 3)
				return nil
			}
		},
	}
}

func versionCommand() command {
	return command{
		name: "version", usage: "", short: "the server's version", long: "Print the version of the server.",
		flags: func(*pflag.FlagSet) func(context.Context, *kubectl, []string) error {
			return func(ctx context.Context, k *kubectl, args []string) error {
				if len(args) > 0 {
					return usagef("unexpected argument %q", args[0])
				}
				v, err := k.find.Version(ctx)
				if err != nil {
					return err
				}
				fmt.Fprintln(k.out, "Server Version:", v.GitVersion)
				return nil
			}
		},
	}
}
