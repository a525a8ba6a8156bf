package storagev1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*StorageClass]{
			Meta:    scheme.MetaStrict,
			Default: DefaultStorageClass, Validate: ValidateStorageClass, ValidateUpdate: ValidateStorageClassUpdate,
		}.Attach(s),
		scheme.RulesFor[*CSIDriver]{
			Default: DefaultCSIDriver, Validate: ValidateCSIDriver, ValidateUpdate: ValidateCSIDriverUpdate, Warnings: csiDriverWarnings,
		}.Attach(s),
		scheme.RulesFor[*CSINode]{Validate: ValidateCSINode, ValidateUpdate: ValidateCSINodeUpdate}.Attach(s),
		scheme.RulesFor[*CSIStorageCapacity]{Validate: ValidateCSIStorageCapacity, ValidateUpdate: ValidateCSIStorageCapacityUpdate}.Attach(s),
		scheme.RulesFor[*VolumeAttachment]{
			Default: DefaultVolumeAttachment, Validate: ValidateVolumeAttachment,
			ValidateUpdate: ValidateVolumeAttachmentUpdate, ValidateStatus: ValidateVolumeAttachmentStatus,
		}.Attach(s),
		scheme.RulesFor[*VolumeAttributesClass]{
			Meta:     scheme.MetaStrict,
			Validate: ValidateVolumeAttributesClass, ValidateUpdate: ValidateVolumeAttributesClassUpdate,
		}.Attach(s),
	)
}
