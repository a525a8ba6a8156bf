package apiregistrationv1

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
		scheme.RulesFor[*APIService]{
			Default: DefaultAPIService, Validate: ValidateAPIService, ValidateUpdate: check.OnUpdate(ValidateAPIService),
			ValidateStatus: ValidateAPIServiceStatus, NameRule: validation.NameIsPathSegment,
		}.Attach(s),
	)
}
