package podobjects_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet/podobjects"
	"github.com/keelson-dev/keelson/informers"
)

// counting counts requests, and fails them while it is broken.
type counting struct {
	client.Conn
	mu            sync.Mutex
	gets, watches int
	broken        bool
	versions      []string // of the gets
}

func (c *counting) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	c.mu.Lock()
	broken := c.broken
	if r.Method == "GET" && r.Name != "" {
		c.gets++
		c.versions = append(c.versions, r.Query.Get("resourceVersion"))
	}
	c.mu.Unlock()
	if broken {
		return nil, errors.New("no route to host")
	}
	return c.Conn.Do(ctx, r)
}

func (c *counting) Stream(ctx context.Context, r *client.Request) (*client.Stream, error) {
	c.mu.Lock()
	c.watches++
	c.mu.Unlock()
	return c.Conn.Stream(ctx, r)
}

func (c *counting) seen() (gets, watches int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gets, c.watches
}

func (c *counting) breakIt(broken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = broken
}

// refer is a pod that refers to ConfigMaps.
func refer(uid string, names ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: uid, UID: types.UID(uid)}}
	for _, name := range names {
		v := corev1.Volume{Name: name}
		v.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
		p.Spec.Volumes = append(p.Spec.Volumes, v)
	}
	return p
}

func names(p *corev1.Pod) map[string]bool {
	m := map[string]bool{}
	for _, v := range p.Spec.Volumes {
		m[v.ConfigMap.Name] = true
	}
	return m
}

func frozen(c *corev1.ConfigMap) bool { return c.Immutable != nil && *c.Immutable }

func world(t *testing.T, f func(t *testing.T, c *controllertest.Cluster, conn *counting)) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		cm := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "settings"), Data: map[string]string{"color": "red"}}
		controllertest.Create(c, cm)
		f(t, c, &counting{Conn: c.Conn()})
	})
}

func paint(c *controllertest.Cluster, color string) {
	controllertest.Update(c, "default", "settings", func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"color": color} })
}

func TestCache(t *testing.T) {
	world(t, func(t *testing.T, c *controllertest.Cluster, conn *counting) {
		m := podobjects.NewManager(podobjects.NewCache(client.For[*corev1.ConfigMap](conn), podobjects.CacheOptions[*corev1.ConfigMap]{Immutable: frozen}), names)
		color := func(want string) {
			t.Helper()
			cm, err := m.GetObject(t.Context(), "default", "settings")
			require.NoError(t, err)
			require.Equal(t, want, cm.Data["color"])
		}
		gets := func(want int) {
			t.Helper()
			n, watches := conn.seen()
			require.Equal(t, want, n)
			require.Zero(t, watches)
		}
		_, err := m.GetObject(t.Context(), "default", "settings")
		require.ErrorIs(t, err, podobjects.ErrNotRegistered)
		require.Equal(t, `object "default"/"settings" not registered`, err.Error())
		for range 3 { // it does not count twice
			m.RegisterPod(refer("a", "settings"))
		}
		color("red")
		paint(c, "blue")
		time.Sleep(50 * time.Second)
		color("red")
		gets(1)
		time.Sleep(20 * time.Second)
		color("blue")
		gets(2)
		require.Equal(t, []string{"", "0"}, conn.versions)

		paint(c, "green")
		m.RegisterPod(refer("b", "settings", "missing"))
		color("green") // a pod that starts sees what is there now
		gets(3)
		_, err = m.GetObject(t.Context(), "default", "missing")
		require.True(t, apierrors.IsNotFound(err))

		conn.breakIt(true)
		time.Sleep(5 * time.Minute)
		color("green")
		conn.breakIt(false)
		m.UnregisterPod(refer("a", "settings"))
		m.UnregisterPod(refer("a", "settings"))
		color("green")
		m.UnregisterPod(refer("b"))
		_, err = m.GetObject(t.Context(), "default", "settings")
		require.ErrorIs(t, err, podobjects.ErrNotRegistered)
	})
}

func TestGet(t *testing.T) {
	world(t, func(t *testing.T, c *controllertest.Cluster, conn *counting) {
		m := podobjects.NewManager(podobjects.NewGet(client.For[*corev1.ConfigMap](conn)), names)
		m.RegisterPod(refer("a", "settings"))
		for _, want := range []string{"blue", "green", "red"} {
			paint(c, want)
			cm, err := m.GetObject(t.Context(), "default", "settings")
			require.NoError(t, err)
			require.Equal(t, want, cm.Data["color"])
		}
		gets, _ := conn.seen()
		require.Equal(t, 3, gets)
	})
}

