package resourcev1

import (
	"errors"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*DeviceClass]{
			Meta:     scheme.MetaStrict,
			Validate: ValidateDeviceClass, ValidateUpdate: check.OnUpdate(ValidateDeviceClass), NameRule: nameOfClass,
		}.Attach(s),
		scheme.RulesFor[*ResourceClaim]{
			Meta:    scheme.MetaStrict,
			Default: DefaultResourceClaim, Validate: ValidateResourceClaim, ValidateUpdate: ValidateResourceClaimUpdate,
			ValidateStatus: ValidateResourceClaimStatus,
		}.Attach(s),
		scheme.RulesFor[*ResourceClaimTemplate]{
			Meta:    scheme.MetaStrict,
			Default: DefaultResourceClaimTemplate, Validate: ValidateResourceClaimTemplate,
			ValidateUpdate: ValidateResourceClaimTemplateUpdate,
		}.Attach(s),
		scheme.RulesFor[*ResourceSlice]{
			Default: DefaultResourceSlice, Validate: ValidateResourceSlice, ValidateUpdate: ValidateResourceSliceUpdate,
		}.Attach(s),
	)
}

// nameOfClass is the name rule of classes: what a name is generated from is not looked at.
func nameOfClass(name string, prefix bool) []string {
	if prefix {
		return nil
	}
	return validation.NameIsSubdomain(name, false)
}

// MayHaveClass reports whether a class of devices may serve a resource that pods request.
func MayHaveClass(name corev1.ResourceName) bool {
	return corev1.IsExtendedResource(name) || strings.HasPrefix(string(name), ResourceDeviceClassPrefix)
}
