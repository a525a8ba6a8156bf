package controllertest_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// What a test expects of a write is one text.
func TestDiff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		before := controllertest.Create(c, &corev1.Secret{ObjectMeta: controllertest.Name("default", "a"), Data: map[string][]byte{"k": []byte("v")}})
		after := controllertest.Update(c, "default", "a", func(s *corev1.Secret) { s.Labels = map[string]string{"app": "web"}; s.Data["k"] = []byte("w") })
		require.Equal(t, "- data.k: dg==\n+ data.k: dw==\n+ metadata.labels:\n+   app: web\n", controllertest.Diff(c, before, after))
		require.Empty(t, controllertest.Diff(c, after, controllertest.Get[*corev1.Secret](c, "default", "a")))
	})
}
