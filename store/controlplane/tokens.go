package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/registry"
)

// Bounds of the lifetime of a requested token. A token with the lifetime that pods request is valid for a
// year, for clients that do not reread it, but its use after the requested hour is reported.
const (
	minTokenSeconds   = 10 * 60
	maxTokenSeconds   = 1 << 32
	podTokenSeconds   = 3607
	extendedSeconds   = 365 * 24 * 60 * 60
	defaultSeconds    = 60 * 60
	deletedTokenGrace = time.Minute
)

// issuer serves the token subresource of service accounts.
type issuer struct {
	tokens *authn.Tokens
	access registry.Access
	// maxLifetime bounds the life of tokens if it is not zero. extend gives the tokens of pods a year.
	maxLifetime time.Duration
	extend      bool
}

// IssueToken implements apiserver.TokenIssuer.
func (i *issuer) IssueToken(ctx context.Context, account, request metav1.Object) (string, error) {
	req, ok := request.(*authenticationv1.TokenRequest)
	sa, ok2 := account.(*corev1.ServiceAccount)
	if !ok || !ok2 {
		return "", apierrors.NewInternalError(fmt.Errorf("controlplane: cannot issue a token from %T for %T", request, account))
	}
	kind := schema.GroupKind{Group: "authentication.k8s.io", Kind: "TokenRequest"}
	spec := validation.NewPath("spec")
	if req.Spec.ExpirationSeconds == nil {
		req.Spec.ExpirationSeconds = new(int64(defaultSeconds))
	}
	seconds := *req.Spec.ExpirationSeconds
	var errs validation.ErrorList
	if seconds < minTokenSeconds {
		errs = append(errs, validation.Invalid(spec.Child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes"))
	}
	if seconds > maxTokenSeconds {
		errs = append(errs, validation.Invalid(spec.Child("expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds"))
	}
	if len(errs) > 0 {
		return "", apierrors.NewInvalid(kind, sa.Name, errs)
	}
	now := time.Now()
	claims := authn.TokenClaims{Namespace: sa.Namespace, ID: string(registry.NewUID()), ServiceAccount: authn.ObjectRef{Name: sa.Name, UID: string(sa.UID)}, Audiences: req.Spec.Audiences}
	if len(req.Spec.Audiences) == 0 {
		req.Spec.Audiences = slices.Clone(i.tokens.Audiences())
		claims.Audiences = req.Spec.Audiences
	}
	if err := i.bind(ctx, sa, req.Spec.BoundObjectRef, &claims); err != nil {
		return "", err
	}
	if err := mayRequest(authn.UserFrom(ctx), sa, req.Spec.BoundObjectRef, &claims); err != nil {
		return "", err
	}
	if limit := int64(i.maxLifetime / time.Second); limit > 0 && seconds > limit {
		seconds = limit
		req.Spec.ExpirationSeconds = &seconds
	}
	claims.Expires = now.Add(time.Duration(seconds) * time.Second)
	if i.extend && seconds == podTokenSeconds && claims.Pod != nil && slices.Equal(claims.Audiences, i.tokens.Audiences()) {
		claims.WarnAfter, claims.Expires = claims.Expires, now.Add(i.extended())
	}
	token, err := i.tokens.Sign(claims)
	if err != nil {
		return "", apierrors.NewInternalError(err)
	}
	// The client gets the time to request a new token, not when an extended one really ends.
	req.Status = authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.Time{Time: now.Add(time.Duration(seconds) * time.Second)}}
	return authn.CredentialID(claims.ID), nil
}

// extended is the life of a token that is valid for longer than requested.
func (i *issuer) extended() time.Duration {
	if i.maxLifetime > 0 {
		return min(i.maxLifetime, extendedSeconds*time.Second)
	}
	return extendedSeconds * time.Second
}

// mayRequest denies a node tokens of accounts that no pod on it uses, even if it is authorized: the rule that
// allows nodes to request tokens cannot name the accounts.
func mayRequest(u *authn.User, sa *corev1.ServiceAccount, ref *authenticationv1.BoundObjectReference, c *authn.TokenClaims) error {
	node, ok := authn.NodeName(u)
	if !ok {
		return nil
	}
	reason := ""
	switch {
	case c.Pod == nil:
		reason = "node requested token not bound to a pod"
	case ref.UID == "":
		reason = "node requested token with a pod binding without a uid"
	case c.Node == nil || c.Node.Name != node:
		reason = "node requested token bound to a pod scheduled on a different node"
	default:
		return nil
	}
	return apierrors.NewForbidden(serviceAccounts.GroupResource(), sa.Name, errors.New(reason))
}

// bind resolves the object to whose existence the token is bound.
func (i *issuer) bind(ctx context.Context, sa *corev1.ServiceAccount, ref *authenticationv1.BoundObjectReference, c *authn.TokenClaims) error {
	if ref == nil {
		return nil
	}
	var gvr schema.GroupVersionResource
	key := types.NamespacedName{Namespace: sa.Namespace, Name: ref.Name}
	switch {
	case ref.APIVersion != "v1":
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %v", schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)))
	case ref.Kind == "Pod":
		gvr = podsResource
	case ref.Kind == "Secret":
		gvr = secretsResource
	case ref.Kind == "Node":
		gvr, key.Namespace = nodesResource, ""
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %v", schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)))
	}
	obj, err := i.access.GetLatest(ctx, gvr, key)
	if err != nil {
		return err
	}
	uid := metav1.MetaOf(obj).UID
	if ref.UID != "" && ref.UID != uid {
		return apierrors.NewConflict(gvr.GroupResource(), ref.Name, fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	bound := &authn.ObjectRef{Name: ref.Name, UID: string(uid)}
	switch o := obj.(type) {
	case *corev1.Pod:
		if o.Spec.ServiceAccountName != sa.Name {
			return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name %q", sa.Name, o.Spec.ServiceAccountName))
		}
		c.Pod = bound
		if o.Spec.NodeName != "" {
			node := &authn.ObjectRef{Name: o.Spec.NodeName}
			if n, err := i.access.Get(ctx, nodesResource, types.NamespacedName{Name: o.Spec.NodeName}); err == nil {
				node.UID = string(metav1.MetaOf(n).UID)
			}
			c.Node = node
		}
	case *corev1.Secret:
		c.Secret = bound
	case *corev1.Node:
		c.Node = bound
	}
	return nil
}
