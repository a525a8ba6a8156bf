package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/client"
)

func describeCommand() command {
	return command{
		name: "describe", usage: "(TYPE [NAME...] | TYPE/NAME...) [flags]", short: "show objects in detail, with their events",
		long: "Show objects in detail, field by field, with the events about them.",
		flags: func(f *pflag.FlagSet) func(context.Context, *kubectl, []string) error {
			g := &getFlags{chunk: 500}
			showEvents := true
			f.BoolVarP(&g.allNamespaces, "all-namespaces", "A", false, "the objects of all namespaces")
			f.StringVarP(&g.selector, "selector", "l", "", "label selector")
			f.BoolVar(&showEvents, "show-events", true, "the events about each object")
			return func(ctx context.Context, k *kubectl, args []string) error {
				list, err := k.targets(ctx, args, g.allNamespaces)
				if err != nil {
					return err
				}
				n := 0
				var failed []error
				for i := range list {
					err := g.each(ctx, k, &list[i], func(obj map[string]any) {
						if n++; n > 1 {
							fmt.Fprint(k.out, "\n\n")
						}
						describe(k.out, obj)
						if !showEvents {
							return
						}
						if err := k.events(ctx, obj); err != nil {
							failed = append(failed, err)
						}
					})
					if err != nil {
						failed = append(failed, err)
					}
				}
				if n == 0 && len(failed) == 0 {
					fmt.Fprintln(k.err, "No resources found")
				}
				return errors.Join(failed...)
			}
		},
	}
}

// describe writes an object field by field: what identifies it first, then the rest by name.
func describe(w io.Writer, obj map[string]any) {
	meta, _ := obj["metadata"].(map[string]any)
	str := func(v any) string {
		if v == nil || v == "" {
			return "<none>"
		}
		return fmt.Sprint(v)
	}
	fmt.Fprintf(w, "Name:         %s\n", str(meta["name"]))
	if ns := meta["namespace"]; ns != nil {
		fmt.Fprintf(w, "Namespace:    %s\n", ns)
	}
	pairs(w, "Labels:       ", meta["labels"])
	pairs(w, "Annotations:  ", meta["annotations"])
	fmt.Fprintf(w, "API Version:  %s\nKind:         %s\n", str(obj["apiVersion"]), str(obj["kind"]))
	rest := map[string]any{}
	for k, v := range meta {
		if !slices.Contains([]string{"name", "namespace", "labels", "annotations", "managedFields"}, k) {
			rest[k] = v
		}
	}
	fmt.Fprintln(w, "Metadata:")
	describeMap(w, rest, "  ")
	others := map[string]any{}
	for k, v := range obj {
		if k != "metadata" && k != "apiVersion" && k != "kind" {
			others[k] = v
		}
	}
	describeMap(w, others, "")
}

func pairs(w io.Writer, head string, v any) {
	m, _ := v.(map[string]any)
	if len(m) == 0 {
		fmt.Fprintln(w, head+"<none>")
		return
	}
	separator := "="
	if strings.HasPrefix(head, "Annotations") {
		separator = ": "
	}
	for _, k := range keys(m) {
		fmt.Fprintf(w, "%s%s%s%v\n", head, k, separator, m[k])
		head = strings.Repeat(" ", len(head))
	}
}

func keys(m map[string]any) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// describeMap writes members: scalars aligned, structures indented.
func describeMap(w io.Writer, m map[string]any, indent string) {
	width := 0
	for k, v := range m {
		if scalar(v) {
			width = max(width, len(title(k))+1)
		}
	}
	for _, k := range keys(m) {
		switch v := m[k].(type) {
		case map[string]any:
			fmt.Fprintf(w, "%s%s:\n", indent, title(k))
			describeMap(w, v, indent+"  ")
		case []any:
			fmt.Fprintf(w, "%s%s:\n", indent, title(k))
			describeList(w, v, indent+"  ")
		default:
			text := "<none>"
			if v != nil {
				text = strings.ReplaceAll(fmt.Sprint(v), "\n", "\n"+indent+"  ")
			}
			fmt.Fprintf(w, "%s%-*s  %s\n", indent, width, title(k)+":", text)
		}
	}
}

func describeList(w io.Writer, list []any, indent string) {
	for i, v := range list {
		switch v := v.(type) {
		case map[string]any:
			if i > 0 && len(v) > 3 {
				fmt.Fprintln(w)
			}
			describeMap(w, v, indent)
		case []any:
			describeList(w, v, indent+"  ")
		default:
			fmt.Fprintf(w, "%s%v\n", indent, v)
		}
	}
}

func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// title splits the name of a field into words: creationTimestamp becomes Creation Timestamp. Keys of maps
// stay unchanged.
func title(name string) string {
	if strings.ContainsAny(name, "./-_ ") {
		return name
	}
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case i == 0:
			r = unicode.ToUpper(r)
		case unicode.IsUpper(r) && !unicode.IsUpper(runes[i-1]):
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// events prints the events of an object, oldest first.
func (k *kubectl) events(ctx context.Context, obj map[string]any) error {
	raw, err := codec.Marshal(obj["metadata"])
	if err != nil {
		return err
	}
	var meta struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		UID       string `json:"uid"`
	}
	if err := codec.Unmarshal(raw, &meta); err != nil {
		return err
	}
	o := client.ListOptions{Namespace: meta.Namespace, FieldSelector: fields.And(fields.OneEqual("involvedObject.name", meta.Name), fields.OneEqual("involvedObject.uid", meta.UID))}
	var list []*corev1.Event
	for e, err := range client.For[*corev1.Event](k.conn).All(ctx, o) {
		if err != nil {
			return err
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		fmt.Fprintln(k.out, "Events:  <none>")
		return nil
	}
	slices.SortStableFunc(list, func(a, b *corev1.Event) int { return cmp.Compare(lastSeen(a).Unix(), lastSeen(b).Unix()) })
	rows := [][]string{{"Type", "Reason", "Age", "From", "Message"}, {"----", "------", "----", "----", "-------"}}
	for _, e := range list {
		from := cmp.Or(e.Source.Component, e.ReportingController, "<unknown>")
		at := age(lastSeen(e))
		if e.Count > 1 {
			at = fmt.Sprintf("%s (x%d)", at, e.Count)
		}
		rows = append(rows, []string{e.Type, e.Reason, at, from, strings.TrimSpace(e.Message)})
	}
	fmt.Fprintln(k.out, "Events:")
	columns(k.out, rows, "  ", 2)
	return nil
}
