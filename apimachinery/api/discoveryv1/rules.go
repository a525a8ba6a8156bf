package discoveryv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*EndpointSlice]{
			Default: DefaultEndpointSlice, Validate: ValidateEndpointSlice, ValidateUpdate: ValidateEndpointSliceUpdate, Warnings: endpointSliceWarnings,
		}.Attach(s),
	)
}
