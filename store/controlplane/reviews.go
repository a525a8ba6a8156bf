package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// reviews returns the resources that report who a user is and what they may do. None is stored.
func reviews(issued *authn.Tokens, tokens authn.TokenAuthenticator, a authz.Authorizer) []apiserver.Computed {
	return []apiserver.Computed{
		review(func(ctx context.Context, r *authenticationv1.TokenReview) error {
			return reviewToken(ctx, issued, tokens, r)
		}),
		review(func(ctx context.Context, r *authenticationv1.SelfSubjectReview) error {
			r.ObjectMeta, r.Status.UserInfo = metav1.ObjectMeta{}, userInfo(authn.UserFrom(ctx))
			return nil
		}),
		review(func(ctx context.Context, r *authorizationv1.SubjectAccessReview) error {
			if errs := authorizationv1.ValidateSubjectAccessReview(r); errs != nil {
				return invalid(errs)
			}
			completeAccessReview(ctx, a, subject(&r.Spec), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes, &r.Status)
			return nil
		}),
		review(func(ctx context.Context, r *authorizationv1.LocalSubjectAccessReview) error {
			if errs := authorizationv1.ValidateLocalSubjectAccessReview(r); errs != nil {
				return invalid(errs)
			}
			completeAccessReview(ctx, a, subject(&r.Spec), r.Spec.ResourceAttributes, nil, &r.Status)
			return nil
		}),
		review(func(ctx context.Context, r *authorizationv1.SelfSubjectAccessReview) error {
			if errs := authorizationv1.ValidateSelfSubjectAccessReview(r); errs != nil {
				return invalid(errs)
			}
			completeAccessReview(ctx, a, authn.UserFrom(ctx), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes, &r.Status)
			return nil
		}),
		review(func(ctx context.Context, r *authorizationv1.SelfSubjectRulesReview) error {
			return completeRulesReview(ctx, a, r)
		}),
	}
}

// review returns the computed resource of a kind whose creates are completed by fill.
func review[T metav1.Object](fill func(ctx context.Context, r T) error) apiserver.Computed {
	info, err := scheme.InfoFor[T](api.Scheme())
	if err != nil {
		panic(err) // a built-in kind is not registered: any test finds it
	}
	return apiserver.Computed{Info: info, Create: func(ctx context.Context, _ string, obj metav1.Object) (metav1.Object, error) {
		if err := fill(ctx, obj.(T)); err != nil {
			return nil, err
		}
		return obj, nil
	}}
}

// invalid refuses a review. Kubernetes names the group only.
func invalid(errs validation.ErrorList) error {
	return apierrors.NewInvalid(authorizationv1.GroupVersion.WithKind("").GroupKind(), "", errs)
}

func reviewToken(ctx context.Context, issued *authn.Tokens, tokens authn.TokenAuthenticator, r *authenticationv1.TokenReview) error {
	if r.Spec.Token == "" {
		return apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	requested := r.Spec.Audiences
	if len(requested) == 0 {
		requested = issued.Audiences()
	}
	resp, ok, err := tokens.AuthenticateToken(authn.WithAudiences(ctx, requested), r.Spec.Token)
	audiences := requested
	if ok && resp.Audiences != nil {
		audiences = resp.Audiences
	} else if ok {
		// A token that is bound to no audience is one for this server.
		audiences = slices.DeleteFunc(slices.Clone(requested), func(a string) bool { return !slices.Contains(issued.Audiences(), a) })
		ok = len(audiences) > 0
	}
	r.Status = authenticationv1.TokenReviewStatus{Authenticated: ok}
	if err != nil {
		r.Status.Error = err.Error()
	}
	if ok {
		r.Status.User, r.Status.Audiences = userInfo(authn.WithAuthenticated(resp.User)), audiences
	} else if r.Status.Error == "" {
		r.Status.Error = "invalid bearer token"
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

// subject is the user of a review.
func subject(spec *authorizationv1.SubjectAccessReviewSpec) *authn.User {
	u := &authn.User{Name: spec.User, UID: spec.UID, Groups: spec.Groups}
	for k, v := range spec.Extra {
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		u.Extra[k] = v
	}
	return u
}

// completeAccessReview completes a valid review: exactly one of ra and nra is set.
func completeAccessReview(ctx context.Context, a authz.Authorizer, u *authn.User, ra *authorizationv1.ResourceAttributes, nra *authorizationv1.NonResourceAttributes, status *authorizationv1.SubjectAccessReviewStatus) {
	attrs := authz.Attributes{User: u}
	var ignored []error
	if ra != nil {
		attrs.ResourceRequest = true
		attrs.Verb, attrs.Namespace, attrs.APIGroup, attrs.APIVersion = ra.Verb, ra.Namespace, ra.Group, ra.Version
		attrs.Resource, attrs.Subresource, attrs.Name = ra.Resource, ra.Subresource, ra.Name
		if s := ra.FieldSelector; s != nil {
			attrs.FieldSelector = s.RawSelector
			var ok bool
			attrs.FieldRequirements, ok = authz.SelectFields(s.Requirements)
			if _, err := fields.Parse(s.RawSelector); err != nil || !ok {
				ignored = append(ignored, errors.New("spec.resourceAttributes.fieldSelector ignored due to parse error"))
			}
		}
		if s := ra.LabelSelector; s != nil {
			attrs.LabelSelector = s.RawSelector
			var ok bool
			attrs.LabelRequirements, ok = authz.SelectLabels(s.Requirements)
			if _, err := labels.Parse(s.RawSelector); err != nil || !ok {
				ignored = append(ignored, errors.New("spec.resourceAttributes.labelSelector ignored due to parse error"))
			}
		}
	} else {
		attrs.Verb, attrs.Path = nra.Verb, nra.Path
	}
	d, reason, err := a.Authorize(ctx, attrs)
	*status = authorizationv1.SubjectAccessReviewStatus{Allowed: d == authz.Allow, Denied: d == authz.Deny, Reason: reason}
	if err := errors.Join(append(ignored, err)...); err != nil {
		status.EvaluationError = err.Error()
	}
}

func completeRulesReview(ctx context.Context, a authz.Authorizer, r *authorizationv1.SelfSubjectRulesReview) error {
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
	r.ObjectMeta, r.Spec = metav1.ObjectMeta{}, authorizationv1.SelfSubjectRulesReviewSpec{}
	for _, rule := range resource {
		r.Status.ResourceRules = append(r.Status.ResourceRules, authorizationv1.ResourceRule(rule))
	}
	for _, rule := range path {
		r.Status.NonResourceRules = append(r.Status.NonResourceRules, authorizationv1.NonResourceRule(rule))
	}
	return nil
}
