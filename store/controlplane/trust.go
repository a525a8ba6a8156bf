package controlplane

import (
	"context"
	"encoding/json"
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

// data is the content of the ConfigMap now.
func (t *trust) data() map[string]string {
	data := maps.Clone(t.fixed)
	if t.clientCA != nil {
		data["client-ca-file"] = string(t.clientCA())
	}
	if t.proxyCA != nil {
		data["requestheader-client-ca-file"] = string(t.proxyCA())
	}
	return data
}

// trustInterval is how often it is checked for changes by other clients.
const trustInterval = time.Minute

// publishTrust keeps that ConfigMap in the state that Options define until ctx ends, beginning when the
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
	resource, want := corev1.GroupVersion.WithResource("configmaps"), c.trust.data()
	have, err := c.Access().GetLatest(ctx, resource, trustKey)
	switch {
	case apierrors.IsNotFound(err):
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: trustKey.Namespace, Name: trustKey.Name}, Data: want}
		_, err = c.Access().Create(ctx, resource, obj, registry.Write{FieldManager: "kube-apiserver"})
		if apierrors.IsAlreadyExists(err) {
			err = nil // another server was faster, and writes the same
		}
		return err
	case err != nil:
		return err
	}
	data := maps.Clone(have.(*corev1.ConfigMap).Data)
	if data == nil {
		data = map[string]string{}
	}
	if maps.Copy(data, want); maps.Equal(data, have.(*corev1.ConfigMap).Data) {
		return nil
	}
	_, err = c.Access().Update(ctx, resource, trustKey, func(obj metav1.Object) error {
		m := obj.(*corev1.ConfigMap)
		if m.Data == nil {
			m.Data = map[string]string{}
		}
		maps.Copy(m.Data, want)
		return nil
	}, registry.Write{FieldManager: "kube-apiserver"})
	return err
}
