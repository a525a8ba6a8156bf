package controllertest_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// With KEELSON_ORDER the events of two watches come in another order than they were written, those of each in
// the order of their writes; Settle waits for them, and a number replays its order.
func TestOrder(t *testing.T) {
	seen := func(n int) (text string) {
		t.Setenv("KEELSON_ORDER", fmt.Sprint(n))
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			c := controllertest.Start(t, controllertest.Options{})
			var mu sync.Mutex
			var list []string
			add := func(o metav1.Object) {
				mu.Lock()
				defer mu.Unlock()
				if strings.HasPrefix(o.GetName(), "n") {
					list = append(list, o.GetName())
				}
			}
			controllertest.Watch(c, "default", func(e client.Event[*corev1.ConfigMap]) { add(e.Object) })
			controllertest.Watch(c, "default", func(e client.Event[*corev1.Secret]) { add(e.Object) })
			c.Settle()
			for i := range 3 {
				controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", fmt.Sprint("n", 2*i))})
				controllertest.Create(c, &corev1.Secret{ObjectMeta: controllertest.Name("default", fmt.Sprint("n", 2*i+1))})
			}
			c.Settle()
			require.Less(t, time.Since(began), time.Millisecond)
			text = strings.Join(list, " ")
		})
		for _, kind := range [][]string{{"n0", "n2", "n4"}, {"n1", "n3", "n5"}} {
			last := -1
			for _, name := range kind {
				require.Greater(t, strings.Index(text, name), last, "%s in %s", name, text)
				last = strings.Index(text, name)
			}
		}
		return text
	}
	orders := map[string]bool{}
	for n := range 10 {
		orders[seen(n+1)] = true
	}
	require.Greater(t, len(orders), 1)

	t.Setenv("KEELSON_ORDER", "-1")
	synctest.Test(t, func(t *testing.T) {
		_, err := controllertest.New(t.Context(), controllertest.Options{})
		require.ErrorContains(t, err, `KEELSON_ORDER="-1" is not a positive number`)
	})
}
