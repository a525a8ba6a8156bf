package controlplane_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// A pod cannot be resized beyond what it could have been created with.
func TestLimitRangesHoldForResizes(t *testing.T) {
	p := withPods(t)
	admin := p.admin()
	create(t, admin, &corev1.LimitRange{ObjectMeta: meta("default", "limits"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
		{Type: corev1.LimitTypeContainer, Max: quantities("cpu", "1"), Min: quantities("cpu", "100m")},
		{Type: corev1.LimitTypePod, Max: quantities("cpu", "1")}}}})
	create(t, admin, pod("x", resources(quantities("cpu", "500m"), quantities("cpu", "500m"))))
	pods := client.For[*corev1.Pod](admin)
	resize := func(cpu string) error {
		now, err := pods.Get(t.Context(), key("default", "x"))
		require.NoError(t, err)
		resources(quantities("cpu", cpu), quantities("cpu", cpu))(now)
		_, err = client.Subresource[*corev1.Pod](pods, "resize").Update(t.Context(), key("default", "x"), now)
		return err
	}
	err := resize("2")
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "maximum cpu usage per Container is 1, but limit is 2")
	require.ErrorContains(t, err, "maximum cpu usage per Pod is 1, but limit is 2")
	require.ErrorContains(t, resize("50m"), "minimum cpu usage per Container is 100m, but request is 50m")
	require.NoError(t, resize("1"))
}

// unpulls is a plugin that takes back what AlwaysPullImages did, as a webhook may.
type unpulls struct{}

func (unpulls) Name() string                     { return "Unpulls" }
func (unpulls) Handles(admission.Operation) bool { return true }
func (unpulls) Admit(_ context.Context, a *admission.Attributes) error {
	if pod, ok := a.Object.(*corev1.Pod); ok && pod.Labels["unpull"] != "" {
		for i := range pod.Spec.Containers {
			pod.Spec.Containers[i].ImagePullPolicy = corev1.PullIfNotPresent
		}
		if n := len(pod.Spec.EphemeralContainers); n > 0 {
			pod.Spec.EphemeralContainers[n-1].ImagePullPolicy = corev1.PullNever
		}
	}
	return nil
}

// AlwaysPullImages has the last word on new images, and leaves alone what was there before.
func TestAlwaysPullImagesHasTheLastWord(t *testing.T) {
	p := withPods(t, func(o *controlplane.Options) {
		o.EnableAdmission, o.Plugins = []string{"AlwaysPullImages"}, []admission.Plugin{unpulls{}}
	})
	admin := p.admin()
	unpull := func(p *corev1.Pod) { p.Labels = map[string]string{"unpull": "yes"} }
	err := tryCreate(t, admin, pod("x", unpull))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `spec.containers[0].imagePullPolicy: Unsupported value: "IfNotPresent": supported values: "Always"`)
	now := create(t, admin, pod("x"))
	pods := client.For[*corev1.Pod](admin)
	debug := client.Subresource[*corev1.Pod](pods, "ephemeralcontainers")
	with := func(name string) *corev1.Pod {
		p, err := pods.Get(t.Context(), key("default", "x"))
		require.NoError(t, err)
		p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "d"}})
		return p
	}
	got, err := debug.Update(t.Context(), key("default", "x"), with("first"))
	require.NoError(t, err)
	require.Equal(t, corev1.PullAlways, got.Spec.EphemeralContainers[0].ImagePullPolicy)
	second := with("second")
	unpull(second)
	_, err = debug.Update(t.Context(), key("default", "x"), second)
	require.ErrorContains(t, err, `spec.ephemeralContainers[1].imagePullPolicy: Unsupported value: "Never"`)

	// A pod of before the plugin was enabled can still be labelled.
	old := start(t)
	old.account("default", "default")
	before := create(t, old.admin(), pod("y"))
	require.Equal(t, corev1.PullIfNotPresent, before.Spec.Containers[0].ImagePullPolicy)
	require.Equal(t, corev1.PullAlways, now.Spec.Containers[0].ImagePullPolicy)
	f := func(p *corev1.Pod) error {
		for _, factory := range admission.Factories() {
			if factory.Name == "AlwaysPullImages" {
				plugin := factory.New(nil, admission.Options{})
				a := &admission.Attributes{Operation: admission.Update, Resource: corev1.GroupVersion.WithResource("pods"), Object: p, Old: before}
				require.NoError(t, plugin.(admission.Mutator).Admit(t.Context(), a))
				return plugin.(admission.Validator).Validate(t.Context(), a)
			}
		}
		return nil
	}
	changed := pod("y")
	changed.Labels = map[string]string{"a": "b"}
	require.NoError(t, f(changed))
	require.Equal(t, corev1.PullIfNotPresent, changed.Spec.Containers[0].ImagePullPolicy, "it is immutable")
	changed.Spec.Containers[0].Image = "another"
	require.NoError(t, f(changed))
	require.Equal(t, corev1.PullAlways, changed.Spec.Containers[0].ImagePullPolicy)
}

