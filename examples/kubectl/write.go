package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/client/wait"
)

func applyCommand() command {
	return command{
		name: "apply", usage: "-f FILE [flags]", short: "make objects as a file says (server-side)",
		long: "Create or change objects so that they are as files say. The server merges (server-side apply): fields the files do not\n" +
			"name are left alone, and fields they named before and no longer name are removed.",
		flags: func(f *pflag.FlagSet) func(context.Context, *kubectl, []string) error {
			var files []string
			var recursive, force, serverSide bool
			var manager, dryRun, validate string
			f.StringSliceVarP(&files, "filename", "f", nil, "files, folders or - for the standard input")
			f.BoolVarP(&recursive, "recursive", "R", false, "folders with all below them")
			f.BoolVar(&serverSide, "server-side", true, "the server merges; there is no other way here")
			f.BoolVar(&force, "force-conflicts", false, "take over fields of other managers")
			f.StringVar(&manager, "field-manager", "kubectl", "name of the manager of the fields")
			f.StringVar(&dryRun, "dry-run", "none", "none, or server: nothing is stored")
			f.StringVar(&validate, "validate", "strict", "unknown fields are errors (strict), warnings (warn) or nothing (ignore)")
			return func(ctx context.Context, k *kubectl, args []string) error {
				level, known := map[string]string{"strict": "Strict", "true": "Strict", "warn": "Warn", "ignore": "Ignore", "false": "Ignore"}[validate]
				switch {
				case len(args) > 0:
					return usagef("unexpected argument %q", args[0])
				case len(files) == 0:
					return usagef("must specify -f")
				case !serverSide:
					return usagef("only --server-side is supported")
				case dryRun != "none" && dryRun != "server":
					return usagef("--dry-run must be none or server")
				case !known:
					return usagef("--validate must be strict, warn or ignore")
				}
				docs, err := k.documents(ctx, files, recursive)
				if err != nil {
					return err
				}
				var failed []error
				for i := range docs {
					d := &docs[i]
					r := d.request("PATCH", "")
					r.ContentType, r.Body = string(types.ApplyYAMLPatchType), d.body
					r.Query = url.Values{"fieldManager": {manager}, "fieldValidation": {level}}
					if force {
						r.Query.Set("force", "true")
					}
					suffix := ""
					if dryRun == "server" {
						r.Query.Set("dryRun", "All")
						suffix = " (server dry run)"
					}
					if _, err := k.conn.Do(ctx, r); err != nil {
						failed = append(failed, err)
						continue
					}
					fmt.Fprintf(k.out, "%s serverside-applied%s\n", d.target.String(), suffix)
				}
				return errors.Join(failed...)
			}
		},
	}
}

type deleteFlags struct {
	files                                                  []string
	recursive, all, allNamespaces, ignoreNotFound          bool
	wait, force, now                                       bool
	selector, fieldSelector, cascade, dryRun, outputFormat string
	grace                                                  int64
	timeout                                                time.Duration
}

func deleteCommand() command {
	return command{
		name: "delete", usage: "(-f FILE | TYPE (NAME... | -l SELECTOR | --all) | TYPE/NAME...) [flags]", short: "delete objects",
		long: "Delete objects by file, by name, by selector or all of a type, and wait until they are gone.",
		flags: func(f *pflag.FlagSet) func(context.Context, *kubectl, []string) error {
			d := &deleteFlags{}
			f.StringSliceVarP(&d.files, "filename", "f", nil, "files, folders or - for the standard input, that name the objects")
			f.BoolVarP(&d.recursive, "recursive", "R", false, "folders with all below them")
			f.BoolVar(&d.all, "all", false, "all objects of the type in the namespace")
			f.BoolVarP(&d.allNamespaces, "all-namespaces", "A", false, "the objects of all namespaces")
			f.StringVarP(&d.selector, "selector", "l", "", "label selector")
			f.StringVar(&d.fieldSelector, "field-selector", "", "field selector")
			f.BoolVar(&d.ignoreNotFound, "ignore-not-found", false, "succeed if an object does not exist")
			f.BoolVar(&d.wait, "wait", true, "wait until the objects are deleted")
			f.DurationVar(&d.timeout, "timeout", 0, "how long to wait; 0 means forever")
			f.Int64Var(&d.grace, "grace-period", -1, "seconds before the object is removed; -1 means the object's own")
			f.BoolVar(&d.now, "now", false, "the same as --grace-period=1")
			f.BoolVar(&d.force, "force", false, "with --grace-period=0: remove immediately, without waiting for the node")
			f.StringVar(&d.cascade, "cascade", "background", "background, foreground or orphan: what happens to dependents")
			f.StringVar(&d.dryRun, "dry-run", "none", "none, or server: nothing is deleted")
			f.StringVarP(&d.outputFormat, "output", "o", "", "name: print names only")
			return d.run
		},
	}
}

