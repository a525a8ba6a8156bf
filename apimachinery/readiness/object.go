package readiness

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// object is an object as JSON values.
type object struct {
	tree map[string]any
	meta *metav1.ObjectMeta
}

// condition is an element of status.conditions.
type condition struct{ typ, status, reason, message string }

// at returns the value at a path.
func (o object) at(path ...string) any {
	var v any = o.tree
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

// integer returns a number, and whether there is one.
func (o object) integer(path ...string) (int64, bool) {
	n, ok := o.at(path...).(int64)
	return n, ok
}

// number returns a number, or otherwise if there is none.
func (o object) number(otherwise int64, path ...string) int64 {
	if n, ok := o.integer(path...); ok {
		return n
	}
	return otherwise
}

// text returns a string, and whether there is one.
func (o object) text(path ...string) (string, bool) {
	s, ok := o.at(path...).(string)
	return s, ok
}

// conditions returns status.conditions. Malformed ones are an error: ignoring them would make an object
// Current that is not.
func (o object) conditions() ([]condition, error) {
	v := o.at("status", "conditions")
	if v == nil {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("status.conditions is no list")
	}
	out := make([]condition, len(list))
	for i, v := range list {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("status.conditions[%d] is no object", i)
		}
		c := &out[i]
		for name, to := range map[string]*string{"type": &c.typ, "status": &c.status, "reason": &c.reason, "message": &c.message} {
			if *to, ok = m[name].(string); !ok && m[name] != nil {
				return nil, fmt.Errorf("status.conditions[%d].%s is no string", i, name)
			}
		}
	}
	return out, nil
}
