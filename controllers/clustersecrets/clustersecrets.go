// Package clustersecrets engages the clusters whose kubeconfigs are in Secrets: a cluster is added, changed
// and removed with the Secret of its name.
//
//	fleet := controllers.NewClusters(m, controllers.ClustersOptions{})
//	members, err := clustersecrets.Add(m, fleet, "fleet-system", clustersecrets.Options{})
//	...
//	h.Report("members", members.Check)
//
// It guarantees that
//
//   - a Secret with the label is engaged under its name; when its kubeconfig changes, the cluster is
//     disengaged, its reconciles and informers end, and it is engaged with the new one; when it is deleted or
//     loses the label, the cluster is disengaged;
//   - a kubeconfig that cannot be used costs its own cluster only: it is disengaged, one warning is logged
//     and a Warning event InvalidKubeconfig is recorded for the Secret, until the Secret changes;
//   - a cluster whose manager has failed is engaged again, with growing delays;
//   - a kubeconfig cannot read files or run programs of this process: paths, exec and auth-provider are
//     refused;
//   - the rights to list and watch Secrets in the namespace, and to create and patch events there, are
//     enough.
//
// The label and the key of the data are by default those of sigs.k8s.io/multicluster-runtime.
package clustersecrets

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Defaults of Options.
const (
	DefaultLabel = "sigs.k8s.io/multicluster-runtime-kubeconfig"
	DefaultKey   = "kubeconfig"
)

// Options of Add. The zero value is usable.
type Options struct {
	// Selector selects the Secrets; empty means those with the label DefaultLabel and the value "true".
	Selector labels.Selector
	// Key is that of the kubeconfig in the data of a Secret; empty means DefaultKey. The current context
	// is used.
	Key string
	// Connect makes the connection to a cluster; nil means rest.New with cfg and without options. If the
	// result is an io.Closer, it is closed when the cluster is disengaged. An error counts as a kubeconfig
	// that cannot be used.
	Connect func(cluster string, cfg rest.Config) (client.Conn, error)
	// Name of the controller, and the component of its events; empty means "cluster-secrets".
	Name string
}

// Members are the clusters of Secrets.
type Members struct {
	opts       Options
	clusters   *controllers.Clusters
	secrets    informers.Lister[*corev1.Secret]
	controller *controller.Controller[reconcile.Request]
	recorder   *events.Recorder

	mu       sync.Mutex
	engaged  map[string]engaged // by the name of the Secret
	problems map[string]problem
	failures map[string]int // of the cluster's manager, one after the other
}

// engaged is a cluster and the kubeconfig by which it was engaged.
type engaged struct {
	cluster *controllers.Cluster
	sum     [sha256.Size]byte
	since   time.Time
}

// problem is why a Secret has no cluster.
type problem struct {
	sum [sha256.Size]byte // of the kubeconfig that is refused; zero if it may be tried again
	err error
}

// Add adds to m a controller which engages the clusters of the Secrets of a namespace in clusters. It runs on
// every replica, as clusters do.
func Add(m *manager.Manager, clusters *controllers.Clusters, namespace string, opts Options) (*Members, error) {
	if namespace == "" {
		return nil, errors.New("clustersecrets: the namespace of the Secrets must not be empty")
	}
	if opts.Selector.Empty() {
		opts.Selector = labels.SelectorFromSet(map[string]string{DefaultLabel: "true"})
	}
	opts.Key, opts.Name = cmp.Or(opts.Key, DefaultKey), cmp.Or(opts.Name, "cluster-secrets")
	if opts.Connect == nil {
		opts.Connect = func(_ string, cfg rest.Config) (client.Conn, error) { return rest.New(cfg, rest.Options{}) }
	}
	secrets := informers.For[*corev1.Secret](m.Informers(), informers.Options[*corev1.Secret]{Namespaces: []string{namespace}, LabelSelector: opts.Selector})
	ms := &Members{
		opts: opts, clusters: clusters, secrets: secrets.Lister(), recorder: m.Recorder(opts.Name),
		engaged: map[string]engaged{}, problems: map[string]problem{}, failures: map[string]int{},
	}
	var err error
	ms.controller, err = controllers.Add(m, opts.Name, reconcile.Func(ms.reconcile), controllers.Options{
		WithoutLeaderElection: true,
		// A reconcile waits for the end of a cluster's reconciles.
		Options: controller.Options{Concurrency: 16},
	}, controllers.From(secrets, controllers.Self[*corev1.Secret]))
	if err != nil {
		secrets.Release()
		return nil, err
	}
	return ms, nil
}