// body is the DeleteOptions of the flags.
func (d *deleteFlags) body() ([]byte, error) {
	o := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}}
	policies := map[string]metav1.DeletionPropagation{"background": metav1.DeletePropagationBackground, "true": metav1.DeletePropagationBackground,
		"foreground": metav1.DeletePropagationForeground, "orphan": metav1.DeletePropagationOrphan, "false": metav1.DeletePropagationOrphan}
	policy, ok := policies[d.cascade]
	switch {
	case !ok:
		return nil, usagef("--cascade must be background, foreground or orphan")
	case d.dryRun != "none" && d.dryRun != "server":
		return nil, usagef("--dry-run must be none or server")
	case d.outputFormat != "" && d.outputFormat != "name":
		return nil, usagef("-o knows name only")
	case d.now && d.grace != -1:
		return nil, usagef("--now and --grace-period exclude each other")
	case d.grace < -1:
		return nil, usagef("--grace-period must not be below -1")
	}
	o.PropagationPolicy = &policy
	switch {
	case d.now:
		d.grace = 1
	case d.force && d.grace == -1:
		d.grace = 0
	case d.grace == 0 && !d.force:
		d.grace = 1 // without --force a pod is removed only after its node has confirmed
	}
	if d.grace >= 0 {
		o.GracePeriodSeconds = &d.grace
	}
	if d.dryRun == "server" {
		o.DryRun = []string{metav1.DryRunAll}
	}
	return codec.Marshal(&o)
}

