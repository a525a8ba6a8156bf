// Package bootstraptokens has the controllers of bootstrap tokens, with which machines join a cluster: one
// signs the ConfigMap kube-public/cluster-info with each token, so that a machine that knows only its token
// can trust it, and one deletes tokens that have expired.
package bootstraptokens

import (
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// secretPrefix is what the names of the tokens' secrets begin with; the token's id follows.
const secretPrefix = "bootstrap-token-"

// secrets returns the informer for the secrets of bootstrap tokens.
func secrets(m *manager.Manager) *informers.Informer[*corev1.Secret] {
	return informers.For(m.Informers(), informers.Options[*corev1.Secret]{
		Namespaces: []string{metav1.NamespaceSystem}, FieldSelector: fields.OneEqual("type", string(corev1.SecretTypeBootstrapToken))})
}

// remaining returns how long a token is valid, zero or less if it has expired, and whether it expires at all.
// A time that cannot be read has passed.
func remaining(s *corev1.Secret, now time.Time) (left time.Duration, expires bool) {
	text := string(s.Data["expiration"])
	if text == "" {
		return 0, false
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, true
	}
	return at.Sub(now), true
}
