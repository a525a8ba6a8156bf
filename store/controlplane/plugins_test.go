package controlplane_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
)

func TestPluginsOnAndOff(t *testing.T) {
	p := planetest.StartForPods(t, func(o *controlplane.Options) {
		o.EnableAdmission, o.DisableAdmission = []string{"AlwaysPullImages"}, []string{"DefaultTolerationSeconds", "TaintNodesByCondition"}
	})
	got := planetest.Create(t, p.Admin(), planetest.Pod("x"))
	require.Equal(t, corev1.PullAlways, got.Spec.Containers[0].ImagePullPolicy)
	require.Empty(t, got.Spec.Tolerations)
	require.Empty(t, planetest.Create(t, p.Admin(), &corev1.Node{ObjectMeta: planetest.Meta("", "n")}).Spec.Taints)
}

func TestTwoServersOverOneStore(t *testing.T) {
	s := memory.New(memory.Options{})
	t.Cleanup(func() { _ = s.Close() })
	signing := planetest.SigningKey(t)
	sameKey := func(o *controlplane.Options) { o.ServiceAccountKeys = []any{signing} }
	a, b := planetest.Start(t, planetest.Over(s), sameKey), planetest.Start(t, planetest.Over(s), sameKey)
	a.Account("default", "bot")
	for i := range 50 {
		name := fmt.Sprintf("m%d", i)
		planetest.Create(t, a.Admin(), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", name)})
		_, err := client.For[*corev1.ConfigMap](b.Admin()).Get(t.Context(), planetest.Key("default", name))
		require.NoError(t, err, "what one acknowledged the other one shows")
	}
	r, err := requestToken(t, a.Admin(), "bot", tokenSpec)
	require.NoError(t, err)
	u, err := whoami(t, b.Token(r.Status.Token))
	require.NoError(t, err)
	require.Equal(t, "system:serviceaccount:default:bot", u.Username)
	bindCluster(t, a.Admin(), "ann", "view", user("ann"))
	b.Eventually("the other server knows the binding", func() bool {
		_, err := client.For[*corev1.Pod](b.Token("ann-token")).List(t.Context(), client.ListOptions{})
		return err == nil
	})
}
