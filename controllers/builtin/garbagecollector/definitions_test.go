package garbagecollector_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/internal/things"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// TestADeletedDefinitionHoldsUpNothing: once a resource is not served any more, owners of other kinds are
// deleted as before, and not when the collector has given up the resource.
func TestADeletedDefinitionHoldsUpNothing(t *testing.T) {
	for _, p := range []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		synctest.Test(t, func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{CRDs: things.CRDs(), Controllers: []controllertest.Adder{
				func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) }}})
			configMap(c, "child", configMap(c, "ownera"))
			c.Sleep(time.Minute)
			controllertest.Delete[*apiextensionsv1.CustomResourceDefinition](c, "", "things.a.test")
			c.Sleep(5 * time.Second)
			del(c, "ownera", p)
			c.Sleep(3 * time.Second)
			require.False(t, there(c, "ownera"), p)
			require.Equal(t, p == metav1.DeletePropagationOrphan, there(c, "child"))
		})
	}
}
