package devices

import (
	"errors"
	"fmt"
	"strings"

	celgo "github.com/google/cel-go/cel"

	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/lru"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

const (
	mostPrograms   = 1000
	mostSelections = 1 << 18
)

// Selectors holds compiled expressions.
type Selectors struct{ programs *lru.Map[string, compiled] }

type compiled struct {
	program celgo.Program
	err     error
}

// NewSelectors returns an empty cache of expressions.
func NewSelectors() *Selectors { return &Selectors{lru.New[string, compiled](mostPrograms)} }

// selection is a question to a selector.
type selection struct {
	device     *resourcev1.Device
	expression string
}

func (s *Selectors) compile(expression string) compiled {
	return s.programs.Get(expression, func() compiled {
		env, err := cel.Device()
		if err != nil {
			return compiled{err: err}
		}
		ast, issues := env.Compile(expression)
		if err := issues.Err(); err != nil {
			return compiled{err: fmt.Errorf("CEL compile error: %w", err)}
		}
		p, err := env.Program(ast, cel.ProgramOptions()...)
		return compiled{p, err}
	})
}

// matches reports whether an expression selects a device.
func (s *Selectors) matches(inv *Inventory, d *device, expression string) (bool, error) {
	key := selection{d.Device, expression}
	if ok, known := inv.selected[key]; known {
		return ok, nil
	}
	c := s.compile(expression)
	if c.err != nil {
		return false, c.err
	}
	value, err := valueOf(d)
	if err != nil {
		return false, err
	}
	out, _, err := c.program.Eval(map[string]any{cel.DeviceVariable: value})
	if err != nil {
		return false, fmt.Errorf("CEL runtime error: %w", err)
	}
	ok, isBool := out.Value().(bool)
	if !isBool {
		return false, fmt.Errorf("CEL runtime error: the result is of type %s: want bool", out.Type().TypeName())
	}
	if len(inv.selected) >= mostSelections {
		clear(inv.selected)
	}
	inv.selected[key] = ok
	return ok, nil
}

// valueOf is a device as expressions see it.
func valueOf(d *device) (any, error) {
	attributes := map[string]map[string]any{}
	for name, a := range d.Attributes {
		v, err := attribute(&a)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		domain, id := split(name, d.id.Driver)
		if attributes[domain] == nil {
			attributes[domain] = map[string]any{}
		}
		attributes[domain][id] = v
	}
	capacity := map[string]map[string]resource.Quantity{}
	for name, c := range d.Capacity {
		domain, id := split(name, d.id.Driver)
		if capacity[domain] == nil {
			capacity[domain] = map[string]resource.Quantity{}
		}
		capacity[domain][id] = c.Value
	}
	return cel.DeviceValue(d.id.Driver, isTrue(d.AllowMultipleAllocations), attributes, capacity), nil
}

func attribute(a *resourcev1.DeviceAttribute) (any, error) {
	switch {
	case a.IntValue != nil:
		return *a.IntValue, nil
	case a.BoolValue != nil:
		return *a.BoolValue, nil
	case a.StringValue != nil:
		return *a.StringValue, nil
	case a.VersionValue != nil:
		return cel.VersionValue(*a.VersionValue)
	}
	return nil, errors.New("unsupported attribute value") // lists, which need a feature that is off in 1.36
}

// split returns the domain of a name, that of the driver if it has none, and the rest.
func split(name resourcev1.QualifiedName, driver string) (domain, id string) {
	if domain, id, ok := strings.Cut(string(name), "/"); ok {
		return domain, id
	}
	return driver, string(name)
}