func TestWatch(t *testing.T) {
	world(t, func(t *testing.T, c *controllertest.Cluster, conn *counting) {
		set := informers.NewSet(conn, informers.SetOptions{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- set.Run(ctx) }()
		m := podobjects.NewManager(podobjects.NewWatch(set, podobjects.WatchOptions[*corev1.ConfigMap]{Immutable: frozen}), names)
		_, err := m.GetObject(t.Context(), "default", "settings")
		require.ErrorIs(t, err, podobjects.ErrNotRegistered)
		m.RegisterPod(refer("a", "settings"))
		m.RegisterPod(refer("b", "settings"))
		for _, want := range []string{"blue", "green"} {
			paint(c, want)
			time.Sleep(time.Second)
			cm, err := m.GetObject(t.Context(), "default", "settings")
			require.NoError(t, err)
			require.Equal(t, want, cm.Data["color"])
		}
		gets, watches := conn.seen()
		require.Zero(t, gets)
		require.Equal(t, 1, watches, "one for both pods")

		controllertest.Update(c, "default", "settings", func(cm *corev1.ConfigMap) { cm.Immutable = new(true) })
		time.Sleep(time.Second)
		_, err = m.GetObject(t.Context(), "default", "settings") // ends the watch
		require.NoError(t, err)
		controllertest.Delete[*corev1.ConfigMap](c, "default", "settings")
		time.Sleep(time.Second)
		kept, err := m.GetObject(t.Context(), "default", "settings")
		require.NoError(t, err)
		require.Equal(t, "green", kept.Data["color"])

		m.RegisterPod(refer("c", "settings"))
		_, err = m.GetObject(t.Context(), "default", "settings")
		require.True(t, apierrors.IsNotFound(err), "a pod that starts sees what is there now: %v", err)
		for _, uid := range []string{"a", "b", "c"} {
			m.UnregisterPod(refer(uid))
		}
		_, err = m.GetObject(t.Context(), "default", "settings")
		require.ErrorIs(t, err, podobjects.ErrNotRegistered)
		stop()
		require.NoError(t, <-done)
	})
}

// TestWatchReportsChanges counts the calls for two pods of three, of which one leaves.
func TestWatchReportsChanges(t *testing.T) {
	world(t, func(t *testing.T, c *controllertest.Cluster, conn *counting) {
		set := informers.NewSet(conn, informers.SetOptions{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- set.Run(ctx) }()
		var mu sync.Mutex
		calls := map[types.UID]int{}
		since := func() map[types.UID]int {
			time.Sleep(3 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			was := calls
			calls = map[types.UID]int{}
			return was
		}
		m := podobjects.NewManager(podobjects.NewWatch(set, podobjects.WatchOptions[*corev1.ConfigMap]{Changed: func(pod types.UID) {
			mu.Lock()
			defer mu.Unlock()
			calls[pod]++
		}}), names)
		m.RegisterPod(refer("a", "settings"))
		m.RegisterPod(refer("b", "settings"))
		m.RegisterPod(refer("c", "others"))
		require.Empty(t, since(), "the first state is no change")
		paint(c, "blue")
		require.Equal(t, map[types.UID]int{"a": 1, "b": 1}, since(), "changed once")
		for i := range 20 { // within two seconds
			paint(c, fmt.Sprint(i))
			time.Sleep(100 * time.Millisecond)
		}
		require.Equal(t, map[types.UID]int{"a": 3, "b": 3}, since(), "changed")
		m.UnregisterPod(refer("a"))
		controllertest.Delete[*corev1.ConfigMap](c, "default", "settings")
		require.Equal(t, map[types.UID]int{"b": 1}, since(), "deleted")
		m.UnregisterPod(refer("b"))
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "settings")})
		require.Empty(t, since(), "no pod refers to it")
		stop()
		require.NoError(t, <-done)
	})
}

// A program gets what the pods of its node refer to, at most once a minute.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{})
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "settings"), Data: map[string]string{"color": "red"}})
		m := podobjects.NewManager(podobjects.NewCache(client.For[*corev1.ConfigMap](c.Conn()), podobjects.CacheOptions[*corev1.ConfigMap]{}), names)
		_, err := m.GetObject(context.Background(), "default", "settings")
		fmt.Println(strings.TrimSpace(err.Error()))
		m.RegisterPod(refer("web", "settings"))
		cm, err := m.GetObject(context.Background(), "default", "settings")
		fmt.Println(cm.Data["color"], err)
	})
	// Output:
	// object "default"/"settings" not registered
	// red <nil>
}
