package bootstraptokens

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// clusterInfo is the ConfigMap that is signed. Its key content is what the signatures are of, and those are
// in the keys that begin with signaturePrefix; the id of a token follows.
var clusterInfo = types.NamespacedName{Namespace: metav1.NamespacePublic, Name: "cluster-info"}

const (
	content         = "kubeconfig"
	signaturePrefix = "jws-kubeconfig-"
)

type signer struct {
	secrets informers.Lister[*corev1.Secret]
	configs informers.Lister[*corev1.ConfigMap]
	api     *client.Client[*corev1.ConfigMap]
}

// AddSigner adds the controller to m that signs the ConfigMap cluster-info with all tokens that are for it.
func AddSigner(m *manager.Manager) error {
	tokens := secrets(m)
	configs := informers.For(m.Informers(), informers.Options[*corev1.ConfigMap]{
		Namespaces: []string{clusterInfo.Namespace}, FieldSelector: fields.OneEqual("metadata.name", clusterInfo.Name)})
	s := &signer{secrets: tokens.Lister(), configs: configs.Lister(), api: client.For[*corev1.ConfigMap](m.Conn())}
	_, err := controllers.Add(m, "bootstrap-signer", reconcile.Func(s.reconcile), controllers.Options{},
		controllers.From(configs, controllers.Self),
		controllers.From(tokens, func(informers.Event[*corev1.Secret]) []reconcile.Request { return []reconcile.Request{clusterInfo} }))
	return err
}

func (s *signer) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	have, err := s.configs.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	text, ok := have.Data[content]
	if !ok {
		return reconcile.Result{}, nil // there is nothing to sign yet
	}
	data := maps.Clone(have.Data)
	maps.DeleteFunc(data, func(key, _ string) bool { return strings.HasPrefix(key, signaturePrefix) })
	var again time.Duration // when the first token expires
	err = s.secrets.ViewAll(informers.ListOptions{}, func(secret *corev1.Secret) bool {
		left, expires := remaining(secret, time.Now())
		if !signs(secret) || expires && left <= 0 {
			return true
		}
		if expires && (again == 0 || left < again) {
			again = left
		}
		id := string(secret.Data["token-id"])
		data[signaturePrefix+id] = sign(text, id, secret.Data["token-secret"])
		return true
	})
	if err != nil {
		return reconcile.Result{}, err
	}
	if !maps.Equal(data, have.Data) {
		have.Data = data
		if _, err := s.api.Update(ctx, have); err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// signs reports whether a secret is that of a token for signatures.
func signs(s *corev1.Secret) bool {
	id := string(s.Data["token-id"])
	return s.DeletionTimestamp == nil && id != "" && s.Name == secretPrefix+id && len(s.Data["token-secret"]) > 0 &&
		string(s.Data["usage-bootstrap-signing"]) == "true"
}

// sign returns the JSON web signature of text by a token, by HMAC-SHA256, without text itself.
func sign(text, id string, secret []byte) string {
	// Encoding two strings cannot fail.
	header, _ := json.Marshal(struct {
		Algorithm string `json:"alg"`
		Key       string `json:"kid"`
	}{"HS256", id})
	encode := base64.RawURLEncoding.EncodeToString
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(encode(header) + "." + encode([]byte(text))))
	return encode(header) + ".." + encode(mac.Sum(nil))
}
