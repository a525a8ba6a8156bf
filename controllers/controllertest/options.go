package controllertest

import (
	"io/fs"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// Adder registers a controller with a manager, as the Add functions of the built-in controllers do.
type Adder func(m *manager.Manager) error

// Options say what to start. The zero value is an API server without controllers.
type Options struct {
	// CRDs holds CustomResourceDefinitions in files that end in .yaml, .yml or .json, in any folder; none at
	// all fails the test. Start returns when all are served.
	CRDs fs.FS
	// Manifests holds further objects, such as the roles of As, in such files. They are created in the order
	// of the files' paths, namespaces and definitions first.
	Manifests fs.FS
	// Webhooks are the admission and conversion webhooks of the operator under test.
	Webhooks Webhooks
	// As is whom the managers act as, so that a test finds a missing role. The zero value may do everything.
	As client.User
	// Controllers are added to one manager, which runs until the test ends.
	Controllers []Adder
	// Scheme of all connections; nil means the built-in kinds. Add the types of custom resources to a copy.
	Scheme *scheme.Scheme
	// Server changes the API server beneath. Its Store is set by this package.
	Server apiserver.Options
	// EnableAdmission and DisableAdmission change which admission plugins run. ServiceAccount is off unless
	// enabled here: it refuses pods until a controller has made their service account.
	EnableAdmission, DisableAdmission []string
	// Plugins are further admission plugins.
	Plugins []admission.Plugin
	// MaxRuns is how often, in a bubble, a controller may reconcile one key at one instant; 0 means 10,000. A
	// reconcile that changes something each time it runs never ends, and as long as it runs time stands
	// still: then Settle, and Sleep, fail the test and say which controller, which key and what it wrote
	// last.
	MaxRuns int
	// Logger gets what server and controllers log; nil discards. The last warnings of managers and
	// connections, such as failures of reconciles, are logged when a test fails in any case.
	Logger *slog.Logger
}

// inBubble reports whether the caller runs in a synctest bubble. As a side effect it waits there until all
// others idle.
func inBubble() (yes bool) {
	defer func() {
		// Any other panic, such as that of two goroutines that wait at once, is the test's to see.
		if p := recover(); p != nil && p != "goroutine is not in a bubble" {
			panic(p)
		}
	}()
	synctest.Wait()
	return true
}

// Logger returns a logger that writes to the test's log.
func Logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}
