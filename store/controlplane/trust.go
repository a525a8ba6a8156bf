package controlplane

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/registry"
)

// trustKey is the ConfigMap that publishes to aggregated API servers which clients this one trusts; they read
// it through the role extension-apiserver-authentication-reader.
var trustKey = types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: "extension-apiserver-authentication"}

// trust is what is published.
type trust struct {
	clientCA, proxyCA func() []byte // nil if not published
	// fixed are the keys that do not change.
	fixed map[string]string
}

// newTrust returns what the options say; nil if that is nothing.
func newTrust(o *Options) (*trust, error) {
	t := &trust{clientCA: o.ClientCAFile, fixed: map[string]string{}}
	if h := o.RequestHeader; h != nil && o.RequestHeaderCAFile != nil {
		t.proxyCA = o.RequestHeaderCAFile
		for key, list := range map[string][]string{"requestheader-allowed-names": h.AllowedNames, "requestheader-username-headers": h.UsernameHeaders,
			"requestheader-uid-headers": h.UIDHeaders, "requestheader-group-headers": h.GroupHeaders, "requestheader-extra-headers-prefix": h.ExtraPrefixes} {
			if len(list) == 0 && key == "requestheader-uid-headers" {
				continue // older servers do not know it
			}
			text, err := json.Marshal(slices.Concat([]string{}, list))
			if err != nil {
				return nil, err
			}
			t.fixed[key] = string(text)
		}
	}
	if t.clientCA == nil && t.proxyCA == nil {
		return nil, nil
	}
	return t, nil
}

// merge adds what this server trusts to the content of the ConfigMap. Other servers may trust further
// authorities and names, as while these are being replaced, so that what is there stays: a certificate until
// it has expired. What cannot be read is replaced.
func (t *trust) merge(data map[string]string) {
	for key, mine := range t.fixed {
		data[key] = mergedNames(data[key], mine)
	}
	for key, mine := range map[string]func() []byte{"client-ca-file": t.clientCA, "requestheader-client-ca-file": t.proxyCA} {
		if mine == nil {
			continue
		}
		if data[key] = mergedCertificates([]byte(data[key]), mine()); data[key] == "" {
			delete(data, key)
		}
	}
}

// mergedNames returns the JSON list with the elements of two.
func mergedNames(have, mine string) string {
	all := []string{}
	for _, text := range []string{have, mine} {
		var list []string
		if json.Unmarshal([]byte(text), &list) != nil {
			continue
		}
		for _, name := range list {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return mine
	}
	return string(text)
}

// expiredFor is how long a certificate must have expired to be left out.
const expiredFor = 5 * time.Minute

// mergedCertificates returns those of both, each once, without the expired ones.
func mergedCertificates(have, mine []byte) string {
	var out bytes.Buffer
	seen := map[string]bool{}
	for _, rest := range [][]byte{have, mine} {
		for {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil || seen[string(c.Raw)] || time.Since(c.NotAfter) > expiredFor {
				continue
			}
			seen[string(c.Raw)] = true
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // a buffer takes all
		}
	}
	return out.String()
}

// trustInterval is how often it is checked for changes by other clients.
const trustInterval = time.Minute

// publishTrust sees to it that the ConfigMap has what Options define until ctx ends, beginning when the
// namespaces exist. Keys of other writers are kept.
func (c *ControlPlane) publishTrust(ctx context.Context, namespaces <-chan struct{}) {
	select {
	case <-namespaces:
	case <-ctx.Done():
		return
	}
	_ = backoff.Poll(ctx, trustInterval, func(ctx context.Context) (bool, error) { // ends with ctx
		err := backoff.Retry(ctx, backoff.Policy{Max: 5 * time.Second}, nil, c.writeTrust)
		return err != nil, err
	})
}

func (c *ControlPlane) writeTrust(ctx context.Context) error {
	resource := corev1.GroupVersion.WithResource("configmaps")
	have, err := c.Access().GetLatest(ctx, resource, trustKey)
	switch {
	case apierrors.IsNotFound(err):
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: trustKey.Namespace, Name: trustKey.Name}, Data: map[string]string{}}
		c.trust.merge(obj.Data)
		_, err = c.Access().Create(ctx, resource, obj, registry.Write{FieldManager: "kube-apiserver"})
		return err // if another server was faster, the next try adds to what it has written
	case err != nil:
		return err
	}
	data := maps.Clone(have.(*corev1.ConfigMap).Data)
	if data == nil {
		data = map[string]string{}
	}
	if c.trust.merge(data); maps.Equal(data, have.(*corev1.ConfigMap).Data) {
		return nil
	}
	_, err = c.Access().Update(ctx, resource, trustKey, func(obj metav1.Object) error {
		m := obj.(*corev1.ConfigMap)
		if m.Data == nil {
			m.Data = map[string]string{}
		}
		c.trust.merge(m.Data)
		return nil
	}, registry.Write{FieldManager: "kube-apiserver"})
	return err
}
