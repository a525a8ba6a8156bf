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

// Adder adds a controller to a manager, as the Add functions of the built-in controllers do.
type Adder func(m *manager.Manager) error

// Options of a Cluster. The zero value is an API server without controllers.
type Options struct {
	// CRDs contains CustomResourceDefinitions in files that end in .yaml, .yml or .json, in any directory.
	// Start fails the test if there are none and returns when all are served.
	CRDs fs.FS
	// Manifests contains other objects, such as the roles of As, in such files. They are created in the order
	// of the paths of the files, but namespaces and definitions first.
	Manifests fs.FS
	// Webhooks are the admission and conversion webhooks of the operator under test.
	Webhooks Webhooks
	// As is the user of the managers, so that a test detects missing roles. The zero value is an
	// administrator.
	As client.User
	// Controllers are added to one manager, which runs until the test ends.
	Controllers []Adder
	// Scheme of all connections; nil means the built-in kinds. Add the types of custom resources to a copy.
	Scheme *scheme.Scheme
	// Seed makes a run in a bubble repeatable: uids, generated names, addresses and random waits follow from
	// it, and requests in process are served one at a time, in an order that it decides, when all goroutines
	// are blocked; each takes a microsecond of virtual time. Clients by TLS, webhooks and the code under test
	// may still depend on chance. A failed test logs the seed, and KEELSON_SEED in the environment, which
	// takes precedence, replays it. 0 means none: numbers are random and requests served at once.
	Seed uint64
	// Server configures the API server. Its Store is set by this package.
	Server apiserver.Options
	// EnableAdmission and DisableAdmission change which admission plugins run. ServiceAccount is disabled
	// unless enabled here, because it rejects pods until a controller has created their service account.
	EnableAdmission, DisableAdmission []string
	// Plugins are additional admission plugins.
	Plugins []admission.Plugin
	// MaxRuns is how many times, in a bubble, a controller may reconcile one key at the same instant; 0 means
	// 10,000. A reconcile that triggers itself never ends, and virtual time does not advance while it runs.
	// Settle and Sleep then fail the test and report the controller, the key and its last write.
	MaxRuns int
	// Logger receives what server and controllers log; nil discards. If the test fails, the last warnings of
	// managers and connections are written to the test's log in any case.
	Logger *slog.Logger
}

// inBubble reports whether the caller runs in a synctest bubble. As a side effect it then waits until all
// other goroutines of the bubble are blocked.
func inBubble() (yes bool) {
	defer func() {
		// Any other panic, such as that of two concurrent calls of Wait, is the test's.
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
