package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// Bounds of a requested token's life. A token of the length pods get is valid for a year, so that clients
// which do not reread it survive, but its use is warned about after the requested hour.
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
}

// IssueToken implements apiserver.TokenIssuer.
func (i *issuer) IssueToken(ctx context.Context, account, request metav1.Object) error {
	req, ok := request.(*authenticationv1.TokenRequest)
	sa, ok2 := account.(*corev1.ServiceAccount)
	if !ok || !ok2 {
		return apierrors.NewInternalError(fmt.Errorf("controlplane: cannot issue a token from %T for %T", request, account))
	}
	kind := schema.GroupKind{Group: "authentication.k8s.io", Kind: "TokenRequest"}
	spec := validation.NewPath("spec")
	if req.Spec.ExpirationSeconds == nil {
		req.Spec.ExpirationSeconds = new(int64(defaultSeconds))
	}
	seconds := *req.Spec.ExpirationSeconds
	var wrong validation.ErrorList
	if seconds < minTokenSeconds {
		wrong = append(wrong, validation.Invalid(spec.Child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes"))
	}
	if seconds > maxTokenSeconds {
		wrong = append(wrong, validation.Invalid(spec.Child("expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds"))
	}
	if len(wrong) > 0 {
		return apierrors.NewInvalid(kind, sa.Name, wrong)
	}
	now := time.Now()
	claims := authn.TokenClaims{Namespace: sa.Namespace, ServiceAccount: authn.ObjectRef{Name: sa.Name, UID: string(sa.UID)}, Audiences: req.Spec.Audiences}
	if len(req.Spec.Audiences) == 0 {
		req.Spec.Audiences = slices.Clone(i.tokens.Audiences())
		claims.Audiences = req.Spec.Audiences
	}
	if err := i.bind(ctx, sa, req.Spec.BoundObjectRef, &claims); err != nil {
		return err
	}
	if err := mayHold(authn.UserFrom(ctx), sa, req.Spec.BoundObjectRef, &claims); err != nil {
		return err
	}
	claims.Expires = now.Add(time.Duration(seconds) * time.Second)
	if seconds == podTokenSeconds && claims.Pod != nil && slices.Equal(claims.Audiences, i.tokens.Audiences()) {
		claims.WarnAfter, claims.Expires = claims.Expires, now.Add(extendedSeconds*time.Second)
	}
	token, err := i.tokens.Sign(claims)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	// The client gets the time to request a new token, not when an extended one really ends.
	req.Status = authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.Time{Time: now.Add(time.Duration(seconds) * time.Second)}}
	return nil
}

// mayHold denies a node tokens of accounts that no pod on it uses, even if it is authorized: the rule that
// allows nodes to request tokens cannot name the accounts.
func mayHold(u *authn.User, sa *corev1.ServiceAccount, ref *authenticationv1.BoundObjectReference, c *authn.TokenClaims) error {
	node, ok := nodeOf(u)
	if !ok {
		return nil
	}
	why := ""
	switch {
	case c.Pod == nil:
		why = "node requested token not bound to a pod"
	case ref.UID == "":
		why = "node requested token with a pod binding without a uid"
	case c.Node == nil || c.Node.Name != node:
		why = "node requested token bound to a pod scheduled on a different node"
	default:
		return nil
	}
	return apierrors.NewForbidden(serviceAccounts.GroupResource(), sa.Name, errors.New(why))
}

// nodeOf returns the name of the node that a user is.
func nodeOf(u *authn.User) (name string, ok bool) {
	if u == nil || !slices.Contains(u.Groups, authn.GroupNodes) {
		return "", false
	}
	return strings.CutPrefix(u.Name, authn.NodePrefix)
}

// bind resolves the object the token dies with.
func (i *issuer) bind(ctx context.Context, sa *corev1.ServiceAccount, ref *authenticationv1.BoundObjectReference, c *authn.TokenClaims) error {
	if ref == nil {
		return nil
	}
	var gvr schema.GroupVersionResource
	key := types.NamespacedName{Namespace: sa.Namespace, Name: ref.Name}
	switch {
	case ref.APIVersion != "v1":
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s/%s", ref.APIVersion, ref.Kind))
	case ref.Kind == "Pod":
		gvr = podsResource
	case ref.Kind == "Secret":
		gvr = secretsResource
	case ref.Kind == "Node":
		gvr, key.Namespace = nodesResource, ""
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s/%s", ref.APIVersion, ref.Kind))
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
