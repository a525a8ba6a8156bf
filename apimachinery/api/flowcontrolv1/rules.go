package flowcontrolv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*FlowSchema]{
			Default: DefaultFlowSchema, Validate: ValidateFlowSchema, ValidateUpdate: check.OnUpdate(ValidateFlowSchema),
			ValidateStatus: ValidateFlowSchemaStatus,
		}.Attach(s),
		scheme.RulesFor[*PriorityLevelConfiguration]{
			Default: DefaultPriorityLevelConfiguration, Validate: ValidatePriorityLevelConfiguration,
			ValidateUpdate: check.OnUpdate(ValidatePriorityLevelConfiguration),
			ValidateStatus: ValidatePriorityLevelConfigurationStatus,
		}.Attach(s),
	)
}
