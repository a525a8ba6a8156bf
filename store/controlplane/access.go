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

// Create implements admission.Access, as ChangeStatus does.
func (a pluginAccess) Create(ctx context.Context, gvr schema.GroupVersionResource, obj metav1.Object) error {
	_, err := a.Access.Create(authn.AsServer(ctx), gvr, obj, registry.Write{})
	return err
}

// ChangeStatus implements admission.Access. The user whose request led to it may lack the right to this
// write, and webhooks would see that user.
func (a pluginAccess) ChangeStatus(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName, change func(metav1.Object) error) error {
	_, err := a.Access.Update(authn.AsServer(ctx), gvr, key, change, registry.Write{Subresource: "status"})
	return err
}

// secretReader reads secrets from the cache only: any caller can cause such a read, and must not load the
// store.
func secretReader(a registry.Access) func(context.Context, types.NamespacedName) (*corev1.Secret, error) {
	return func(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
		obj, err := a.View(ctx, secretsResource, key)
		if err != nil {
			return nil, err
		}
		return obj.(*corev1.Secret), nil
	}
}

// boundObjects checks that the objects to which a service account token is bound still exist. Missing objects
// are cached for a short time: tokens of deleted pods may be presented repeatedly, and must not load the
// store.
type boundObjects struct {
	access registry.Access

	mu      sync.Mutex
	missing map[incarnation]time.Time // until when the store is not read again
}

// incarnation identifies an object by its UID, so one that does not exist never will again.
type incarnation struct {
	resource string
	key      types.NamespacedName
	uid      string
}

const (
	missingTTL = time.Second
	maxMissing = 4096
)

// isMissing reports whether the object was recently missing in the store.
func (l *boundObjects) isMissing(a incarnation) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.missing[a]
	return ok && time.Now().Before(until)
}

// setMissing records that the object is missing in the store.
func (l *boundObjects) setMissing(a incarnation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if len(l.missing) >= maxMissing {
		maps.DeleteFunc(l.missing, func(_ incarnation, until time.Time) bool { return now.After(until) })
	}
	switch {
	case len(l.missing) >= maxMissing:
		return
	case l.missing == nil:
		l.missing = map[incarnation]time.Time{}
	}
	l.missing[a] = now.Add(missingTTL)
}

var (
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	podsResource    = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	secretsResource = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	nodesResource   = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

func (l *boundObjects) check(ctx context.Context, c *authn.TokenClaims) error {
	check := func(what string, gvr schema.GroupVersionResource, namespace string, ref *authn.ObjectRef) error {
		if ref == nil {
			return nil
		}
		key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
		obj, err := l.access.Get(ctx, gvr, key)
		// The cache may lag behind: the store decides whether the object is deleted.
		if other := err == nil && ref.UID != "" && string(metav1.MetaOf(obj).UID) != ref.UID; err != nil || other {
			id := incarnation{gvr.Resource, key, ref.UID}
			if ref.UID != "" && l.isMissing(id) {
				return fmt.Errorf("%s %v has been deleted", what, key)
			}
			obj, err = l.access.GetLatest(ctx, gvr, key)
			if ref.UID != "" && (apierrors.IsNotFound(err) || err == nil && string(metav1.MetaOf(obj).UID) != ref.UID) {
				l.setMissing(id)
			}
		}
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s %v has been deleted", what, key)
		case err != nil:
			return err
		case ref.UID != "" && string(metav1.MetaOf(obj).UID) != ref.UID:
			return fmt.Errorf("%s %v is not the one the token was issued for", what, key)
		case expired(obj):
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

// expired reports whether a terminating object's grace period ended more than deletedTokenGrace ago.
func expired(obj metav1.Object) bool {
	d := metav1.MetaOf(obj).DeletionTimestamp
	return d != nil && metav1.Now().Sub(d.Time) > deletedTokenGrace
}
