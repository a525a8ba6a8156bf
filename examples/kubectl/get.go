package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// asTable prefers tables and accepts plain JSON.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

type getFlags struct {
	output
	allNamespaces, watch, watchOnly, ignoreNotFound bool
	selector, fieldSelector                         string
	files                                           []string
	recursive                                       bool
	chunk                                           int64
}

func getCommand() command {
	return command{
		name: "get", usage: "(TYPE[,TYPE...] [NAME...] | TYPE/NAME... | -f FILE) [flags]", short: "show one or many resources",
		long: "Show one or many resources: as a table that the server makes, or as JSON, YAML, names or values.",
		flags: func(f *pflag.FlagSet) func(context.Context, *kubectl, []string) error {
			g := &getFlags{}
			f.BoolVarP(&g.allNamespaces, "all-namespaces", "A", false, "the objects of all namespaces")
			f.StringVarP(&g.format, "output", "o", "", "json, yaml, name, wide or jsonpath={expression}")
			f.BoolVarP(&g.watch, "watch", "w", false, "after that, show changes as they come")
			f.BoolVar(&g.watchOnly, "watch-only", false, "show changes only")
			f.StringVarP(&g.selector, "selector", "l", "", "label selector, such as app=web,tier!=cache")
			f.StringVar(&g.fieldSelector, "field-selector", "", "field selector, such as status.phase=Running")
			f.BoolVar(&g.noHeaders, "no-headers", false, "no heading line")
			f.BoolVar(&g.showLabels, "show-labels", false, "labels in the last column")
			f.StringSliceVarP(&g.labelColumns, "label-columns", "L", nil, "labels that get a column")
			f.BoolVar(&g.managedFields, "show-managed-fields", false, "keep metadata.managedFields in JSON and YAML")
			f.BoolVar(&g.ignoreNotFound, "ignore-not-found", false, "succeed if an object does not exist")
			f.StringSliceVarP(&g.files, "filename", "f", nil, "files that name the objects")
			f.BoolVarP(&g.recursive, "recursive", "R", false, "folders of -f with all below them")
			f.Int64Var(&g.chunk, "chunk-size", 500, "how many objects to read at a time; 0 reads all at once")
			return g.run
		},
	}
}

func (g *getFlags) run(ctx context.Context, k *kubectl, args []string) error {
	if err := g.check(); err != nil {
		return err
	}
	var list []target
	if len(g.files) > 0 {
		if len(args) > 0 {
			return usagef("-f and arguments exclude each other")
		}
		docs, err := k.documents(ctx, g.files, g.recursive)
		if err != nil {
			return err
		}
		for _, d := range docs {
			list = append(list, d.target)
		}
	} else {
		var err error
		if list, err = k.targets(ctx, args, g.allNamespaces); err != nil {
			return err
		}
	}
	if (g.selector != "" || g.fieldSelector != "") && list[0].name != "" {
		return usagef("a name and a selector exclude each other")
	}
	if g.watch || g.watchOnly {
		if len(list) != 1 {
			return usagef("--watch shows one type, or one object")
		}
		return g.follow(ctx, k, &list[0])
	}
	if g.table() {
		return g.tables(ctx, k, list)
	}
	return g.objects(ctx, k, list)
}

func (g *getFlags) query() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"labelSelector": g.selector, "fieldSelector": g.fieldSelector} {
		if v != "" {
			q.Set(name, v)
		}
	}
	return q
}

// tables prints one table for each resource.
func (g *getFlags) tables(ctx context.Context, k *kubectl, list []target) error {
	p := g.printer(k.out, g.allNamespaces, kinds(list) > 1)
	var failed []error
	rows := 0
	for len(list) > 0 {
		// Objects of one resource, one after the other, share a table.
		n := 1
		for n < len(list) && list[n].GVR == list[0].GVR {
			n++
		}
		var all *metav1.Table
		for i := range list[:n] {
			t, err := g.table1(ctx, k, &list[i])
			if err != nil {
				if !g.ignoreNotFound || !apierrors.IsNotFound(err) {
					failed = append(failed, err)
				}
				continue
			}
			if all == nil {
				all = t
			} else {
				all.Rows = append(all.Rows, t.Rows...)
			}
		}
		if all != nil && len(all.Rows) > 0 {
			rows += len(all.Rows)
			if err := p.print(&list[0], all); err != nil {
				return err
			}
		}
		list = list[n:]
	}
	if rows == 0 && len(failed) == 0 && !g.ignoreNotFound {
		where := " in " + k.namespace + " namespace"
		if g.allNamespaces {
			where = ""
		}
		_, _ = io.WriteString(k.err, "No resources found"+where+"\n")
	}
	return errors.Join(failed...)
}

func kinds(list []target) int {
	seen := map[string]bool{}
	for _, t := range list {
		seen[t.GVR.String()] = true
	}
	return len(seen)
}

// table1 reads the table of one target, page by page.
func (g *getFlags) table1(ctx context.Context, k *kubectl, t *target) (*metav1.Table, error) {
	r := t.request("GET", "")
	r.Accept = asTable
	if t.name == "" {
		r.Query = g.query()
		if g.chunk > 0 {
			r.Query.Set("limit", itoa(g.chunk))
		}
	}
	var all *metav1.Table
	for {
		resp, err := k.conn.Do(ctx, r)
		if err != nil {
			return nil, err
		}
		page, err := toTable(resp.Body)
		if err != nil {
			return nil, err
		}
		next := page.Continue
		if all == nil {
			all = page
		} else {
			all.Rows = append(all.Rows, page.Rows...)
		}
		if next == "" {
			return all, nil
		}
		r.Query.Set("continue", next)
	}
}

