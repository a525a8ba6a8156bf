package policyv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*PodDisruptionBudget]{
			Validate: ValidatePodDisruptionBudget, ValidateUpdate: onUpdate(ValidatePodDisruptionBudget),
			ValidateStatus: ValidatePodDisruptionBudgetStatus, Meta: scheme.MetaLoose,
		}.Attach(s),
	)
}

// onUpdate checks the new object as if it were created.
func onUpdate[T any](validate func(T) validation.ErrorList) func(obj, old T) validation.ErrorList {
	return func(obj, _ T) validation.ErrorList { return validate(obj) }
}