func (d *deleteFlags) run(ctx context.Context, k *kubectl, args []string) error {
	body, err := d.body()
	if err != nil {
		return err
	}
	list, err := d.selected(ctx, k, args)
	if err != nil {
		return err
	}
	type gone struct {
		target
		uid types.UID
	}
	var waiting []gone
	var failed []error
	for _, t := range list {
		r := t.request("DELETE", "")
		r.Body, r.ContentType = body, "application/json"
		resp, err := k.conn.Do(ctx, r)
		if err != nil {
			if !d.ignoreNotFound || !apierrors.IsNotFound(err) {
				failed = append(failed, err)
			}
			continue
		}
		how := "deleted"
		switch {
		case d.force && d.grace == 0:
			how = "force deleted"
		case d.dryRun == "server":
			how = "deleted (server dry run)"
		}
		if d.outputFormat == "name" {
			fmt.Fprintln(k.out, t.String())
		} else if t.namespace != "" {
			fmt.Fprintf(k.out, "%s %q %s from %s namespace\n", t.label(), t.name, how, t.namespace)
		} else {
			fmt.Fprintf(k.out, "%s %q %s\n", t.label(), t.name, how)
		}
		waiting = append(waiting, gone{t, uidOf(resp.Body)})
	}
	if d.wait && d.dryRun == "none" {
		if d.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, d.timeout, errors.New("timed out waiting for the objects to go"))
			defer cancel()
		}
		for i := range waiting {
			if err := k.waitGone(ctx, &waiting[i].target, waiting[i].uid); err != nil {
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(failed...)
}

// selected resolves the flags and arguments to objects with names.
func (d *deleteFlags) selected(ctx context.Context, k *kubectl, args []string) ([]target, error) {
	if len(d.files) > 0 {
		if len(args) > 0 {
			return nil, usagef("-f and arguments exclude each other")
		}
		docs, err := k.documents(ctx, d.files, d.recursive)
		var list []target
		for _, doc := range docs {
			list = append(list, doc.target)
		}
		return list, err
	}
	list, err := k.targets(ctx, args, d.allNamespaces)
	if err != nil {
		return nil, err
	}
	bySelector := d.all || d.selector != "" || d.fieldSelector != ""
	var out []target
	for _, t := range list {
		switch {
		case t.name != "" && bySelector:
			return nil, usagef("a name and a selector exclude each other")
		case t.name != "":
			out = append(out, t)
			continue
		case !bySelector:
			return nil, usagef("resource(s) were provided, but no name, label selector, or --all flag specified")
		}
		g := getFlags{selector: d.selector, fieldSelector: d.fieldSelector, chunk: 500}
		err := g.each(ctx, k, &t, func(obj map[string]any) {
			meta, _ := obj["metadata"].(map[string]any)
			one := t
			one.name, _ = meta["name"].(string)
			one.namespace, _ = meta["namespace"].(string)
			out = append(out, one)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		fmt.Fprintln(k.err, "No resources found")
	}
	return out, nil
}

// uidOf finds the uid of a deleted object in the answer, which is the object or a Status.
func uidOf(body []byte) types.UID {
	var answer struct {
		Metadata struct{ UID types.UID }
		Details  struct{ UID types.UID }
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	if answer.Metadata.UID != "" {
		return answer.Metadata.UID
	}
	return answer.Details.UID
}

// waitGone waits until the object does not exist, or another one has its name.
func (k *kubectl) waitGone(ctx context.Context, t *target, uid types.UID) error {
	objects := dynamic.Metadata(k.conn, t.GVR)
	check := wait.Deleted
	if uid != "" {
		check = wait.DeletedUID(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid}})
	}
	_, err := wait.For(ctx, objects, types.NamespacedName{Namespace: t.namespace, Name: t.name}, check)
	return err
}

func scaleCommand() command {
	return command{
		name: "scale", usage: "(TYPE NAME | TYPE/NAME...) --replicas=N [flags]", short: "set the number of replicas",
		long: "Set the number of replicas of anything that has a scale: deployments, replica sets, stateful sets, custom resources.",
		flags: func(f *pflag.FlagSet) func(context.Context, *kubectl, []string) error {
			var replicas, current int32
			var version string
			f.Int32Var(&replicas, "replicas", -1, "number of replicas; required")
			f.Int32Var(&current, "current-replicas", -1, "only if this is the current number")
			f.StringVar(&version, "resource-version", "", "only if the object has that version")
			return func(ctx context.Context, k *kubectl, args []string) error {
				if replicas < 0 {
					return usagef("--replicas=N is required, and N must not be negative")
				}
				list, err := k.targets(ctx, args, false)
				if err != nil {
					return err
				}
				var failed []error
				for i := range list {
					t := &list[i]
					if t.name == "" {
						return usagef("say which %s: TYPE/NAME", t.label())
					}
					if err := k.scale(ctx, t, replicas, current, version); err != nil {
						failed = append(failed, err)
						continue
					}
					fmt.Fprintf(k.out, "%s scaled\n", t)
				}
				return errors.Join(failed...)
			}
		},
	}
}

// scale sets the replicas; without preconditions it ignores concurrent changes.
func (k *kubectl) scale(ctx context.Context, t *target, replicas, current int32, version string) error {
	scales := dynamic.Scale(k.conn, t.GVR)
	key := types.NamespacedName{Namespace: t.namespace, Name: t.name}
	for {
		var s *autoscalingv1.Scale
		s, err := scales.Get(ctx, key)
		switch {
		case err != nil:
			return err
		case current >= 0 && s.Spec.Replicas != current:
			return fmt.Errorf("expected replicas to be %d, was %d", current, s.Spec.Replicas)
		case version != "" && s.ResourceVersion != version:
			return fmt.Errorf("expected resource version to be %s, was %s", version, s.ResourceVersion)
		}
		s.Spec.Replicas = replicas
		if _, err = scales.Update(ctx, key, s); err == nil || !apierrors.IsConflict(err) || version != "" {
			return err
		}
	}
}
