package controlplane_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// An embedder's authorizer decides before, after or instead of the built-in ones, by its place among the
// modes.
func TestOwnAuthorizer(t *testing.T) {
	mine := authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
		switch {
		case a.User.Name == "ann" && a.Resource == "configmaps":
			return authz.Allow, "ann's", nil
		case a.User.Name == "bob":
			return authz.Deny, "not bob", nil
		}
		return authz.NoOpinion, "", nil
	})
	for name, c := range map[string]struct {
		modes                      []string
		annLists, annSees, bobSees bool
	}{
		"before":  {[]string{"Mine", "RBAC"}, true, true, false},
		"after":   {[]string{"RBAC", "Mine"}, true, true, true},
		"instead": {[]string{"Mine"}, true, false, false},
		"without": {[]string{"RBAC"}, false, true, true},
	} {
		p := planetest.Start(t, func(o *controlplane.Options) {
			o.AuthorizationModes, o.Authorizers = c.modes, map[string]authz.Authorizer{"Mine": mine}
		})
		sees := func(token string) bool {
			_, err := p.Token(token).Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/version"})
			require.True(t, err == nil || apierrors.IsForbidden(err), err)
			return err == nil
		}
		_, err := client.For[*corev1.ConfigMap](p.Token("ann-token")).List(t.Context(), client.ListOptions{})
		require.Equal(t, c.annLists, err == nil, "%s: %v", name, err)
		require.Equal(t, c.annSees, sees("ann-token"), name)
		require.Equal(t, c.bobSees, sees("bob-token"), name)
		require.True(t, sees("masters-token"), name)
	}
	_, err := controlplane.New(controlplane.Options{ServiceAccountKeys: []any{planetest.SigningKey(t)}, AuthorizationModes: []string{"Mine"}})
	require.ErrorContains(t, err, `unknown authorization mode "Mine"; known are Node, RBAC, AlwaysAllow, AlwaysDeny`)
	_, err = controlplane.New(controlplane.Options{ServiceAccountKeys: []any{planetest.SigningKey(t)}, AuthorizationModes: []string{"RBAC"}, Authorizers: map[string]authz.Authorizer{"RBAC": mine}})
	require.ErrorContains(t, err, "Options.Authorizers has RBAC, which is a built-in authorization mode")
}

// An embedder's authenticator is tried before or after the built-in ones, or is the only one.
func TestOwnAuthenticator(t *testing.T) {
	mine := authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
		if r.Header.Get("Authorization") != "Bearer ann-token" {
			return nil, false, nil
		}
		return &authn.Response{User: &authn.User{Name: "another ann"}}, true, nil
	})
	for name, c := range map[string]struct {
		chain    func(builtin authn.Authenticator) authn.Authenticator
		ann, bob string
	}{
		"before":  {func(b authn.Authenticator) authn.Authenticator { return authn.Union(mine, b) }, "another ann", "bob"},
		"after":   {func(b authn.Authenticator) authn.Authenticator { return authn.Union(b, mine) }, "ann", "bob"},
		"instead": {func(authn.Authenticator) authn.Authenticator { return mine }, "another ann", "system:anonymous"},
	} {
		p := planetest.Start(t, func(o *controlplane.Options) {
			o.Authenticator, o.AuthorizationModes = c.chain, []string{"Mine"}
			// The mode AlwaysAllow would disable anonymous requests.
			o.Authorizers = map[string]authz.Authorizer{"Mine": authz.AlwaysAllow()}
		})
		who := func(token string) string {
			u, err := whoami(t, p.Conn(rest.Config{BearerToken: token}))
			require.NoError(t, err)
			return u.Username
		}
		require.Equal(t, c.ann, who("ann-token"), name)
		require.Equal(t, c.bob, who("bob-token"), name)
	}
}

// An embedder sees the whole admission chain and may change it.
func TestOwnAdmission(t *testing.T) {
	var builtin int
	p := planetest.Start(t, func(o *controlplane.Options) {
		o.Admission = func(all []admission.Plugin) []admission.Plugin {
			builtin = len(all)
			return nil
		}
	})
	require.Greater(t, builtin, 10)
	require.NoError(t, planetest.TryCreate(t, p.Admin(), &corev1.ConfigMap{ObjectMeta: planetest.Meta("no-such-namespace", "x")}), "NamespaceLifecycle does not run")
}

// ownPlugin is an embedder's: it labels config maps, and refuses those with what it forbids.
type ownPlugin struct{}

func (ownPlugin) Name() string                        { return "Own" }
func (ownPlugin) Handles(op admission.Operation) bool { return op == admission.Create }

func (ownPlugin) Admit(_ context.Context, a *admission.Attributes) error {
	if m, ok := a.Object.(*corev1.ConfigMap); ok {
		m.Labels = map[string]string{"seen-by": a.User.Name}
	}
	return nil
}

func (ownPlugin) Validate(_ context.Context, a *admission.Attributes) error {
	m, ok := a.Object.(*corev1.ConfigMap)
	switch {
	case !ok || a.Subresource != "":
		return nil
	case m.Labels["seen-by"] != a.User.Name:
		return errors.New("it was not mutated before it is validated")
	case m.Data["teapot"] != "":
		return apierrors.New(http.StatusTeapot, "Teapot", "no coffee in "+a.Namespace)
	case m.Data["forbidden"] != "":
		return errors.New("the house does not allow it")
	}
	return nil
}

// A client sees why an embedder's plugin, authenticator or authorizer has refused a request, as it sees the
// refusals of the built-in ones.
func TestOwnRefusals(t *testing.T) {
	p := planetest.Start(t, func(o *controlplane.Options) {
		o.Plugins = []admission.Plugin{ownPlugin{}}
		o.AuthorizationModes = []string{"Mine", "AlwaysAllow"}
		o.Authorizers = map[string]authz.Authorizer{"Mine": authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
			if a.User.Name == "bob" {
				return authz.Deny, "bob is on holiday", nil
			}
			return authz.NoOpinion, "", nil
		})}
		o.Authenticator = func(builtin authn.Authenticator) authn.Authenticator {
			return authn.Union(authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
				if r.Header.Get("Authorization") == "Bearer stolen" {
					return nil, false, errors.New("this token was stolen")
				}
				return nil, false, nil
			}), builtin)
		}
	})
	create := func(conn client.Conn, data map[string]string) (*corev1.ConfigMap, error) {
		return client.For[*corev1.ConfigMap](conn).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "m"), Data: data})
	}
	_, err := create(p.Token("ann-token"), map[string]string{"forbidden": "x"})
	require.True(t, apierrors.IsForbidden(err), err)
	require.EqualError(t, err, `configmaps "m" is forbidden: the house does not allow it`)
	_, err = create(p.Token("ann-token"), map[string]string{"teapot": "x"})
	require.Equal(t, http.StatusTeapot, apierrors.CodeOf(err))
	require.Equal(t, metav1.StatusReason("Teapot"), apierrors.ReasonOf(err))
	require.EqualError(t, err, "no coffee in default")
	_, err = create(p.Token("bob-token"), nil)
	require.True(t, apierrors.IsForbidden(err), err)
	require.EqualError(t, err, `configmaps is forbidden: User "bob" cannot create resource "configmaps" in API group "" in the namespace "default": bob is on holiday`)
	_, err = create(p.Token("stolen"), nil)
	require.True(t, apierrors.IsUnauthorized(err), err)
	require.NotContains(t, err.Error(), "stolen", "the reason is logged, and not for who holds the token")
	made, err := create(p.Token("ann-token"), map[string]string{"k": "v"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"seen-by": "ann"}, made.Labels)
}
