package interop

import (
	"testing"

	"github.com/stretchr/testify/require"
	upauthenticationv1 "k8s.io/api/authentication/v1"
	upmetav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// Our typed clients request tokens and reviews; client-go's get the same results.
func TestTokensAndReviews(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	conn := c.Conn()
	accounts := client.For[*corev1.ServiceAccount](conn)
	key := types.NamespacedName{Namespace: "default", Name: "robot"}
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	require.NoError(t, err)
	token, err := client.Subresource[*authenticationv1.TokenRequest](accounts, "token").Create(t.Context(), key, &authenticationv1.TokenRequest{})
	require.NoError(t, err)
	require.NotEmpty(t, token.Status.Token)

	review, err := client.For[*authenticationv1.TokenReview](conn).Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token}})
	require.NoError(t, err)
	require.True(t, review.Status.Authenticated, review.Status.Error)
	require.Equal(t, "system:serviceaccount:default:robot", review.Status.User.Username)
	theirs, err := clientset(t, clientGo(c, protoType)).AuthenticationV1().TokenReviews().Create(t.Context(),
		&upauthenticationv1.TokenReview{Spec: upauthenticationv1.TokenReviewSpec{Token: token.Status.Token}}, upmetav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, review.Status.User.Username, theirs.Status.User.Username)

	may := func(user, verb string) bool {
		r, err := client.For[*authorizationv1.SubjectAccessReview](conn).Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Verb: verb, Resource: "pods"},
		}})
		require.NoError(t, err)
		return r.Status.Allowed
	}
	require.False(t, may(review.Status.User.Username, "delete"))
	self, err := client.For[*authorizationv1.SelfSubjectAccessReview](conn).Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Verb: "list", Resource: "pods"}},
	})
	require.NoError(t, err)
	require.True(t, self.Status.Allowed)
}
