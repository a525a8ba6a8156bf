package appsv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "apps", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*ControllerRevision](s, GroupVersion, scheme.Kind{Resource: "controllerrevisions", Namespaced: true}),
		scheme.Add[*DaemonSet](s, GroupVersion, scheme.Kind{
			Resource: "daemonsets", Namespaced: true, ShortNames: []string{"ds"}, Categories: []string{"all"},
			Subresources: []scheme.Subresource{{Name: "status", Kind: "DaemonSet", Verbs: []string{"get", "patch", "update"}}},
		}),
		scheme.Add[*Deployment](s, GroupVersion, scheme.Kind{
			Resource: "deployments", Namespaced: true, ShortNames: []string{"deploy"}, Categories: []string{"all"},
			Subresources: []scheme.Subresource{
				{Name: "scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Verbs: []string{"get", "patch", "update"}},
				{Name: "status", Kind: "Deployment", Verbs: []string{"get", "patch", "update"}},
			},
		}),
		scheme.Add[*ReplicaSet](s, GroupVersion, scheme.Kind{
			Resource: "replicasets", Namespaced: true, ShortNames: []string{"rs"}, Categories: []string{"all"},
			Subresources: []scheme.Subresource{
				{Name: "scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Verbs: []string{"get", "patch", "update"}},
				{Name: "status", Kind: "ReplicaSet", Verbs: []string{"get", "patch", "update"}},
			},
		}),
		scheme.Add[*StatefulSet](s, GroupVersion, scheme.Kind{
			Resource: "statefulsets", Namespaced: true, ShortNames: []string{"sts"}, Categories: []string{"all"},
			Subresources: []scheme.Subresource{
				{Name: "scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Verbs: []string{"get", "patch", "update"}},
				{Name: "status", Kind: "StatefulSet", Verbs: []string{"get", "patch", "update"}},
			},
		}),
	)
}
