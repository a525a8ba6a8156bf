package registry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

// plugin refuses the second create of a name that it finds by the access it was made with.
type plugin struct{ access registry.Access }

func (plugin) Name() string                        { return "Twice" }
func (plugin) Handles(op admission.Operation) bool { return op == admission.Create }

func (p plugin) Validate(ctx context.Context, a *admission.Attributes) error {
	if _, err := p.access.GetLatest(ctx, a.Resource, key("first")); err == nil {
		return errors.New("one is enough")
	}
	return nil
}

// The chain is made by New with an access that works once the registry serves the resource.
func TestAdmissionOfNew(t *testing.T) {
	var steps []bool
	r, err := registry.New(memory.New(memory.Options{}), registry.Options{
		Admission: func(a registry.Access) ([]admission.Plugin, error) { return []admission.Plugin{plugin{a}}, nil },
		AdmissionMetrics: admission.Metrics{Plugin: func(name string, s admission.Step) func(admission.Operation, bool, time.Duration) {
			require.Equal(t, "Twice", name)
			require.Equal(t, admission.Validating, s)
			return func(_ admission.Operation, rejected bool, _ time.Duration) { steps = append(steps, rejected) }
		}},
	})
	require.NoError(t, err)
	_, err = r.Add(&registry.Definition{Info: api.Scheme().ForResource(configMaps)})
	require.NoError(t, err)
	_, err = r.Access().Create(t.Context(), configMaps, configMap("first"), registry.Write{})
	require.NoError(t, err)
	_, err = r.Access().Create(t.Context(), configMaps, configMap("second"), registry.Write{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "one is enough")
	require.Equal(t, []bool{false, true}, steps)
}

// New returns the error of Options.Admission.
func TestAdmissionFails(t *testing.T) {
	broken := errors.New("no key to sign with")
	_, err := registry.New(memory.New(memory.Options{}), registry.Options{
		Admission: func(registry.Access) ([]admission.Plugin, error) { return nil, broken },
	})
	require.ErrorIs(t, err, broken)
}
