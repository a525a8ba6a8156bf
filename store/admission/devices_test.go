package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// Only labelled namespaces may have claims with admin access to devices in use.
func TestAdminAccessToDevices(t *testing.T) {
	p := planetest.Start(t)
	admin := p.Admin()
	planetest.Create(t, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "trusted", Labels: map[string]string{"resource.kubernetes.io/admin-access": "true"}}})
	planetest.Create(t, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "false", Labels: map[string]string{"resource.kubernetes.io/admin-access": "false"}}})
	spec := func(adminAccess *bool) resourcev1.ResourceClaimSpec {
		return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpus", AdminAccess: adminAccess}}}}}
	}
	const why = "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace"
	for _, namespace := range []string{"default", "false", "trusted"} {
		for _, wanted := range []*bool{nil, new(false), new(true)} {
			name := metav1.ObjectMeta{Namespace: namespace, GenerateName: "c-"}
			claim := planetest.TryCreate(t, admin, &resourcev1.ResourceClaim{ObjectMeta: name, Spec: spec(wanted)})
			template := planetest.TryCreate(t, admin, &resourcev1.ResourceClaimTemplate{ObjectMeta: name, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: spec(wanted)}})
			if namespace == "trusted" || wanted == nil || !*wanted {
				require.NoError(t, claim)
				require.NoError(t, template)
				continue
			}
			require.True(t, apierrors.IsInvalid(claim), claim)
			require.ErrorContains(t, claim, "spec.devices.requests[0].exactly.adminAccess: Forbidden: "+why)
			require.True(t, apierrors.IsInvalid(template), template)
			require.ErrorContains(t, template, "spec.spec.devices.requests[0].exactly.adminAccess: Forbidden: "+why)
		}
	}
	claim := planetest.Create(t, admin, &resourcev1.ResourceClaim{ObjectMeta: planetest.Meta("default", "c"), Spec: spec(nil)})
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "r", Driver: "d.test", Pool: "p", Device: "d", AdminAccess: new(true)}}}}
	_, err := client.For[*resourcev1.ResourceClaim](admin).UpdateStatus(t.Context(), claim)
	require.True(t, apierrors.IsInvalid(err), err)
	require.ErrorContains(t, err, "status.allocation.devices.results[0].adminAccess: Forbidden: "+why)
	claim.Status.Allocation.Devices.Results[0].AdminAccess = nil
	_, err = client.For[*resourcev1.ResourceClaim](admin).UpdateStatus(t.Context(), claim)
	require.NoError(t, err)
}
