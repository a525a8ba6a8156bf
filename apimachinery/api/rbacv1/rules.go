package rbacv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*Role]{
			Meta:     scheme.MetaStrict,
			Validate: ValidateRole, ValidateUpdate: check.OnUpdate(ValidateRole), NameRule: nameRule,
		}.Attach(s),
		scheme.RulesFor[*ClusterRole]{
			Meta:     scheme.MetaStrict,
			Validate: ValidateClusterRole, ValidateUpdate: check.OnUpdate(ValidateClusterRole),
			NameRule: nameRule,
		}.Attach(s),
		scheme.RulesFor[*RoleBinding]{
			Meta:    scheme.MetaStrict,
			Default: DefaultRoleBinding, Validate: ValidateRoleBinding, ValidateUpdate: ValidateRoleBindingUpdate,
			NameRule: nameRule,
		}.Attach(s),
		scheme.RulesFor[*ClusterRoleBinding]{
			Meta:    scheme.MetaStrict,
			Default: DefaultClusterRoleBinding, Validate: ValidateClusterRoleBinding,
			ValidateUpdate: ValidateClusterRoleBindingUpdate, NameRule: nameRule,
		}.Attach(s),
	)
}

// nameRule is that of all kinds of this package: one segment of a path, which holds for what a name is
// generated from too.
func nameRule(name string, _ bool) []string { return validation.IsPathSegmentName(name) }
