package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/jsonpath"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// output holds the flags for printing objects.
type output struct {
	format                               string
	noHeaders, showLabels, managedFields bool
	labelColumns                         []string
}

const jsonPathPrefix = "jsonpath="

func (o *output) check() error {
	switch {
	case slices.Contains([]string{"", "wide", "json", "yaml", "name"}, o.format):
		return nil
	case strings.HasPrefix(o.format, jsonPathPrefix):
		_, err := template(o.format[len(jsonPathPrefix):])
		return err
	}
	return usagef("unable to match a printer suitable for the output format %q: json, yaml, name, wide and jsonpath= are known", o.format)
}

// table reports whether tables are wanted.
func (o *output) table() bool { return o.format == "" || o.format == "wide" }

// printObjects prints items: one alone as it is, others as a List.
func (o *output) printObjects(w io.Writer, items []map[string]any, single bool, list []target) error {
	if !o.managedFields {
		for _, obj := range items {
			if meta, ok := obj["metadata"].(map[string]any); ok {
				delete(meta, "managedFields")
			}
		}
	}
	if o.format == "name" {
		for _, obj := range items {
			meta, _ := obj["metadata"].(map[string]any)
			label := fmt.Sprint(obj["kind"])
			for i := range list {
				if list[i].GVK.Kind == obj["kind"] && list[i].GVK.GroupVersion().String() == obj["apiVersion"] {
					label = list[i].label()
				}
			}
			fmt.Fprintf(w, "%s/%v\n", label, meta["name"])
		}
		return nil
	}
	var v any
	if single {
		v = items[0]
	} else {
		all := make([]any, len(items))
		for i := range items {
			all[i] = items[i]
		}
		v = map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": all}
	}
	if expr, ok := strings.CutPrefix(o.format, jsonPathPrefix); ok {
		parts, err := template(expr)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, parts.render(v))
		return err
	}
	// Characters of HTML are shown as they are.
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "    ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	text := buf.Bytes()
	if o.format == "yaml" {
		var err error
		if text, err = codec.JSONToYAML(text); err != nil {
			return err
		}
		if single && len(items) == 1 && list[0].name == "" {
			text = append([]byte("---\n"), text...) // one of several documents
		}
	}
	_, err := w.Write(text)
	return err
}

// text is a jsonpath template: text around {expressions}.
type text []segment

type segment struct {
	literal string
	path    *jsonpath.Path
}

func template(s string) (text, error) {
	var out text
	for s != "" {
		before, rest, found := strings.Cut(s, "{")
		if before != "" {
			out = append(out, segment{literal: before})
		}
		if !found {
			break
		}
		expr, after, ok := strings.Cut(rest, "}")
		if !ok {
			return nil, usagef("jsonpath %q: a brace is not closed", s)
		}
		if quoted, err := strconv.Unquote(expr); err == nil {
			out = append(out, segment{literal: quoted})
		} else {
			p, err := jsonpath.Parse(strings.TrimPrefix(expr, "$"))
			if err != nil {
				return nil, usageError{err}
			}
			out = append(out, segment{path: p})
		}
		s = after
	}
	return out, nil
}

func (t text) render(v any) string {
	var b strings.Builder
	for _, s := range t {
		if s.path == nil {
			b.WriteString(s.literal)
			continue
		}
		for i, found := range s.path.Find(v) {
			if i > 0 {
				b.WriteByte(' ')
			}
			if str, ok := found.(string); ok {
				b.WriteString(str)
			} else {
				raw, _ := json.Marshal(found)
				b.Write(raw)
			}
		}
	}
	return b.String()
}

// printer prints tables one below the other; the widths of the first lines are kept for what follows in a
// watch.
type printer struct {
	*output
	w                     io.Writer
	withNamespace, prefix bool
	last                  string // resource of the table before
	widths                []int
}

func (o *output) printer(w io.Writer, withNamespace, prefix bool) *printer {
	return &printer{output: o, w: w, withNamespace: withNamespace, prefix: prefix}
}

func (p *printer) print(t *target, table *metav1.Table) error {
	again := p.last == t.GVR.String()
	if p.last != "" && !again {
		fmt.Fprintln(p.w)
		p.widths = nil
	}
	p.last = t.GVR.String()
	var lines [][]string
	var shown []int
	var head []string
	namespaced := p.withNamespace && t.Namespaced
	if namespaced {
		head = append(head, "NAMESPACE")
	}
	for i, c := range table.ColumnDefinitions {
		if c.Priority > 0 && p.format != "wide" {
			continue
		}
		shown = append(shown, i)
		head = append(head, strings.ToUpper(c.Name))
	}
	for _, l := range p.labelColumns {
		head = append(head, strings.ToUpper(l[strings.LastIndex(l, "/")+1:]))
	}
	if p.showLabels {
		head = append(head, "LABELS")
	}
	if !p.noHeaders && !again && len(table.ColumnDefinitions) > 0 {
		lines = append(lines, head)
	}
	for _, row := range table.Rows {
		m := &metav1.PartialObjectMetadata{}
		if len(row.Object.Raw) > 0 {
			if err := codec.Unmarshal(row.Object.Raw, m); err != nil {
				return err
			}
		}
		var line []string
		if namespaced {
			line = append(line, m.Namespace)
		}
		for n, i := range shown {
			cell := "<none>"
			if i < len(row.Cells) && row.Cells[i] != nil {
				cell = fmt.Sprint(row.Cells[i])
			}
			if n == 0 && p.prefix {
				cell = t.label() + "/" + cell
			}
			line = append(line, strings.ReplaceAll(cell, "\n", `\n`))
		}
		for _, l := range p.labelColumns {
			line = append(line, m.Labels[l])
		}
		if p.showLabels {
			line = append(line, labelText(m.Labels))
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		for i, cell := range line {
			if i == len(p.widths) {
				p.widths = append(p.widths, 0)
			}
			p.widths[i] = max(p.widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		for i, cell := range line {
			b.WriteString(cell)
			if i < len(line)-1 {
				b.WriteString(strings.Repeat(" ", p.widths[i]-len([]rune(cell))+3))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

func labelText(labels map[string]string) string {
	if len(labels) == 0 {
		return "<none>"
	}
	var out []string
	for k, v := range labels {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// age is the time since t, shortened to its two largest parts.
func age(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	d := time.Since(t.Time)
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 10*time.Minute:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 3*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
