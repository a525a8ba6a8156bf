package v1alpha1_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	v1 "github.com/keelson-dev/keelson/examples/operator/api/v1"
	"github.com/keelson-dev/keelson/examples/operator/api/v1alpha1"
)

// hub is a random Website in version v1.
func hub(r *rand.Rand) *v1.Website {
	w := &v1.Website{}
	some := func() bool { return r.IntN(2) == 0 }
	word := func() string { return string(rune('a'+r.IntN(26))) + "=\"\n" }
	w.Spec = v1.WebsiteSpec{Image: word(), Port: r.Int32N(3)}
	if some() {
		w.Spec.Replicas = new(r.Int32N(4))
	}
	if some() {
		w.Spec.Host = word()
	}
	for range r.IntN(3) {
		w.Spec.Environment = map[string]string{word(): word(), word(): ""}
	}
	if some() {
		w.Annotations = map[string]string{word(): word()}
	}
	if some() {
		w.Status = v1.WebsiteStatus{ObservedGeneration: r.Int64N(5), ReadyReplicas: r.Int32N(3), URL: word(), Conditions: []metav1.Condition{{Type: word()}}}
	}
	return w
}

// An object that is read in version v1alpha1 and written back does not change.
func TestConversionLosesNothing(t *testing.T) {
	for _, seed := range seeds.Of(t, 200) {
		want := hub(rand.New(rand.NewPCG(seed, 0)))
		old := &v1alpha1.Website{}
		old.Annotations = want.Annotations
		require.NoError(t, old.ConvertFrom(codec.DeepCopy(want)))
		got := &v1.Website{}
		got.Annotations = old.Annotations
		require.NoError(t, old.ConvertTo(got))
		require.Equal(t, want, got, "seed %d", seed)
	}
}

func TestConversionRefusesADamagedAnnotation(t *testing.T) {
	old := &v1alpha1.Website{}
	old.Annotations = map[string]string{v1alpha1.EnvironmentAnnotation: "[]"}
	require.ErrorContains(t, old.ConvertTo(&v1.Website{}), "annotation demo.keelson.dev/environment: ")
}
