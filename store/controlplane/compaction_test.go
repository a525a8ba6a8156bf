package controlplane_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/file"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
)

// TestContinueTokensExpire: the state of a list is kept for five to ten minutes, and no longer, whatever the
// store.
func TestContinueTokensExpire(t *testing.T) {
	for name, open := range map[string]func(*testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return memory.New(memory.Options{}) },
		"file": func(t *testing.T) store.Store {
			s, err := file.Open(t.TempDir(), file.Options{})
			require.NoError(t, err)
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				c := planetest.Start(t, planetest.Over(s)).Admin()
				maps := client.For[*corev1.ConfigMap](c)
				for i := range 3 {
					planetest.Create(t, c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("m", i)}})
				}
				first, err := maps.List(t.Context(), client.ListOptions{Namespace: "default", Limit: 1})
				require.NoError(t, err)
				next := client.ListOptions{Namespace: "default", Limit: 1, Continue: first.Continue}
				exact := client.ListOptions{Namespace: "default", ResourceVersion: first.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
				for minute := range 16 {
					if minute == 4 {
						require.NoError(t, maps.Delete(t.Context(), first.Items[0].Key()))
					}
					_, err := client.Update(t.Context(), maps, metav1.KeyOf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "m1"}}), func(m *corev1.ConfigMap) error {
						m.Data = map[string]string{"minute": fmt.Sprint(minute)}
						return nil
					})
					require.NoError(t, err)
					page, err := maps.List(t.Context(), next)
					whole, exactErr := maps.List(t.Context(), exact)
					switch {
					case minute < 5:
						require.NoError(t, err)
						require.Equal(t, "m1", page.Items[0].Name)
						require.Empty(t, page.Items[0].Data, "as of the first page")
						require.NoError(t, exactErr)
						require.GreaterOrEqual(t, len(whole.Items), 3)
					case minute > 10:
						require.True(t, apierrors.IsResourceExpired(err), "minute %d: %v", minute, err)
						require.True(t, apierrors.IsResourceExpired(exactErr), "minute %d: %v", minute, exactErr)
						s, _ := errors.AsType[*apierrors.StatusError](err)
						require.EqualValues(t, http.StatusGone, s.ErrStatus.Code)
						rest, err := maps.List(t.Context(), client.ListOptions{Namespace: "default", Continue: s.ErrStatus.Continue})
						require.NoError(t, err, "the answer has a token for the rest as it is now")
						require.Equal(t, fmt.Sprint(minute), rest.Items[0].Data["minute"])
					}
					time.Sleep(time.Minute)
				}
			})
		})
	}
}
