package cel

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"

	"github.com/keelson-dev/keelson/apimachinery/internal/semver"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// DeviceVariable is the name of the only variable of [Device].
const DeviceVariable = "device"

// Device returns the environment of selectors of devices: one variable, device, whose value [DeviceValue]
// makes, and cel.bind. It is created once, on first use.
func Device() (*cel.Env, error) { return device() }

var device = sync.OnceValues(func() (*cel.Env, error) {
	base, err := Env()
	if err != nil {
		return nil, err
	}
	return base.Extend(ext.Bindings(ext.BindingsVersion(0)), cel.Variable(DeviceVariable, cel.DynType))
})

// DeviceValue is a device as selectors see it. Attributes are integers, booleans, strings and what
// [VersionValue] returns, capacities are quantities, both by domain and then by name; a domain that is not
// there is empty.
func DeviceValue(driver string, multiple bool, attributes map[string]map[string]any, capacity map[string]map[string]resource.Quantity) any {
	quantities := map[string]map[string]any{}
	for domain, of := range capacity {
		quantities[domain] = map[string]any{}
		for name, q := range of {
			quantities[domain][name] = quantityVal(q)
		}
	}
	return map[string]any{"driver": driver, "allowMultipleAllocations": multiple, "attributes": domains(attributes), "capacity": domains(quantities)}
}

// VersionValue is a semantic version as an expression sees it.
func VersionValue(text string) (any, error) {
	v, err := semver.Parse(text)
	if err != nil {
		return nil, err
	}
	return semverVal(v), nil
}

// byDomain is a map whose missing values are empty maps.
type byDomain struct {
	traits.Mapper
	none ref.Val
}

func domains(of map[string]map[string]any) ref.Val {
	all := map[string]any{}
	for domain, values := range of {
		all[domain] = values
	}
	adapter := types.DefaultTypeAdapter
	return byDomain{types.NewStringInterfaceMap(adapter, all), adapter.NativeToValue(map[string]any{})}
}

// Find implements traits.Mapper.
func (m byDomain) Find(key ref.Val) (ref.Val, bool) {
	if v, ok := m.Mapper.Find(key); ok || types.IsError(v) {
		return v, ok
	}
	return m.none, true
}

// Get implements traits.Indexer.
func (m byDomain) Get(key ref.Val) ref.Val {
	v, _ := m.Find(key)
	return v
}
