package authorizationv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "authorization.k8s.io", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*LocalSubjectAccessReview](s, GroupVersion, scheme.Kind{
			Resource:   "localsubjectaccessreviews",
			Namespaced: true,
			Verbs:      []string{"create"},
		}),
		scheme.Add[*SelfSubjectAccessReview](s, GroupVersion, scheme.Kind{Resource: "selfsubjectaccessreviews", Verbs: []string{"create"}}),
		scheme.Add[*SelfSubjectRulesReview](s, GroupVersion, scheme.Kind{Resource: "selfsubjectrulesreviews", Verbs: []string{"create"}}),
		scheme.Add[*SubjectAccessReview](s, GroupVersion, scheme.Kind{Resource: "subjectaccessreviews", Verbs: []string{"create"}}),
	)
}
