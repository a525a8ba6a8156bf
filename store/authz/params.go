package authz

import (
	"context"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
)

// PolicyParams is the admission plugin that prevents users from reading, through the parameters of an
// admission policy, objects they may not get: the server reads these with its own rights, and the policy's
// messages and changes reveal them. The author of a policy must be allowed to get all objects of its
// paramKind, and the author of a binding those that its paramRef names, or to list them if it selects by
// labels.
type PolicyParams struct {
	access     admission.Access
	authorizer Authorizer
}

// NewPolicyParams returns the plugin. authorizer is that of the server, with all modes.
func NewPolicyParams(access admission.Access, authorizer Authorizer) *PolicyParams {
	return &PolicyParams{access, authorizer}
}

// Name implements admission.Plugin.
func (p *PolicyParams) Name() string { return "PolicyParamsAuthorization" }

// Handles implements admission.Plugin.
func (p *PolicyParams) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.Validator.
func (p *PolicyParams) Validate(ctx context.Context, a *admission.Attributes) error {
	if a.Resource.Group != admissionregistrationv1.GroupVersion.Group || a.Subresource != "" || a.User == nil || slices.Contains(a.User.Groups, authn.GroupMasters) {
		return nil
	}
	switch obj := a.Object.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		var old *admissionregistrationv1.ParamKind
		if o, ok := a.Old.(*admissionregistrationv1.ValidatingAdmissionPolicy); ok {
			old = o.Spec.ParamKind
		}
		return p.policy(ctx, a, obj.Spec.ParamKind, old)
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		var old *admissionregistrationv1.ParamKind
		if o, ok := a.Old.(*admissionregistrationv1.MutatingAdmissionPolicy); ok {
			old = o.Spec.ParamKind
		}
		return p.policy(ctx, a, obj.Spec.ParamKind, old)
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		if o, ok := a.Old.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding); ok && o.Spec.PolicyName == obj.Spec.PolicyName && codec.Equal(o.Spec.ParamRef, obj.Spec.ParamRef) {
			return nil
		}
		return p.binding(ctx, a, obj.Spec.ParamRef, "validatingadmissionpolicies", obj.Spec.PolicyName)
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		if o, ok := a.Old.(*admissionregistrationv1.MutatingAdmissionPolicyBinding); ok && o.Spec.PolicyName == obj.Spec.PolicyName && codec.Equal(o.Spec.ParamRef, obj.Spec.ParamRef) {
			return nil
		}
		return p.binding(ctx, a, obj.Spec.ParamRef, "mutatingadmissionpolicies", obj.Spec.PolicyName)
	}
	return nil
}

// policy refuses a policy with a new paramKind of whose objects the user may not get all.
func (p *PolicyParams) policy(ctx context.Context, a *admission.Attributes, kind, old *admissionregistrationv1.ParamKind) error {
	if kind == nil || old != nil && *old == *kind {
		return nil
	}
	// No rule in a namespace, and none with resourceNames, covers this name in this namespace.
	q := p.readAttributes(kind)
	q.User, q.Verb, q.Namespace, q.Name = a.User, "get", "*", "*"
	return p.decide(ctx, a, q, "paramKind", fmt.Sprintf(`user %s must have "get" permission on all objects of the referenced paramKind (kind=%s, apiVersion=%s)`,
		a.User.Name, kind.Kind, kind.APIVersion))
}

// binding refuses a binding with a new paramRef to objects that the user may not read.
func (p *PolicyParams) binding(ctx context.Context, a *admission.Attributes, ref *admissionregistrationv1.ParamRef, policies, policy string) error {
	if ref == nil {
		return nil
	}
	kind, err := p.kindOf(ctx, policies, policy)
	if err != nil {
		return err
	}
	q := p.readAttributes(kind)
	q.User, q.Verb, q.Namespace, q.Name = a.User, "get", ref.Namespace, ref.Name
	if ref.Name == "" {
		q.Verb = "list"
	}
	return p.decide(ctx, a, q, "paramRef", fmt.Sprintf("user %s does not have %q permission on the object referenced by paramRef", a.User.Name, q.Verb))
}

// kindOf returns the paramKind of a policy; nil if there is no such policy yet, or it takes no parameters.
func (p *PolicyParams) kindOf(ctx context.Context, policies, name string) (*admissionregistrationv1.ParamKind, error) {
	obj, err := p.access.Latest(ctx, admissionregistrationv1.GroupVersion.WithResource(policies), types.NamespacedName{Name: name})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch o := obj.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return o.Spec.ParamKind, nil
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		return o.Spec.ParamKind, nil
	}
	return nil, fmt.Errorf("authz: %T is not an admission policy", obj)
}

// readAttributes returns the attributes for reading objects of a kind. A kind that is not defined yet may
// become any resource.
func (p *PolicyParams) readAttributes(kind *admissionregistrationv1.ParamKind) Attributes {
	q := Attributes{ResourceRequest: true, APIGroup: "*", APIVersion: "*", Resource: "*"}
	if kind == nil {
		return q
	}
	gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	q.APIGroup, q.APIVersion = gvk.Group, gvk.Version
	if gvr, _, ok := p.access.ResourceOf(gvk); ok {
		q.Resource = gvr.Resource
	}
	return q
}

func (p *PolicyParams) decide(ctx context.Context, a *admission.Attributes, q Attributes, field, reason string) error {
	d, _, err := p.authorizer.Authorize(ctx, q)
	switch {
	case d == Allow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(fmt.Errorf("authorization: %w", err))
	}
	return apierrors.NewInvalid(a.Kind.GroupKind(), a.Name, validation.ErrorList{validation.Forbidden(validation.NewPath("spec", field), reason)})
}