// Check returns an error that names the Secrets that have no cluster, for example because their kubeconfig
// cannot be used, and the clusters whose informers have not synced. It is for Report of a health server: a
// broken member should not make the program unready.
func (ms *Members) Check(context.Context) error {
	ms.mu.Lock()
	problems, members := maps.Clone(ms.problems), maps.Clone(ms.engaged)
	ms.mu.Unlock()
	failed := &FailedError{Members: map[string]error{}}
	for name, p := range problems {
		failed.Members[name] = p.err
	}
	for name, e := range members {
		if err := e.cluster.Manager().Informers().Ready(); err != nil {
			failed.Members[name] = err
		}
	}
	if len(failed.Members) == 0 {
		return nil
	}
	return failed
}

// FailedError is the error of Members.Check.
type FailedError struct {
	// Members has why each of the Secrets has no working cluster.
	Members map[string]error
}

// Error names the Secrets and the reasons.
func (e *FailedError) Error() string {
	var text []string
	for _, name := range slices.Sorted(maps.Keys(e.Members)) {
		text = append(text, name+": "+e.Members[name].Error())
	}
	return "clustersecrets: " + strings.Join(text, "; ")
}

// Public returns the names of the Secrets, for the page of a health server.
func (e *FailedError) Public() string {
	return strings.Join(slices.Sorted(maps.Keys(e.Members)), ", ")
}

func (ms *Members) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	secret, err := ms.secrets.Get(req)
	if apierrors.IsNotFound(err) || err == nil && secret.DeletionTimestamp != nil {
		ms.mu.Lock()
		delete(ms.problems, req.Name)
		delete(ms.failures, req.Name)
		ms.mu.Unlock()
		return reconcile.Result{}, ms.disengage(ctx, req.Name)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	sum := sha256.Sum256(secret.Data[ms.opts.Key])
	if ms.current(req.Name, sum) {
		return reconcile.Result{}, nil
	}
	if err := ms.disengage(ctx, req.Name); err != nil {
		return reconcile.Result{}, err
	}
	conn, err := ms.connect(secret)
	if err != nil {
		ms.refuse(ctx, secret, problem{sum, err})
		return reconcile.Result{}, nil
	}
	c, err := ms.clusters.Engage(req.Name, conn)
	if err != nil {
		closeConn(conn)
		ms.mu.Lock()
		ms.problems[req.Name] = problem{err: err}
		ms.mu.Unlock()
		return reconcile.Result{}, err
	}
	ms.mu.Lock()
	delete(ms.problems, req.Name)
	ms.engaged[req.Name] = engaged{c, sum, time.Now()}
	ms.mu.Unlock()
	reconcile.FromContext(ctx).Logger.Info("cluster engaged", "cluster", req.Name)
	go ms.await(context.WithoutCancel(ctx), req, c, conn)
	return reconcile.Result{}, nil
}

// current reports whether the kubeconfig of that sum is the one which is in use or was refused.
func (ms *Members) current(name string, sum [sha256.Size]byte) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if p, ok := ms.problems[name]; ok {
		return p.sum == sum
	}
	e, ok := ms.engaged[name]
	return ok && e.sum == sum
}

