package controlplane

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// reviews adds the resources that answer questions about who somebody is and what they may do. None is stored.
func reviews(issued *authn.Tokens, tokens authn.TokenAuthenticator, a authz.Authorizer, so *apiserver.Options) {
	so.Computed = append(so.Computed,
		review(func(ctx context.Context, r *authenticationv1.TokenReview) error {
			return reviewToken(ctx, issued, tokens, r)
		}),
		review(func(ctx context.Context, r *authenticationv1.SelfSubjectReview) error {
			r.Status.UserInfo = userInfo(authn.UserFrom(ctx))
			return nil
		}),
		review(func(ctx context.Context, r *authorizationv1.SubjectAccessReview) error {
			u, err := subject(&r.Spec)
			if err != nil {
				return invalid("SubjectAccessReview", err)
			}
			return access(ctx, a, "SubjectAccessReview", u, r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes, &r.Status)
		}),
		review(func(ctx context.Context, r *authorizationv1.LocalSubjectAccessReview) error {
			u, err := subject(&r.Spec)
			if err == nil && r.Spec.NonResourceAttributes != nil {
				err = validation.ErrorList{validation.Invalid(validation.NewPath("spec", "nonResourceAttributes"), "", "disallowed on this kind of request")}
			}
			if ra := r.Spec.ResourceAttributes; err == nil && ra != nil && ra.Namespace != r.Namespace {
				err = validation.ErrorList{validation.Invalid(validation.NewPath("spec", "resourceAttributes", "namespace"), ra.Namespace, "must match metadata.namespace")}
			}
			if err != nil {
				return invalid("LocalSubjectAccessReview", err)
			}
			return access(ctx, a, "LocalSubjectAccessReview", u, r.Spec.ResourceAttributes, nil, &r.Status)
		}),
		review(func(ctx context.Context, r *authorizationv1.SelfSubjectAccessReview) error {
			return access(ctx, a, "SelfSubjectAccessReview", authn.UserFrom(ctx), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes, &r.Status)
		}),
		review(func(ctx context.Context, r *authorizationv1.SelfSubjectRulesReview) error { return rulesOf(ctx, a, r) }),
	)
}

// review makes the computed resource of a kind whose creates are answered by fill.
func review[T metav1.Object](fill func(ctx context.Context, r T) error) apiserver.Computed {
	info, err := scheme.InfoFor[T](api.Scheme())
	if err != nil {
		panic(err) // a built-in kind is not registered: any test finds it
	}
	return apiserver.Computed{Info: info, Create: func(ctx context.Context, namespace string, obj metav1.Object) (metav1.Object, error) {
		if info.Namespaced {
			obj.SetNamespace(namespace)
		}
		if err := fill(ctx, obj.(T)); err != nil {
			return nil, err
		}
		return obj, nil
	}}
}

func invalid(kind string, errs validation.ErrorList) error {
	gvk := authorizationv1.GroupVersion.WithKind(kind)
	return apierrors.NewInvalid(gvk.GroupKind(), "", errs)
}

func reviewToken(ctx context.Context, issued *authn.Tokens, tokens authn.TokenAuthenticator, r *authenticationv1.TokenReview) error {
	if r.Spec.Token == "" {
		return apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	if len(r.Spec.Audiences) == 0 {
		r.Spec.Audiences = issued.Audiences()
	}
	resp, ok, err := tokens.AuthenticateToken(authn.WithAudiences(ctx, r.Spec.Audiences), r.Spec.Token)
	r.Status = authenticationv1.TokenReviewStatus{Authenticated: ok}
	if err != nil {
		r.Status.Error = err.Error()
	}
	if ok {
		r.Status.User = userInfo(resp.User)
		if resp.Audiences != nil {
			r.Status.Audiences = resp.Audiences
		} else {
			r.Status.Audiences = r.Spec.Audiences
		}
	}
	return nil
}

func userInfo(u *authn.User) authenticationv1.UserInfo {
	if u == nil {
		return authenticationv1.UserInfo{}
	}
	info := authenticationv1.UserInfo{Username: u.Name, UID: u.UID, Groups: u.Groups}
	for k, v := range u.Extra {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[k] = v
	}
	return info
}

func subject(spec *authorizationv1.SubjectAccessReviewSpec) (*authn.User, validation.ErrorList) {
	if spec.User == "" && len(spec.Groups) == 0 {
		return nil, validation.ErrorList{validation.Invalid(validation.NewPath("spec", "user"), "", "at least one of user or group must be specified")}
	}
	u := &authn.User{Name: spec.User, UID: spec.UID, Groups: spec.Groups}
	for k, v := range spec.Extra {
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		u.Extra[k] = v
	}
	return u, nil
}

func access(ctx context.Context, a authz.Authorizer, kind string, u *authn.User, ra *authorizationv1.ResourceAttributes, nra *authorizationv1.NonResourceAttributes, status *authorizationv1.SubjectAccessReviewStatus) error {
	if (ra == nil) == (nra == nil) {
		return invalid(kind, validation.ErrorList{validation.Invalid(validation.NewPath("spec", "resourceAttributes"), "", "exactly one of nonResourceAttributes or resourceAttributes must be specified")})
	}
	attrs := authz.Attributes{User: u}
	if ra != nil {
		attrs.ResourceRequest = true
		attrs.Verb, attrs.Namespace, attrs.APIGroup, attrs.APIVersion = ra.Verb, ra.Namespace, ra.Group, ra.Version
		attrs.Resource, attrs.Subresource, attrs.Name = ra.Resource, ra.Subresource, ra.Name
		if ra.FieldSelector != nil {
			attrs.FieldSelector = ra.FieldSelector.RawSelector
		}
		if ra.LabelSelector != nil {
			attrs.LabelSelector = ra.LabelSelector.RawSelector
		}
	} else {
		attrs.Verb, attrs.Path = nra.Verb, nra.Path
	}
	d, reason, err := a.Authorize(ctx, attrs)
	*status = authorizationv1.SubjectAccessReviewStatus{Allowed: d == authz.Allow, Denied: d == authz.Deny, Reason: reason}
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return nil
}

func rulesOf(ctx context.Context, a authz.Authorizer, r *authorizationv1.SelfSubjectRulesReview) error {
	if r.Spec.Namespace == "" {
		return apierrors.NewBadRequest("no namespace on request")
	}
	resolver, ok := a.(authz.RuleResolver)
	if !ok {
		r.Status = authorizationv1.SubjectRulesReviewStatus{Incomplete: true, EvaluationError: fmt.Sprintf("%T does not list rules", a)}
		return nil
	}
	resource, path, incomplete, err := resolver.RulesFor(ctx, authn.UserFrom(ctx), r.Spec.Namespace)
	r.Status = authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}, Incomplete: incomplete}
	if err != nil {
		r.Status.EvaluationError = err.Error()
	}
	for _, rule := range resource {
		r.Status.ResourceRules = append(r.Status.ResourceRules, authorizationv1.ResourceRule(rule))
	}
	for _, rule := range path {
		r.Status.NonResourceRules = append(r.Status.NonResourceRules, authorizationv1.NonResourceRule(rule))
	}
	return nil
}
