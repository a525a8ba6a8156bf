package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// admissionregistration returns the kinds of the group admissionregistration.k8s.io.
func admissionregistration(s *scheme.Scheme) []registry.Definition {
	gv := admissionregistrationv1.GroupVersion
	strategy := registry.Strategy{Generation: registry.OnSpec, VersionRequired: true, StatusOnly: true, BareFinalizers: true}
	// Kubernetes 1.36 stores the kinds of mutating policies as v1beta1, which has the same fields.
	const beta = "admissionregistration.k8s.io/v1beta1"
	return []registry.Definition{
		{
			Info: kind[*admissionregistrationv1.MutatingAdmissionPolicy](s, gv), StoredVersion: beta,
			Table: mutatingPolicyTable, Strategy: strategy,
		},
		{
			Info: kind[*admissionregistrationv1.MutatingAdmissionPolicyBinding](s, gv), StoredVersion: beta,
			Table: mutatingPolicyBindingTable, Strategy: strategy,
		},
		{
			Info:  kind[*admissionregistrationv1.MutatingWebhookConfiguration](s, gv),
			Table: mutatingWebhookTable, Strategy: strategy,
		},
		{
			Info:  kind[*admissionregistrationv1.ValidatingAdmissionPolicy](s, gv),
			Table: validatingPolicyTable, Strategy: strategy,
		},
		{
			Info:  kind[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](s, gv),
			Table: validatingPolicyBindingTable, Strategy: strategy,
		},
		{
			Info:  kind[*admissionregistrationv1.ValidatingWebhookConfiguration](s, gv),
			Table: validatingWebhookTable, Strategy: strategy,
		},
	}
}