// A claim grows only where its class allows it.
func TestClaimsGrowWhereTheirClassAllows(t *testing.T) {
	p := start(t)
	admin := p.admin()
	class := func(name string, grows *bool) {
		create(t, admin, &storagev1.StorageClass{ObjectMeta: meta("", name), Provisioner: "x/y", AllowVolumeExpansion: grows})
	}
	class("grows", new(true))
	class("fixed", new(false))
	class("silent", nil)
	claims := client.For[*corev1.PersistentVolumeClaim](admin)
	grow := func(name, class string, phase corev1.PersistentVolumeClaimPhase, size string) error {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("default", name), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "v",
			AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Resources: corev1.VolumeResourceRequirements{Requests: quantities("storage", "1Gi")}}}
		if class != "" {
			claim.Spec.StorageClassName = &class
		}
		claim = create(t, admin, claim)
		claim.Status.Phase, claim.Status.Capacity = phase, quantities("storage", "1Gi")
		claim, err := claims.UpdateStatus(t.Context(), claim)
		require.NoError(t, err)
		claim.Spec.Resources.Requests = quantities("storage", size)
		_, err = claims.Update(t.Context(), claim)
		return err
	}
	require.NoError(t, grow("a", "grows", corev1.ClaimBound, "2Gi"))
	require.NoError(t, grow("b", "fixed", corev1.ClaimBound, "1Gi"))
	const why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
	for _, class := range []string{"fixed", "silent", "missing", ""} {
		err := grow("c"+class, class, corev1.ClaimBound, "2Gi")
		require.True(t, apierrors.IsForbidden(err), "%s: %v", class, err)
		require.ErrorContains(t, err, why, class)
	}
}

// Only namespaces labelled for it have claims with access to devices that others use.
func TestAdminAccessToDevices(t *testing.T) {
	p := start(t)
	admin := p.admin()
	create(t, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "trusted", Labels: map[string]string{"resource.kubernetes.io/admin-access": "true"}}})
	create(t, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "false", Labels: map[string]string{"resource.kubernetes.io/admin-access": "false"}}})
	spec := func(adminAccess *bool) resourcev1.ResourceClaimSpec {
		return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpus", AdminAccess: adminAccess}}}}}
	}
	const why = "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace"
	for _, namespace := range []string{"default", "false", "trusted"} {
		for _, wanted := range []*bool{nil, new(false), new(true)} {
			name := metav1.ObjectMeta{Namespace: namespace, GenerateName: "c-"}
			claim := tryCreate(t, admin, &resourcev1.ResourceClaim{ObjectMeta: name, Spec: spec(wanted)})
			template := tryCreate(t, admin, &resourcev1.ResourceClaimTemplate{ObjectMeta: name, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: spec(wanted)}})
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
	claim := create(t, admin, &resourcev1.ResourceClaim{ObjectMeta: meta("default", "c"), Spec: spec(nil)})
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "r", Driver: "d.test", Pool: "p", Device: "d", AdminAccess: new(true)}}}}
	_, err := client.For[*resourcev1.ResourceClaim](admin).UpdateStatus(t.Context(), claim)
	require.True(t, apierrors.IsInvalid(err), err)
	require.ErrorContains(t, err, "status.allocation.devices.results[0].adminAccess: Forbidden: "+why)
	claim.Status.Allocation.Devices.Results[0].AdminAccess = nil
	_, err = client.For[*resourcev1.ResourceClaim](admin).UpdateStatus(t.Context(), claim)
	require.NoError(t, err)
}

// Expressions that do not compile are refused in the words that conformance tests look for.
func TestExpressionsThatDoNotCompile(t *testing.T) {
	p := start(t)
	err := tryCreate(t, p.admin(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta("", "w"), Webhooks: []admissionregistrationv1.ValidatingWebhook{{
		Name: "a.b.test", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
		ClientConfig:    admissionregistrationv1.WebhookClientConfig{URL: new("https://a.test")},
		MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "c", Expression: "... [] bad expression"}}}}})
	require.True(t, apierrors.IsInvalid(err), err)
	require.ErrorContains(t, err, "compilation failed: ")
}