// toTable reads a table. A server without tables sends objects, which get a table of their names.
func toTable(body []byte) (*metav1.Table, error) {
	t := &metav1.Table{}
	var head struct {
		Kind     string          `json:"kind"`
		Metadata metav1.ListMeta `json:"metadata"`
		Items    []json.RawMessage
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return nil, err
	}
	if head.Kind == "Table" {
		return t, codec.Unmarshal(body, t)
	}
	items := head.Items
	if items == nil && !strings.HasSuffix(head.Kind, "List") {
		items = []json.RawMessage{body}
	}
	t.ListMeta = head.Metadata
	t.ColumnDefinitions = []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}, {Name: "Age", Type: "date"}}
	for _, raw := range items {
		m := &metav1.PartialObjectMetadata{}
		if err := codec.Unmarshal(raw, m); err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, metav1.TableRow{Cells: []any{m.Name, age(m.CreationTimestamp)}, Object: metav1.RawExtension{Raw: raw}})
	}
	return t, nil
}

// objects prints everything as JSON, YAML, names or values: one object as it is, more as a List.
func (g *getFlags) objects(ctx context.Context, k *kubectl, list []target) error {
	var items []map[string]any
	var failed []error
	single := len(list) == 1 && list[0].name != ""
	for i := range list {
		t := &list[i]
		if err := g.each(ctx, k, t, func(obj map[string]any) { items = append(items, obj) }); err != nil {
			if !g.ignoreNotFound || !apierrors.IsNotFound(err) {
				failed = append(failed, err)
			}
		}
	}
	if len(failed) == 0 || len(items) > 0 {
		if single && len(items) == 0 {
			return nil // --ignore-not-found
		}
		if err := g.printObjects(k.out, items, single, list); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// each calls f with every object of a target.
func (g *getFlags) each(ctx context.Context, k *kubectl, t *target, f func(map[string]any)) error {
	r := t.request("GET", "")
	if t.name == "" {
		r.Query = g.query()
		if g.chunk > 0 {
			r.Query.Set("limit", itoa(g.chunk))
		}
	}
	for {
		resp, err := k.conn.Do(ctx, r)
		if err != nil {
			return err
		}
		obj := map[string]any{}
		if err := codec.Unmarshal(resp.Body, &obj); err != nil {
			return err
		}
		if t.name != "" {
			f(obj)
			return nil
		}
		items, _ := obj["items"].([]any)
		for _, item := range items {
			if m, ok := item.(map[string]any); ok {
				m["apiVersion"], m["kind"] = t.GVK.GroupVersion().String(), t.GVK.Kind
				f(m)
			}
		}
		meta, _ := obj["metadata"].(map[string]any)
		next, _ := meta["continue"].(string)
		if next == "" {
			return nil
		}
		r.Query.Set("continue", next)
	}
}

// follow prints what there is, then changes, until the user or the server ends it.
func (g *getFlags) follow(ctx context.Context, k *kubectl, t *target) error {
	q := g.query()
	if t.name != "" {
		q.Set("fieldSelector", "metadata.name="+t.name)
	}
	list := *t
	list.name = ""
	r := list.request("GET", "")
	r.Query = q
	if g.table() {
		r.Accept = asTable
	}
	resp, err := k.conn.Do(ctx, r)
	if err != nil {
		return err
	}
	p := g.printer(k.out, g.allNamespaces, false)
	var head struct {
		Metadata metav1.ListMeta `json:"metadata"`
	}
	if err := json.Unmarshal(resp.Body, &head); err != nil {
		return err
	}
	show := func(body []byte) error { return g.show(k, p, t, body) }
	if !g.watchOnly {
		if err := show(resp.Body); err != nil {
			return err
		}
	}
	q.Set("watch", "true")
	q.Set("resourceVersion", head.Metadata.ResourceVersion)
	s, err := k.conn.Stream(ctx, &client.Request{Resource: list.GVR, Namespace: list.namespace, Query: q, Accept: r.Accept})
	if err != nil {
		return err
	}
	defer s.Body.Close()
	frames := codec.NewJSONFrames(s.Body, 0)
	for {
		frame, err := frames.Next()
		if err == io.EOF || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		obj, err := changed(frame)
		if err == nil && obj != nil {
			err = show(obj)
		}
		if err != nil {
			return err
		}
	}
}

// changed returns the object of an event of a watch; nil if the event is a bookmark.
func changed(frame []byte) ([]byte, error) {
	typ, obj, err := codec.DecodeEventJSON(frame)
	switch {
	case err != nil:
		return nil, err
	case typ == "ERROR":
		status := metav1.Status{}
		if err := codec.Unmarshal(obj, &status); err != nil {
			return nil, err
		}
		return nil, &apierrors.StatusError{ErrStatus: status}
	case typ == "BOOKMARK":
		return nil, nil
	}
	return obj, nil
}

// show prints an object, a list or a table of t that the server sent.
func (g *getFlags) show(k *kubectl, p *printer, t *target, body []byte) error {
	if g.table() {
		table, err := toTable(body)
		if err != nil {
			return err
		}
		return p.print(t, table)
	}
	obj := map[string]any{}
	if err := codec.Unmarshal(body, &obj); err != nil {
		return err
	}
	items, isList := obj["items"].([]any)
	if !isList {
		items = []any{obj}
	}
	for _, item := range items {
		m := item.(map[string]any)
		m["apiVersion"], m["kind"] = t.GVK.GroupVersion().String(), t.GVK.Kind
		if err := g.printObjects(k.out, []map[string]any{m}, true, []target{*t}); err != nil {
			return err
		}
	}
	return nil
}