// connect returns a connection made of a Secret's kubeconfig.
func (ms *Members) connect(secret *corev1.Secret) (client.Conn, error) {
	data, ok := secret.Data[ms.opts.Key]
	if !ok {
		return nil, fmt.Errorf("the data has no key %s", ms.opts.Key)
	}
	file, err := kubeconfig.Parse(data)
	if err != nil {
		return nil, err
	}
	var refused error
	cfg, err := file.REST(kubeconfig.Options{Edit: func(c *kubeconfig.Cluster, u *kubeconfig.User) {
		if refused = onlyData(c, u); refused != nil {
			u.Exec, u.AuthProvider = nil, nil
		}
	}})
	if err = cmp.Or(refused, err); err != nil {
		return nil, err
	}
	return ms.opts.Connect(secret.Name, cfg)
}

// onlyData returns an error if a cluster and its user need anything of this process.
func onlyData(c *kubeconfig.Cluster, u *kubeconfig.User) error {
	for _, field := range []struct{ name, path, instead string }{
		{"certificate-authority", c.CertificateAuthority, "certificate-authority-data"},
		{"client-certificate", u.ClientCertificate, "client-certificate-data"},
		{"client-key", u.ClientKey, "client-key-data"},
		{"tokenFile", u.TokenFile, "token"},
	} {
		if field.path != "" {
			return fmt.Errorf("%s is a path, which a kubeconfig in a Secret must not have: use %s", field.name, field.instead)
		}
	}
	if u.Exec != nil {
		return errors.New("exec runs a program, which a kubeconfig in a Secret must not do: use a token or a client certificate")
	}
	if u.AuthProvider != nil {
		return errors.New("auth-provider refreshes tokens, which a Secret does not keep: use a token or a client certificate")
	}
	return nil
}

// refuse keeps and reports why a kubeconfig cannot be used.
func (ms *Members) refuse(ctx context.Context, secret *corev1.Secret, p problem) {
	ms.mu.Lock()
	ms.problems[secret.Name] = p
	ms.mu.Unlock()
	reconcile.FromContext(ctx).Logger.Warn("kubeconfig refused, cluster not engaged", "cluster", secret.Name, "err", p.err)
	ms.recorder.Event(secret, events.Warning, "InvalidKubeconfig", p.err.Error())
}

// disengage removes the cluster of a Secret, if it has one, and waits until it has ended.
func (ms *Members) disengage(ctx context.Context, name string) error {
	ms.mu.Lock()
	e, ok := ms.engaged[name]
	ms.mu.Unlock()
	if !ok {
		return nil
	}
	if current, found := ms.clusters.Get(name); found && current == e.cluster {
		if _, err := ms.clusters.Disengage(ctx, name); err != nil {
			return err
		}
		reconcile.FromContext(ctx).Logger.Info("cluster disengaged", "cluster", name)
	}
	ms.forget(name, e.cluster)
	return nil
}

// forget notes that c is not the cluster of the Secret any more.
func (ms *Members) forget(name string, c *controllers.Cluster) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.engaged[name].cluster == c {
		delete(ms.engaged, name)
	}
}

// Delays before a cluster whose manager has failed is engaged again. A cluster that ran for longer than
// steady begins again with the shortest.
var again = backoff.Policy{Initial: time.Second, Max: 5 * time.Minute, Jitter: 0.2}

const steady = 10 * time.Minute

// await closes the connection of a cluster that has ended, and engages the cluster again if it has failed.
// It ends with the manager, because all clusters do.
func (ms *Members) await(ctx context.Context, req reconcile.Request, c *controllers.Cluster, conn client.Conn) {
	<-c.Done()
	closeConn(conn)
	if c.Err() == nil {
		return
	}
	ms.mu.Lock()
	e, ok := ms.engaged[req.Name]
	if !ok || e.cluster != c {
		ms.mu.Unlock()
		return
	}
	delete(ms.engaged, req.Name)
	if time.Since(e.since) > steady {
		ms.failures[req.Name] = 0
	}
	ms.failures[req.Name]++
	delay := again.Delay(ctx, ms.failures[req.Name])
	ms.mu.Unlock()
	ms.controller.Queue().AddAfter(req, delay)
}

func closeConn(conn client.Conn) {
	if c, ok := conn.(io.Closer); ok {
		_ = c.Close() // of idle connections
	}
}
