package expiring_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/internal/expiring"
)

func Example() {
	m := expiring.New[string, int](100)
	m.Put("a", 1, time.Hour)
	m.Put("b", 2, 0)
	fmt.Println(m.Get("a"))
	fmt.Println(m.Get("b"))
	// Output:
	// 1 true
	// 0 false
}

func TestMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := expiring.New[int, int](3)
		has := func(keys ...int) {
			t.Helper()
			for k := range 10 {
				v, ok := m.Get(k)
				want := 0
				for _, key := range keys {
					if key == k {
						want = 10 * k
					}
				}
				require.Equal(t, want != 0, ok, k)
				require.Equal(t, want, v)
			}
		}
		m.Put(1, 10, time.Second)
		m.Put(2, 20, time.Minute)
		m.Put(3, 30, time.Minute)
		has(1, 2, 3)
		time.Sleep(time.Second)
		has(2, 3)
		time.Sleep(time.Second)
		m.Put(4, 40, time.Minute) // in the place of the one that has expired
		has(2, 3, 4)
		m.Put(5, 50, time.Minute) // none has
		has(5)
		m.Put(5, 60, -1)
		has(5)
	})
}
