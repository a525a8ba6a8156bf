package controlplane

import (
	"context"
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

// clientCAKey is the key of the authorities of client certificates in it.
const clientCAKey = "client-ca-file"

// trustEvery is how often it is checked for changes by others.
const trustEvery = time.Minute

// publishTrust keeps that ConfigMap as Options say, once namespaces are there, until ctx ends. Keys that
// others wrote stay.
func (c *ControlPlane) publishTrust(ctx context.Context, namespaces <-chan struct{}) {
	select {
	case <-namespaces:
	case <-ctx.Done():
		return
	}
	_ = backoff.Poll(ctx, trustEvery, func(ctx context.Context) (bool, error) { // ends with ctx
		err := backoff.Retry(ctx, backoff.Policy{Max: 5 * time.Second}, nil, c.writeTrust)
		return err != nil, err
	})
}

func (c *ControlPlane) writeTrust(ctx context.Context) error {
	resource, text := corev1.GroupVersion.WithResource("configmaps"), string(c.trust())
	have, err := c.Access().GetLatest(ctx, resource, trustKey)
	switch {
	case apierrors.IsNotFound(err):
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: trustKey.Namespace, Name: trustKey.Name}, Data: map[string]string{clientCAKey: text}}
		_, err = c.Access().Create(ctx, resource, obj, registry.Write{FieldManager: "kube-apiserver"})
		if apierrors.IsAlreadyExists(err) {
			err = nil // another server was faster, and writes the same
		}
		return err
	case err != nil:
		return err
	}
	if have.(*corev1.ConfigMap).Data[clientCAKey] == text {
		return nil
	}
	_, err = c.Access().Update(ctx, resource, trustKey, func(obj metav1.Object) error {
		m := obj.(*corev1.ConfigMap)
		if m.Data == nil {
			m.Data = map[string]string{}
		}
		m.Data[clientCAKey] = text
		return nil
	}, registry.Write{FieldManager: "kube-apiserver"})
	return err
}
