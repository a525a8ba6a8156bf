package flowcontrolv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*FlowSchema](s, GroupVersion, scheme.Kind{
			Resource:     "flowschemas",
			Subresources: []scheme.Subresource{{Name: "status", Kind: "FlowSchema", Verbs: []string{"get", "patch", "update"}}},
		}),
		scheme.Add[*PriorityLevelConfiguration](s, GroupVersion, scheme.Kind{
			Resource:     "prioritylevelconfigurations",
			Subresources: []scheme.Subresource{{Name: "status", Kind: "PriorityLevelConfiguration", Verbs: []string{"get", "patch", "update"}}},
		}),
	)
}
