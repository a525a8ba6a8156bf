package storagev1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "storage.k8s.io", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*CSIDriver](s, GroupVersion, scheme.Kind{Resource: "csidrivers"}),
		scheme.Add[*CSINode](s, GroupVersion, scheme.Kind{Resource: "csinodes"}),
		scheme.Add[*CSIStorageCapacity](s, GroupVersion, scheme.Kind{Resource: "csistoragecapacities", Namespaced: true}),
		scheme.Add[*StorageClass](s, GroupVersion, scheme.Kind{Resource: "storageclasses", ShortNames: []string{"sc"}}),
		scheme.Add[*VolumeAttachment](s, GroupVersion, scheme.Kind{
			Resource:     "volumeattachments",
			Subresources: []scheme.Subresource{{Name: "status", Kind: "VolumeAttachment", Verbs: []string{"get", "patch", "update"}}},
		}),
		scheme.Add[*VolumeAttributesClass](s, GroupVersion, scheme.Kind{Resource: "volumeattributesclasses", ShortNames: []string{"vac"}}),
	)
}
