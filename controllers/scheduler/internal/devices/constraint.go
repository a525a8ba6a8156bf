package devices

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
)

// constraint is one on the devices of several requests: all have the same value of an attribute, or all
// different ones.
type constraint struct {
	requests  []string
	attribute resourcev1.FullyQualifiedName
	distinct  bool
	values    []any // of the devices so far
}

// concerns reports whether a request is one of those.
func (c *constraint) concerns(r *request) bool {
	return len(c.requests) == 0 || slices.Contains(c.requests, r.name) || r.sub != "" && slices.Contains(c.requests, r.full())
}

// add takes a device in, unless it violates the constraint.
func (c *constraint) add(r *request, d *device) bool {
	if !c.concerns(r) {
		return true
	}
	v := lookUp(d, c.attribute)
	if v == nil || c.distinct && slices.Contains(c.values, v) || !c.distinct && len(c.values) > 0 && c.values[0] != v {
		return false
	}
	c.values = append(c.values, v)
	return true
}

// remove takes the last device out.
func (c *constraint) remove(r *request) {
	if c.concerns(r) {
		c.values = c.values[:len(c.values)-1]
	}
}

// version is a semantic version, which differs from a string.
type version string

// lookUp is the value of an attribute, nil without one.
func lookUp(d *device, name resourcev1.FullyQualifiedName) any {
	a, ok := d.Attributes[resourcev1.QualifiedName(name)]
	if !ok {
		domain, id, cut := strings.Cut(string(name), "/")
		if !cut || domain != d.id.Driver {
			return nil
		}
		if a, ok = d.Attributes[resourcev1.QualifiedName(id)]; !ok {
			return nil
		}
	}
	switch {
	case a.StringValue != nil:
		return *a.StringValue
	case a.IntValue != nil:
		return *a.IntValue
	case a.BoolValue != nil:
		return *a.BoolValue
	case a.VersionValue != nil:
		return version(*a.VersionValue)
	}
	return nil
}
