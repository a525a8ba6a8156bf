package rbacv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*ClusterRoleBinding](s, GroupVersion, scheme.Kind{Resource: "clusterrolebindings"}),
		scheme.Add[*ClusterRole](s, GroupVersion, scheme.Kind{Resource: "clusterroles"}),
		scheme.Add[*RoleBinding](s, GroupVersion, scheme.Kind{Resource: "rolebindings", Namespaced: true}),
		scheme.Add[*Role](s, GroupVersion, scheme.Kind{Resource: "roles", Namespaced: true}),
	)
}
