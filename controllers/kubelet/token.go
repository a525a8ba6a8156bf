package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// tokens gets service account tokens bound to pods and renews them when four fifths of their life, or a day,
// are over.
type tokens struct {
	request *client.Sub[*authenticationv1.TokenRequest]

	mu    sync.Mutex
	byKey map[tokenKey]*token
}

type tokenKey struct {
	pod      types.UID
	account  types.NamespacedName
	audience string
	seconds  int64
	// uid is that of the account if another one of the same name does not do; else empty.
	uid types.UID
}

type token struct {
	text    string
	renew   time.Time
	expires time.Time
}

func newTokens(c client.Conn) *tokens {
	return &tokens{request: client.Subresource[*authenticationv1.TokenRequest](client.For[*corev1.ServiceAccount](c), "token"), byKey: map[tokenKey]*token{}}
}

// get returns a token for a pod and when to ask again.
func (t *tokens) get(ctx context.Context, pod *corev1.Pod, audience string, seconds int64) (string, time.Time, error) {
	one, renew, err := t.current(ctx, pod, audience, seconds)
	if err != nil {
		return "", time.Time{}, err
	}
	return one.text, renew, nil
}

// of returns a token of the account with that UID, for the usual time.
func (t *tokens) of(ctx context.Context, pod *corev1.Pod, account types.UID, audience string) (string, error) {
	one, _, err := t.obtain(ctx, pod, account, audience, 3600)
	if err != nil {
		return "", err
	}
	return one.text, nil
}

// current is get with all of the token.
func (t *tokens) current(ctx context.Context, pod *corev1.Pod, audience string, seconds int64) (*token, time.Time, error) {
	return t.obtain(ctx, pod, "", audience, seconds)
}

func (t *tokens) obtain(ctx context.Context, pod *corev1.Pod, uid types.UID, audience string, seconds int64) (*token, time.Time, error) {
	key := tokenKey{pod.UID, accountOf(pod), audience, seconds, uid}
	t.mu.Lock()
	have := t.byKey[key]
	t.mu.Unlock()
	if have != nil && time.Now().Before(have.renew) {
		return have, have.renew, nil
	}
	body := &authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{UID: uid}, Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}}
	if audience != "" {
		body.Spec.Audiences = []string{audience}
	}
	now := time.Now()
	got, err := t.request.Create(ctx, key.account, body)
	if err != nil {
		if have != nil && now.Before(have.expires) {
			return have, now.Add(10 * time.Second), nil // it still works
		}
		return nil, time.Time{}, fmt.Errorf("failed to fetch token: %w", err)
	}
	life := got.Status.ExpirationTimestamp.Sub(now)
	fresh := &token{text: got.Status.Token, expires: got.Status.ExpirationTimestamp.Time, renew: now.Add(min(life*4/5, 24*time.Hour))}
	t.mu.Lock()
	t.byKey[key] = fresh
	t.mu.Unlock()
	return fresh, fresh.renew, nil
}

// accountOf is the service account of a pod.
func accountOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: cmp.Or(pod.Spec.ServiceAccountName, "default")}
}

func (t *tokens) forget(pod types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.byKey {
		if key.pod == pod {
			delete(t.byKey, key)
		}
	}
}
