package resourcev1beta2

import (
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "resource.k8s.io", Version: "v1beta2"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return scheme.Add[*DeviceTaintRule](s, GroupVersion, scheme.Kind{
		Resource: "devicetaintrules",
		Subresources: []scheme.Subresource{
			{Name: "status", Kind: "DeviceTaintRule", Verbs: []string{"get", "patch", "update"}},
		},
	})
}

// AddRules attaches what a server applies to the kinds of this package: defaults and validation of creates,
// updates and status updates. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return scheme.RulesFor[*DeviceTaintRule]{
		Default: DefaultDeviceTaintRule, Validate: ValidateDeviceTaintRule, ValidateUpdate: ValidateDeviceTaintRuleUpdate, ValidateStatus: ValidateDeviceTaintRuleStatus,
	}.Attach(s)
}
