package authn

import (
	"context"
	"crypto/subtle"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Names of bootstrap tokens, with which a machine requests its first certificate.
const (
	// BootstrapSecretType is the type of secrets in kube-system that each hold one token, and
	// BootstrapSecretPrefix is what their names begin with; the token's id follows.
	BootstrapSecretType   = "bootstrap.kubernetes.io/token"
	BootstrapSecretPrefix = "bootstrap-token-"
	// BootstrapPrefix followed by the id is the user name of a token.
	BootstrapPrefix    = "system:bootstrap:"
	GroupBootstrappers = "system:bootstrappers"
)

var (
	bootstrapToken = regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})$`)
	bootstrapGroup = regexp.MustCompile(`^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$`)
)

// BootstrapTokens identifies the bearers of bootstrap tokens: ID.SECRET, six and sixteen lower-case letters
// or digits. The secret kube-system/bootstrap-token-ID must have the type bootstrap.kubernetes.io/token, both
// parts as token-id and token-secret, and usage-bootstrap-authentication "true", and its expiration (RFC
// 3339), if any, must be in the future. The user is system:bootstrap:ID in system:bootstrappers and in the
// groups of auth-extra-groups, separated by commas, which must all begin with system:bootstrappers:.
//
// secret returns one of the stored secrets, or a not-found error. It is called for tokens of unauthenticated
// clients, so it should be cheap. Tokens of another form are left to other authenticators; the client learns
// only that the token is not valid.
func BootstrapTokens(secret func(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error)) TokenAuthenticator {
	return TokenFunc(func(ctx context.Context, token string) (*Response, bool, error) {
		parts := bootstrapToken.FindStringSubmatch(token)
		if parts == nil {
			return nil, false, nil
		}
		id := parts[1]
		s, err := secret(ctx, types.NamespacedName{Namespace: "kube-system", Name: BootstrapSecretPrefix + id})
		if apierrors.IsNotFound(err) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("authn: bootstrap token %s: %w", id, err)
		}
		if subtle.ConstantTimeCompare(s.Data["token-secret"], []byte(parts[2])) != 1 || !inForce(s, id, time.Now()) {
			return nil, false, nil
		}
		groups, ok := bootstrapGroups(string(s.Data["auth-extra-groups"]))
		if !ok {
			return nil, false, nil
		}
		return &Response{User: &User{Name: BootstrapPrefix + id, Groups: groups}}, true, nil
	})
}

// inForce reports whether s is the secret of a token that may authenticate now.
func inForce(s *corev1.Secret, id string, now time.Time) bool {
	if s.Type != BootstrapSecretType || s.DeletionTimestamp != nil || string(s.Data["token-id"]) != id ||
		string(s.Data["usage-bootstrap-authentication"]) != "true" {
		return false
	}
	end := string(s.Data["expiration"])
	if end == "" {
		return true
	}
	at, err := time.Parse(time.RFC3339, end) // a malformed expiration counts as expired
	return err == nil && now.Before(at)
}

// bootstrapGroups returns the groups of a token whose secret lists more; false if one of these is not a group
// for bootstrap tokens.
func bootstrapGroups(more string) ([]string, bool) {
	groups := []string{GroupBootstrappers}
	if more == "" {
		return groups, true
	}
	for g := range strings.SplitSeq(more, ",") {
		if !bootstrapGroup.MatchString(g) {
			return nil, false
		}
		groups = append(groups, g)
	}
	slices.Sort(groups)
	return slices.Compact(groups), true
}
