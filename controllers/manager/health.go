package manager

import (
	"context"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/health"
)

// renewalTolerance is how long after the end of the lease a leader that has not renewed it counts as hanging.
const renewalTolerance = 20 * time.Second

// AddHealth adds the manager's checks to h and runs h on every replica:
//
//   - livez leader-election: the elector of Options.Lease does not hang;
//   - readyz informers: all have synced or their resource is not served; those that have not are named;
//   - readyz?verbose resources: names resources of informers that the server does not serve, because their
//     CustomResourceDefinition is not installed or the plural is wrong;
//   - readyz?verbose problems: names what was logged as a warning in the last five minutes and stays wrong
//     until someone changes it: missing rights, a certificate or token that is not accepted, namespaces of
//     Options.Informers.Cache that do not exist, a server that cannot be reached.
//
// The last two never make the program unready.
func (m *Manager) AddHealth(h *health.Server) {
	if elector := m.elector; elector != nil {
		h.Live("leader-election", func(context.Context) error { return elector.Healthy(renewalTolerance) })
	}
	h.Ready("informers", func(context.Context) error { return m.set.Ready() })
	h.Report("resources", func(context.Context) error { return m.set.Served() })
	h.Report("problems", func(context.Context) error { return m.causes.check() })
	m.AddWithoutLeaderElection("health", h)
}

// namespaces returns the namespaces that the options name.
func (m *Manager) namespaces() []string {
	all := slices.Clone(m.opts.Informers.Cache.Namespaces)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(n string) bool { return n == "" })
}

// checkNamespaces warns of namespaces that do not exist, whose informers are empty without a failure, until
// they do. What the program may not read counts as existing.
func (m *Manager) checkNamespaces(ctx context.Context) error {
	missing := m.namespaces()
	namespaces := client.For[*corev1.Namespace](m.conn)
	for len(missing) > 0 {
		missing = slices.DeleteFunc(missing, func(name string) bool {
			_, err := namespaces.Get(ctx, types.NamespacedName{Name: name})
			if !apierrors.IsNotFound(err) {
				return err == nil || apierrors.IsForbidden(err)
			}
			m.log.Warn("namespace not found, its informers are empty", "namespace", name, "err", &missingNamespaceError{name})
			return false
		})
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(repeatAfter):
		}
	}
	return nil
}
