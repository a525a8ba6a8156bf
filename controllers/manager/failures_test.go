package manager_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// logged is a writer that may be read meanwhile.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A panic of a reconciler is logged with its stack and object, counted, and the reconcile is retried; the
// process, the manager and other objects are not affected.
func TestPanicsAreLoggedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		var log logged
		m := manager.New(c.Conn(), manager.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		d := &diary{}
		reconciler := reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			if req.Name == "bad" {
				panic("out of cheese")
			}
			return reconcile.Result{}, nil
		})
		opts := controllers.Options{Options: controller.Options{Metrics: controller.Metrics{
			Reconciled: func(name, outcome string, _ time.Duration) { d.add("%s %s", name, outcome) }}}}
		_, err := controllers.Add(m, "maps", reconciler, opts, controllers.For[*corev1.ConfigMap]())
		require.NoError(t, err)
		c.Run(m)
		c.Settle()
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "bad")})
		c.Sleep(time.Minute)
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "good")})
		c.Settle()
		require.Contains(t, d.all(), "maps panic")
		require.Equal(t, "maps success", d.all()[len(d.all())-1])
		require.Contains(t, log.String(), "out of cheese")
		require.Contains(t, log.String(), "failures_test.go", "the stack")
		require.Contains(t, log.String(), "controller=maps namespace=default name=bad reconcileID=")
	})
}

// leaky is set in the process that TestLeftGoroutinesFailTheTest starts.
const leaky = "KEELSON_TEST_LEAVES_A_GOROUTINE"

// A goroutine that is still running after the manager has stopped fails the test, which reports it.
func TestLeftGoroutinesFailTheTest(t *testing.T) {
	if os.Getenv(leaky) != "" {
		synctest.Test(t, func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{})
			stop := c.Run(c.Manager("leaky", func(m *manager.Manager) error {
				m.Add("leaky", manager.Func(func(ctx context.Context) error {
					go leftBehind()
					<-ctx.Done()
					return nil
				}))
				return nil
			}))
			c.Settle()
			stop()
		})
		return
	}
	program, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-test.run=^TestLeftGoroutinesFailTheTest$")
	cmd.Env = append(os.Environ(), leaky+"=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "%s", out)
	require.NoError(t, ctx.Err())
	require.Contains(t, string(out), "blocked goroutines remain")
	require.Contains(t, string(out), "leftBehind")
}

func leftBehind() { <-make(chan struct{}) }

// Failures of informers are logged through the manager's logger: a program that lacks a permission does not
// wait silently.
func TestAMissingRightIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		var log logged
		m := manager.New(c.Conn(client.User{Name: "nobody"}), manager.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		reconciler := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			panic("must not be called")
		})
		_, err := controllers.Add(m, "maps", reconciler, controllers.Options{}, controllers.For[*corev1.ConfigMap]())
		require.NoError(t, err)
		c.Run(m)
		c.Sleep(time.Second)
		require.Contains(t, log.String(), "resource=configmaps")
		require.Contains(t, log.String(), `User \"nobody\" cannot watch resource \"configmaps\"`)
	})
}
