package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// rbac returns the kinds of the group rbac.authorization.k8s.io.
func rbac(s *scheme.Scheme) []registry.Definition {
	gv := rbacv1.GroupVersion
	strategy := registry.Strategy{CreateOnUpdate: true}
	return []registry.Definition{
		{Info: kind[*rbacv1.ClusterRole](s, gv), Strategy: strategy},
		{Info: kind[*rbacv1.ClusterRoleBinding](s, gv), Table: clusterRoleBindingTable, Strategy: strategy},
		{Info: kind[*rbacv1.Role](s, gv), Strategy: strategy},
		{Info: kind[*rbacv1.RoleBinding](s, gv), Table: roleBindingTable, Strategy: strategy},
	}
}
