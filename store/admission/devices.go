package admission

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// adminAccessLabel, with the value true, allows adminAccess, which shares devices in use, in a namespace.
const adminAccessLabel = "resource.kubernetes.io/admin-access"

// DeviceAdminAccess restricts adminAccess in device claims, their templates and their allocations to
// namespaces that are labelled for it. It is a rule of these kinds, not one of Factories.
type DeviceAdminAccess struct {
	named
	access Access
}

// NewDeviceAdminAccess returns the plugin.
func NewDeviceAdminAccess(access Access) *DeviceAdminAccess {
	return &DeviceAdminAccess{named{"DeviceAdminAccess", []Operation{Create, Update}}, access}
}

// Validate implements Validator.
func (p *DeviceAdminAccess) Validate(ctx context.Context, a *Attributes) error {
	if a.Resource.Group != resourcev1.GroupVersion.Group {
		return nil
	}
	var at *validation.Path
	switch obj := a.Object.(type) {
	case *resourcev1.ResourceClaim:
		old, _ := a.Old.(*resourcev1.ResourceClaim)
		if old == nil {
			at = requestedAdmin(obj.Spec.Devices.Requests, validation.NewPath("spec"))
		} else if allocatedForAdmin(old) == nil { // the spec cannot change
			at = allocatedForAdmin(obj)
		}
	case *resourcev1.ResourceClaimTemplate:
		if a.Old == nil {
			at = requestedAdmin(obj.Spec.Spec.Devices.Requests, validation.NewPath("spec", "spec"))
		}
	}
	if at == nil {
		return nil
	}
	obj, err := p.access.Get(ctx, core("namespaces"), types.NamespacedName{Name: a.Namespace})
	if err != nil {
		return err
	}
	if obj.(*corev1.Namespace).Labels[adminAccessLabel] == "true" {
		return nil
	}
	return apierrors.NewInvalid(a.Kind.GroupKind(), a.Name, validation.ErrorList{
		validation.Forbidden(at, "admin access to devices requires the `"+adminAccessLabel+": true` label on the containing namespace")})
}

// requestedAdmin returns the path of the first request with adminAccess, or nil.
func requestedAdmin(requests []resourcev1.DeviceRequest, spec *validation.Path) *validation.Path {
	for i, r := range requests {
		if r.Exactly != nil && r.Exactly.AdminAccess != nil && *r.Exactly.AdminAccess {
			return spec.Child("devices", "requests").Index(i).Child("exactly", "adminAccess")
		}
	}
	return nil
}

// allocatedForAdmin returns the path of the first device allocated with adminAccess, or nil.
func allocatedForAdmin(claim *resourcev1.ResourceClaim) *validation.Path {
	if claim.Status.Allocation == nil {
		return nil
	}
	for i, r := range claim.Status.Allocation.Devices.Results {
		if r.AdminAccess != nil && *r.AdminAccess {
			return validation.NewPath("status", "allocation", "devices", "results").Index(i).Child("adminAccess")
		}
	}
	return nil
}
