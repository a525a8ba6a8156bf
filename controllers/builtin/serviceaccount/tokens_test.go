package serviceaccount_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/serviceaccount"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// tokenKeys are keys of the kinds that sign tokens, by algorithm.
func tokenKeys(t *testing.T) map[string]crypto.Signer {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return map[string]crypto.Signer{"ES256": ec, "RS256": rs}
}

// startTokens starts a cluster with the controller of tokens, which has the rights of the program.
func startTokens(t *testing.T, key crypto.Signer) *controllertest.Cluster {
	return controllertest.Start(t, controllertest.Options{
		As: client.User{Name: "system:kube-controller-manager"},
		Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			return serviceaccount.AddTokens(m, serviceaccount.TokenOptions{Key: key, RootCA: []byte("PEM")})
		}},
	})
}

func tokenSecret(name, account string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: controllertest.Name("default", name), Type: corev1.SecretTypeServiceAccountToken}
	s.Annotations = map[string]string{corev1.ServiceAccountNameKey: account}
	return s
}

func TestTokens(t *testing.T) {
	for algorithm, key := range tokenKeys(t) {
		synctest.Test(t, func(t *testing.T) {
			c := startTokens(t, key)
			account := controllertest.Create(c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "robot")})
			controllertest.Create(c, tokenSecret("robot-token", "robot"))
			c.Settle()
			s := controllertest.Get[*corev1.Secret](c, "default", "robot-token")
			require.Equal(t, string(account.UID), s.Annotations[corev1.ServiceAccountUIDKey])
			require.Equal(t, "PEM", string(s.Data["ca.crt"]))
			require.Equal(t, "default", string(s.Data["namespace"]))
			token, err := jose.ParseSigned(string(s.Data["token"]), []jose.SignatureAlgorithm{jose.SignatureAlgorithm(algorithm)})
			require.NoError(t, err)
			require.NotEmpty(t, token.Signatures[0].Header.KeyID)
			body, err := token.Verify(key.Public())
			require.NoError(t, err)
			var claims map[string]string
			require.NoError(t, json.Unmarshal(body, &claims))
			require.Equal(t, map[string]string{"iss": "kubernetes/serviceaccount", "sub": "system:serviceaccount:default:robot",
				"kubernetes.io/serviceaccount/namespace": "default", "kubernetes.io/serviceaccount/secret.name": "robot-token",
				"kubernetes.io/serviceaccount/service-account.name": "robot", "kubernetes.io/serviceaccount/service-account.uid": string(account.UID)}, claims)
			// What is removed is written again.
			controllertest.Update(c, "default", "robot-token", func(s *corev1.Secret) { delete(s.Data, "namespace") })
			c.Settle()
			require.Equal(t, "default", string(controllertest.Get[*corev1.Secret](c, "default", "robot-token").Data["namespace"]))
		})
	}
}

// A secret ends with its account, even if another one of the same name follows, and an account forgets a
// secret that is deleted.
func TestTokensEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startTokens(t, tokenKeys(t)["ES256"])
		there := func(name string) bool { return controllertest.Exists[*corev1.Secret](c, "default", name) }
		controllertest.Create(c, tokenSecret("early", "robot"))
		other := &corev1.Secret{ObjectMeta: controllertest.Name("default", "other")}
		other.Annotations = map[string]string{corev1.ServiceAccountNameKey: "robot"}
		controllertest.Create(c, other)
		c.Settle()
		require.False(t, there("early"), "there is no such account")
		robot := &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "robot")}
		robot.Secrets = []corev1.ObjectReference{{Name: "a"}, {Name: "b"}, {Name: "other"}}
		controllertest.Create(c, robot)
		controllertest.Create(c, tokenSecret("a", "robot"))
		controllertest.Create(c, tokenSecret("b", "robot"))
		c.Settle()
		controllertest.Delete[*corev1.Secret](c, "default", "a")
		c.Settle()
		require.Equal(t, []corev1.ObjectReference{{Name: "b"}, {Name: "other"}}, controllertest.Get[*corev1.ServiceAccount](c, "default", "robot").Secrets)
		controllertest.Delete[*corev1.ServiceAccount](c, "default", "robot")
		controllertest.Create(c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "robot")})
		c.Sleep(time.Minute)
		require.False(t, there("b"))
		require.True(t, there("other"), "secrets of other types are left alone")
	})
}

func TestTokensNeedAKey(t *testing.T) {
	require.EqualError(t, serviceaccount.AddTokens(nil, serviceaccount.TokenOptions{}), "serviceaccount: TokenOptions.Key is required")
}
