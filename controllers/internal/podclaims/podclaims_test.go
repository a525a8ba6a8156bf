package podclaims_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/internal/podclaims"
)

func TestNames(t *testing.T) {
	p := &corev1.Pod{}
	require.False(t, podclaims.Used(nil))
	require.False(t, podclaims.Used(p))
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{
		{Name: "a", ResourceClaimName: new("shared")}, {Name: "b", ResourceClaimTemplateName: new("t")},
		{Name: "c", ResourceClaimTemplateName: new("t")}, {Name: "d", ResourceClaimTemplateName: new("t")},
	}
	p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "c", ResourceClaimName: new("made")}, {Name: "d"}}
	require.True(t, podclaims.Used(p))
	require.Equal(t, []string{"shared", "made"}, podclaims.Names(p))
	for i, want := range []struct {
		name  string
		known bool
	}{{"shared", true}, {"", false}, {"made", true}, {"", true}} {
		name, known := podclaims.Name(p, &p.Spec.ResourceClaims[i])
		require.Equal(t, want.name, name)
		require.Equal(t, want.known, known)
	}
	p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "extended"}
	require.Equal(t, []string{"shared", "made", "extended"}, podclaims.Names(p))
}

func TestOwnerAndReserved(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "1"}}
	c := &resourcev1.ResourceClaim{}
	require.Nil(t, podclaims.Owner(c))
	require.False(t, podclaims.Reserved(c, p))
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Job", Name: "web", UID: "1", Controller: new(true)}}
	require.Nil(t, podclaims.Owner(c))
	c.OwnerReferences[0].Kind = "Pod"
	require.Equal(t, "web", podclaims.Owner(c).Name)
	c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "web", UID: "2"}}
	require.False(t, podclaims.Reserved(c, p))
	c.Status.ReservedFor[0].UID = "1"
	require.True(t, podclaims.Reserved(c, p))
}
