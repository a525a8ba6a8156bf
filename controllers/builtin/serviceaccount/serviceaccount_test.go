package serviceaccount_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/builtin/serviceaccount"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func TestEveryNamespaceHasItsAccountAndRootCA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{EnableAdmission: []string{"ServiceAccount"}, Controllers: []controllertest.Adder{
			func(m *manager.Manager) error {
				return serviceaccount.Add(m, serviceaccount.Options{RootCA: []byte("PEM")})
			}}})
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "new")})
		c.Settle()
		for _, ns := range []string{"default", "kube-system", "new"} {
			require.True(t, controllertest.Exists[*corev1.ServiceAccount](c, ns, "default"))
			require.Equal(t, map[string]string{"ca.crt": "PEM"}, controllertest.Get[*corev1.ConfigMap](c, ns, serviceaccount.RootCAConfigMap).Data)
		}
		// So pods are admitted, with their token.
		p := &corev1.Pod{ObjectMeta: controllertest.Name("new", "p")}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
		require.Equal(t, "default", controllertest.Create(c, p).Spec.ServiceAccountName)
		// What is deleted or changed comes back.
		controllertest.Delete[*corev1.ServiceAccount](c, "new", "default")
		controllertest.Delete[*corev1.ConfigMap](c, "new", serviceaccount.RootCAConfigMap)
		controllertest.Update(c, "default", serviceaccount.RootCAConfigMap, func(m *corev1.ConfigMap) { m.Data["ca.crt"] = "forged" })
		controllertest.Update(c, "kube-system", serviceaccount.RootCAConfigMap, func(m *corev1.ConfigMap) {
			require.NotEmpty(t, m.Annotations["kubernetes.io/description"])
			m.Annotations = nil
		})
		c.Settle()
		require.True(t, controllertest.Exists[*corev1.ServiceAccount](c, "new", "default"))
		require.True(t, controllertest.Exists[*corev1.ConfigMap](c, "new", serviceaccount.RootCAConfigMap))
		require.Equal(t, "PEM", controllertest.Get[*corev1.ConfigMap](c, "default", serviceaccount.RootCAConfigMap).Data["ca.crt"])
		require.NotEmpty(t, controllertest.Get[*corev1.ConfigMap](c, "kube-system", serviceaccount.RootCAConfigMap).Annotations["kubernetes.io/description"])
	})
}
