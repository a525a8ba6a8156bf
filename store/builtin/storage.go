package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// storage returns the kinds of the group storage.k8s.io.
func storage(s *scheme.Scheme) []registry.Definition {
	gv := storagev1.GroupVersion
	versioned := registry.Strategy{VersionRequired: true}
	return []registry.Definition{
		{
			Info: kind[*storagev1.CSIDriver](s, gv), Table: csiDriverTable,
			Strategy: registry.Strategy{
				VersionRequired: true,
				PrepareCreate:   on(func(d *storagev1.CSIDriver) { d.Spec.PreventPodSchedulingIfMissing = nil }),
			},
		},
		{Info: kind[*storagev1.CSINode](s, gv), Table: csiNodeTable, Strategy: versioned},
		{Info: kind[*storagev1.CSIStorageCapacity](s, gv), Strategy: versioned},
		{Info: kind[*storagev1.StorageClass](s, gv), Table: storageClassTable},
		{Info: kind[*storagev1.VolumeAttachment](s, gv), Table: attachmentTable, Strategy: registry.Strategy{VersionRequired: true, StatusOnly: true}},
		{Info: kind[*storagev1.VolumeAttributesClass](s, gv), Table: attributesClassTable},
	}
}
