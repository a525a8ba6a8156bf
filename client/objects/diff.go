package objects

import (
	"context"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/diff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
)

// Difference is what a write would change of one object.
type Difference struct {
	// Kind of the object.
	Kind schema.GroupVersionKind
	// Before is the object on the server, nil if it would be created; After is what would be stored, nil if
	// it would be deleted.
	Before, After metav1.Object
	// Changes are the fields that differ; none if nothing would change. The data of Secrets is masked.
	Changes []diff.Change
}

// String is a line that says what would happen to the object, followed by diff.Text of the changes, indented.
// It is empty if nothing would change.
func (d *Difference) String() string {
	verb, obj := "changed", d.After
	switch {
	case d.Before == nil:
		verb = "created"
	case d.After == nil:
		verb, obj = "deleted", d.Before
	case len(d.Changes) == 0:
		return ""
	}
	key := metav1.KeyOf(obj)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s would be %s\n", d.Kind.Kind, strings.TrimPrefix(key.String(), "/"), verb)
	if d.After != nil {
		for line := range strings.Lines(diff.Text(d.Changes)) {
			b.WriteString("  " + line)
		}
	}
	return b.String()
}

// Diff returns what Apply would change of an object. The server computes it with a dry run, so defaults,
// webhooks, conflicts and validation count.
func (c *Client) Diff(ctx context.Context, obj metav1.Object, opts client.ApplyOptions) (*Difference, error) {
	before, err := c.Get(ctx, obj)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if err != nil {
		before = nil
	}
	opts.DryRun = true
	after, err := c.Apply(ctx, obj, opts)
	if err != nil {
		return nil, err
	}
	return c.difference(before, after)
}

// Deletion returns the Difference of the deletion of an object.
func (c *Client) Deletion(before metav1.Object) (*Difference, error) {
	return c.difference(before, nil)
}

func (c *Client) difference(before, after metav1.Object) (*Difference, error) {
	d := &Difference{Before: before, After: after}
	one := after
	if one == nil {
		one = before
	}
	d.Kind = c.KindOf(one)
	var err error
	d.Changes, err = diff.Objects(before, after, diff.Options{Scheme: c.conn.Scheme()})
	return d, err
}
