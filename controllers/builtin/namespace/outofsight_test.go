package namespace_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/namespace"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// blind answers lists of ConfigMaps with a 404 while it is on, as a replica that does not know the resource
// yet.
type blind struct {
	client.Conn
	on *atomic.Bool
}

func (b blind) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if b.on.Load() && r.Resource.Resource == "configmaps" && r.Verb() == "list" {
		err := apierrors.New(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
		err.ErrStatus.Details = &metav1.StatusDetails{}
		return nil, err
	}
	return b.Conn.Do(ctx, r)
}

// TestWhatIsOutOfSightKeepsTheNamespace: a collection that is not found although discovery has it is not
// taken for empty.
func TestWhatIsOutOfSightKeepsTheNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var on atomic.Bool
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			return namespace.Add(m.As(blind{m.Conn(), &on}), namespace.Options{})
		}}})
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "team")})
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("team", "kept")})
		on.Store(true)
		controllertest.Delete[*corev1.Namespace](c, "", "team")
		c.Sleep(2 * time.Minute)
		require.True(t, controllertest.Exists[*corev1.ConfigMap](c, "team", "kept"))
		require.True(t, controllertest.Exists[*corev1.Namespace](c, "", "team"), "its objects would be left behind")
		on.Store(false)
		c.Sleep(20 * time.Minute)
		require.False(t, controllertest.Exists[*corev1.Namespace](c, "", "team"))
	})
}
