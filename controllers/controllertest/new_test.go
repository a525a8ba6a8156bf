package controllertest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func TestNew(t *testing.T) {
	c, err := controllertest.New(t.Context(), controllertest.Options{})
	require.NoError(t, err)
	t.Run("with a test", func(t *testing.T) {
		require.True(t, controllertest.Exists[*corev1.Namespace](c.With(t), "", "default"))
		require.Contains(t, fatal(t, func(t testing.TB) { controllertest.Get[*corev1.Namespace](c.With(t), "", "nowhere") }), "not found")
	})
	require.PanicsWithValue(t, `get *corev1.Namespace /nowhere: namespaces "nowhere" not found`, func() {
		controllertest.Get[*corev1.Namespace](c, "", "nowhere")
	})
	path := c.Kubeconfig()
	require.FileExists(t, path)
	require.NoError(t, c.Close())
	require.NoFileExists(t, path)
	require.PanicsWithValue(t, "controllertest: the cluster was stopped with its test", func() { c.Conn() })
}

func TestCloseReturnsWhatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := controllertest.New(t.Context(), controllertest.Options{})
		require.NoError(t, err)
		c.Run(manager.Func(func(context.Context) error { return errors.New("no more") }))
		c.Settle()
		require.EqualError(t, c.Close(), "controllertest: manager ended: no more")
	})
}

func TestNewReturnsErrors(t *testing.T) {
	_, err := controllertest.New(t.Context(), controllertest.Options{CRDs: fstest.MapFS{}})
	require.EqualError(t, err, "controllertest: Options.CRDs contains no objects in files that end in .yaml, .yml or .json")
	_, err = controllertest.New(t.Context(), controllertest.Options{Controllers: []controllertest.Adder{
		func(*manager.Manager) error { return errors.New("cannot") }}})
	require.EqualError(t, err, "controllertest: manager controllers: cannot")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("changed my mind"))
	_, err = controllertest.New(ended, controllertest.Options{})
	if err != nil { // it may have started before
		require.EqualError(t, err, "controllertest: the API server is not ready: changed my mind")
	}
	var s controllertest.Snapshot
	synctest.Test(t, func(t *testing.T) { s = controllertest.Start(t, controllertest.Options{}).Snapshot() })
	_, err = controllertest.NewFrom(t.Context(), s, controllertest.Options{})
	require.ErrorContains(t, err, "the snapshot was made in a bubble")
}

// A cluster for all tests of a package, as TestMain or BeforeSuite starts it.
func ExampleNew() {
	c, err := controllertest.New(context.Background(), controllertest.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(controllertest.Exists[*corev1.Namespace](c, "", "default")) // in a test: c.With(t)
	fmt.Println(c.Close())
	// Output:
	// true
	// <nil>
}
