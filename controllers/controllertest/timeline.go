package controllertest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Bounds of the timelines in the log of a failed test.
const (
	lastWrites    = 20
	linesOfChange = 12
)

// String returns the history as text, in the order in which things happened: each write with its time since
// the start, its revision, who made it and why, and what it changed; and each reconcile that failed.
func (h *History) String() string {
	var b strings.Builder
	if h.cut {
		b.WriteString("earlier writes are left out\n")
	}
	runs := slices.DeleteFunc(slices.Clone(h.Runs), func(r Run) bool { return r.Err == nil })
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Compare(a.until, b.until) })
	for i := range h.Writes {
		w := &h.Writes[i]
		for len(runs) > 0 && runs[0].until < w.order {
			h.failure(&b, &runs[0])
			runs = runs[1:]
		}
		h.write(&b, w)
	}
	for i := range runs {
		h.failure(&b, &runs[i])
	}
	return b.String()
}

func (h *History) write(b *strings.Builder, w *Write) {
	fmt.Fprintf(b, "%s r%d %s %s %s by %s\n", h.since(w.At), w.Revision, w.Verb, w.Resource, w.Key, h.by(w))
	if w.Verb == "delete" {
		return
	}
	lines := strings.SplitAfter(strings.TrimSuffix(h.diff(w), "\n"), "\n")
	for i, line := range lines {
		if i == linesOfChange {
			fmt.Fprintf(b, "    and %d lines more", len(lines)-i)
			break
		}
		b.WriteString("    " + line)
	}
	b.WriteString("\n")
}

func (h *History) failure(b *strings.Builder, r *Run) {
	fmt.Fprintf(b, "%s %s failed: %v\n", h.since(r.Ended), r, r.Err)
}

// since returns a time as one since the start.
func (h *History) since(at time.Time) string {
	if at.IsZero() {
		return "+?"
	}
	return "+" + at.Sub(h.Began).String()
}

// by says who made a write, and why.
func (h *History) by(w *Write) string {
	if w.Request == "" {
		if w.At.IsZero() {
			return "the store, at the end of its time to live"
		}
		return "the server"
	}
	who := w.User
	if w.Agent != "" {
		who += " (" + w.Agent + ")"
	}
	if sub := w.subresource(); sub != "" {
		who += " through " + sub
	}
	if r := h.run(w); r != nil {
		who += ", " + r.String() + r.why()
	}
	return who
}

// subresource returns what follows the name of the object in the path of the request.
func (w *Write) subresource() string {
	_, path, _ := strings.Cut(w.Request, " ")
	_, sub, ok := strings.Cut(path, "/"+w.Key.Name+"/")
	if !ok || strings.Contains(sub, "/") {
		return ""
	}
	return sub
}

// String names a reconcile: "replicaset default/web #2".
func (r *Run) String() string { return fmt.Sprintf("%s %v #%d", r.Controller, r.Key, r.Number) }

// why says what caused a reconcile.
func (r *Run) why() string {
	switch {
	case len(r.Causes) > 0:
		text := ": " + r.Causes[0].String()
		if n := len(r.Causes) - 1; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		return text
	case r.After == nil:
		return ""
	case r.After.Err != nil:
		return fmt.Sprintf(": retry of #%d", r.After.Number)
	case r.After.Result.RequeueAfter > 0:
		return fmt.Sprintf(": %s after #%d", r.After.Result.RequeueAfter, r.After.Number)
	}
	return ""
}

// String is the event as text: "Pod Updated default/web-1 r57".
func (c Cause) String() string { return fmt.Sprintf("%s %s %s r%d", c.Kind, c.Type, c.Key, c.Revision) }

// usedObject is the object that a helper function was called for last.
type usedObject struct {
	resource schema.GroupVersionResource
	key      types.NamespacedName
}

// ask notes that a helper function is called for an object.
func ask[T metav1.Object](c *Cluster, namespace, name string) {
	info, err := scheme.InfoFor[T](c.conn.Scheme())
	if err != nil {
		return // the function fails
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastUsed = usedObject{info.GVR, types.NamespacedName{Namespace: namespace, Name: name}}
}

// fail fails the test, with the timeline of the object that the test used last.
func (c *Cluster) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("%s%s%s", fmt.Sprintf(format, args...), c.unserved(), c.lastTimeline())
}

// unserved says so if the object that the test used last is of a resource that the server does not have.
func (c *cluster) unserved() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastUsed.key.Name == "" && c.lastUsed.resource.Resource == "" || c.server.Registry().Resource(c.lastUsed.resource) != nil {
		return ""
	}
	return fmt.Sprintf("; the server has no resource %s in version %s: pass its definition in Options.CRDs", c.lastUsed.resource.GroupResource(), c.lastUsed.resource.Version)
}

// lastTimeline returns the timeline of the object that the test used last, once; "" if there is nothing to
// say.
func (c *cluster) lastTimeline() string {
	c.mu.Lock()
	a := c.lastUsed
	c.lastUsed = usedObject{}
	c.mu.Unlock()
	if a.key.Name == "" {
		return ""
	}
	return c.timeline(fmt.Sprintf("%s %s", a.resource.GroupResource(), a.key), func(h *History) *History { return h.of(c.prefix(a.resource), a.key) })
}

// timeline returns the end of a part of the history as text to append to a message.
func (c *cluster) timeline(what string, part func(*History) *History) string {
	if c.store == nil || c.server == nil {
		return ""
	}
	h, err := c.history(c.context())
	if err != nil {
		return "\nhistory: " + err.Error()
	}
	text := part(h).last(lastWrites).String()
	if text == "" {
		return ""
	}
	return "\nhistory of " + what + ":\n" + text
}
