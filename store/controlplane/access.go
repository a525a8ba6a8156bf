package controlplane

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/registry"
)

// pluginAccess is the access of admission plugins. The cache may lag behind, and a pod must not be rejected
// because its namespace is new, so objects missing in the cache are read from the store.
type pluginAccess struct{ registry.Access }

func (a pluginAccess) Get(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error) {
	obj, err := a.Access.View(ctx, gvr, key)
	if apierrors.IsNotFound(err) {
		return a.Access.GetLatest(ctx, gvr, key)
	}
	return obj, err
}

func (a pluginAccess) List(ctx context.Context, gvr schema.GroupVersionResource, namespace string, sel labels.Selector) ([]metav1.Object, error) {
	return a.Access.List(ctx, gvr, namespace, sel)
}

// Latest implements admission.Access.
func (a pluginAccess) Latest(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error) {
	return a.Access.GetLatest(ctx, gvr, key)
}

// ChangeStatus implements admission.Access. Whoever's request has led to it may have no right to this, and
// webhooks judge a user by it.
func (a pluginAccess) ChangeStatus(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName, change func(metav1.Object) error) error {
	_, err := a.Access.Update(authn.AsServer(ctx), gvr, key, change, registry.Write{Subresource: "status"})
	return err
}

// secrets reads secrets from the cache only: any caller can cause such a read, and must not load the store.
func secrets(a registry.Access) func(context.Context, types.NamespacedName) (*corev1.Secret, error) {
	return func(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
		obj, err := a.View(ctx, secretsResource, key)
		if err != nil {
			return nil, err
		}
		return obj.(*corev1.Secret), nil
	}
}

// lookup checks that what a service account token is bound to still lives. What the store lacks is remembered
// for a moment: tokens of deleted pods may be presented again and again, and must not load the store.
type lookup struct {
	access registry.Access

	mu   sync.Mutex
	gone map[absent]time.Time // until when the store is not read again
}

// absent is an object that does not exist, and never will again.
type absent struct {
	resource string
	key      types.NamespacedName
	uid      string
}

const (
	goneFor  = time.Second
	goneMost = 4096
)

// isGone reports whether the store has lacked an object a moment ago.
func (l *lookup) isGone(a absent) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.gone[a]
	return ok && time.Now().Before(until)
}

// setGone remembers that the store lacks an object.
func (l *lookup) setGone(a absent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if len(l.gone) >= goneMost {
		maps.DeleteFunc(l.gone, func(_ absent, until time.Time) bool { return now.After(until) })
	}
	switch {
	case len(l.gone) >= goneMost:
		return
	case l.gone == nil:
		l.gone = map[absent]time.Time{}
	}
	l.gone[a] = now.Add(goneFor)
}

var (
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	podsResource    = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	secretsResource = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	nodesResource   = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

func (l *lookup) check(ctx context.Context, c *authn.TokenClaims) error {
	check := func(what string, gvr schema.GroupVersionResource, namespace string, ref *authn.ObjectRef) error {
		if ref == nil {
			return nil
		}
		key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
		obj, err := l.access.Get(ctx, gvr, key)
		// The cache may lag behind: the store decides whether the object is deleted.
		if other := err == nil && ref.UID != "" && string(metav1.MetaOf(obj).UID) != ref.UID; err != nil || other {
			id := absent{gvr.Resource, key, ref.UID}
			if ref.UID != "" && l.isGone(id) {
				return fmt.Errorf("%s %v has been deleted", what, key)
			}
			obj, err = l.access.GetLatest(ctx, gvr, key)
			if ref.UID != "" && (apierrors.IsNotFound(err) || err == nil && string(metav1.MetaOf(obj).UID) != ref.UID) {
				l.setGone(id)
			}
		}
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s %v has been deleted", what, key)
		case err != nil:
			return err
		case ref.UID != "" && string(metav1.MetaOf(obj).UID) != ref.UID:
			return fmt.Errorf("%s %v is not the one the token was issued for", what, key)
		case gvr == podsResource && metav1.MetaOf(obj).DeletionTimestamp != nil && expired(obj):
			return fmt.Errorf("%s %v is being deleted", what, key)
		}
		return nil
	}
	if err := check("service account", serviceAccounts, c.Namespace, &c.ServiceAccount); err != nil {
		return err
	}
	if err := check("pod", podsResource, c.Namespace, c.Pod); err != nil {
		return err
	}
	if err := check("secret", secretsResource, c.Namespace, c.Secret); err != nil {
		return err
	}
	if c.Pod != nil {
		return nil // the node beside a pod is information only
	}
	return check("node", nodesResource, "", c.Node)
}

// expired reports whether a deleted object's time is up for more than the minute its last requests get.
func expired(obj metav1.Object) bool {
	d := metav1.MetaOf(obj).DeletionTimestamp
	return d != nil && metav1.Now().Sub(d.Time) > deletedTokenGrace
}
