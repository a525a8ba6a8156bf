package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// A Secret of a service account gets a token that the server accepts, and an expired bootstrap token is
// deleted: the cluster runs the controllers of both.
func TestTokenSecrets(t *testing.T) {
	conn := startTestCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	secrets := client.For[*corev1.Secret](conn)
	old, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-abcdef"}, Type: corev1.SecretTypeBootstrapToken,
		Data: map[string][]byte{"token-id": []byte("abcdef"), "token-secret": []byte("0123456789abcdef"), "expiration": []byte("2000-01-01T00:00:00Z")}})
	require.NoError(t, err)
	_, err = client.For[*corev1.ServiceAccount](conn).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "robot"}})
	require.NoError(t, err)
	_, err = secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "robot",
		Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot"}}, Type: corev1.SecretTypeServiceAccountToken})
	require.NoError(t, err)

	var token string
	for e, err := range secrets.Watch(ctx, client.WatchOptions{Namespace: "default"}) {
		require.NoError(t, err)
		if token = string(e.Object.Data[corev1.ServiceAccountTokenKey]); e.Object.Name == "robot" && token != "" {
			require.Contains(t, string(e.Object.Data[corev1.ServiceAccountRootCAKey]), "BEGIN CERTIFICATE")
			break
		}
	}
	review, err := client.For[*authenticationv1.TokenReview](conn).Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}})
	require.NoError(t, err)
	require.True(t, review.Status.Authenticated, review.Status.Error)
	require.Equal(t, "system:serviceaccount:default:robot", review.Status.User.Username)

	for e, err := range secrets.Watch(ctx, client.WatchOptions{Namespace: "kube-system", ResourceVersion: old.ResourceVersion}) {
		require.NoError(t, err)
		if e.Type == client.Deleted && e.Object.Name == old.Name {
			return
		}
	}
	t.Fatal("the expired bootstrap token is still there")
}
