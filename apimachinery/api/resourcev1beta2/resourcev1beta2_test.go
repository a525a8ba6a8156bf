package resourcev1beta2_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1beta2"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type (
	rule     = resourcev1beta2.DeviceTaintRule
	selector = resourcev1beta2.DeviceTaintSelector
)

func TestValidation(t *testing.T) {
	taint := resourcev1.DeviceTaint{Key: "example.com/broken", Value: "fan", Effect: resourcev1.DeviceTaintEffectNone}
	for _, c := range []struct {
		spec  resourcev1beta2.DeviceTaintRuleSpec
		wrong []string
	}{
		{resourcev1beta2.DeviceTaintRuleSpec{Taint: taint}, nil},
		{resourcev1beta2.DeviceTaintRuleSpec{Taint: taint, DeviceSelector: &selector{}}, nil},
		{resourcev1beta2.DeviceTaintRuleSpec{Taint: taint, DeviceSelector: &selector{Driver: new("gpu.example.com"), Pool: new("a.b/c"), Device: new("gpu-0")}}, nil},
		{resourcev1beta2.DeviceTaintRuleSpec{Taint: taint, DeviceSelector: &selector{Driver: new(""), Pool: new("/"), Device: new("GPU")}},
			[]string{"spec.deviceSelector.device FieldValueInvalid", "spec.deviceSelector.driver FieldValueRequired", "spec.deviceSelector.pool FieldValueInvalid"}},
		{resourcev1beta2.DeviceTaintRuleSpec{}, []string{"spec.taint.effect FieldValueRequired", "spec.taint.key FieldValueInvalid"}},
		{resourcev1beta2.DeviceTaintRuleSpec{Taint: resourcev1.DeviceTaint{Key: "k", Value: "a b", Effect: "Evict"}},
			[]string{"spec.taint.effect FieldValueNotSupported", "spec.taint.value FieldValueInvalid"}},
	} {
		require.ElementsMatch(t, c.wrong, apitest.Found(resourcev1beta2.ValidateDeviceTaintRule(&rule{Spec: c.spec})), "%+v", c.spec)
	}
}

func TestDefaultsAndMatches(t *testing.T) {
	r := &rule{}
	resourcev1beta2.DefaultDeviceTaintRule(r)
	require.WithinDuration(t, time.Now(), r.Spec.Taint.TimeAdded.Time, time.Minute)
	at := metav1.Time{Time: time.Unix(1, 0)}
	r.Spec.Taint.TimeAdded = &at
	resourcev1beta2.DefaultDeviceTaintRule(r)
	require.Equal(t, at, *r.Spec.Taint.TimeAdded)

	require.False(t, (*selector)(nil).Matches("d", "p", "x"))
	require.True(t, (&selector{}).Matches("d", "p", "x"))
	require.True(t, (&selector{Driver: new("d"), Pool: new("p"), Device: new("x")}).Matches("d", "p", "x"))
	for _, s := range []selector{{Driver: new("e")}, {Pool: new("q")}, {Device: new("y")}} {
		require.False(t, s.Matches("d", "p", "x"))
	}
}
