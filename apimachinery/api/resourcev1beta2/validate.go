package resourcev1beta2

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// DefaultDeviceTaintRule stamps the taint with the time it was added.
func DefaultDeviceTaintRule(rule *DeviceTaintRule) {
	if t := &rule.Spec.Taint; t.TimeAdded == nil {
		t.TimeAdded = new(metav1.Now().Truncated())
	}
}

// ValidateDeviceTaintRule checks a rule to be created.
func ValidateDeviceTaintRule(rule *DeviceTaintRule) validation.ErrorList {
	var r check.Report
	p := validation.NewPath("spec")
	if s := rule.Spec.DeviceSelector; s != nil {
		q := p.Child("deviceSelector")
		if s.Driver != nil {
			r.Add(resourcev1.ValidateDriverName(*s.Driver, q.Child("driver")))
		}
		if s.Pool != nil {
			r.Add(resourcev1.ValidatePoolName(*s.Pool, q.Child("pool")))
		}
		if s.Device != nil {
			r.Each(q.Child("device"), *s.Device, validation.IsDNS1123Label(*s.Device))
		}
	}
	r.Add(resourcev1.ValidateDeviceTaint(&rule.Spec.Taint, p.Child("taint")))
	return r.List()
}

// ValidateDeviceTaintRuleUpdate checks a change of a rule.
func ValidateDeviceTaintRuleUpdate(rule, _ *DeviceTaintRule) validation.ErrorList {
	return ValidateDeviceTaintRule(rule)
}

// ValidateDeviceTaintRuleStatus checks a change of a rule's status.
func ValidateDeviceTaintRuleStatus(rule, _ *DeviceTaintRule) validation.ErrorList {
	var r check.Report
	p := validation.NewPath("status", "conditions")
	r.Add(metav1.ValidateConditions(rule.Status.Conditions, p))
	if n := len(rule.Status.Conditions); n > MaxConditions {
		r.TooMany(p, n, MaxConditions)
	}
	return r.List()
}
