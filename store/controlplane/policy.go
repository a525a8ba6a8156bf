package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
)

// policy keeps the objects of the RBAC authorizer as they are stored. The four watches are the only writers.
type policy struct {
	access registry.Access
	log    *slog.Logger
	// serves has the kinds that are served; nil stands for those that always are.
	serves *scheme.Scheme

	rules *authz.Policy
	// The progress of the watch of each resource.
	clusterRoles, roles, clusterRoleBindings, roleBindings watchProgress

	from         int64 // revision of the policy it began with, zero without
	bootstrapped atomic.Bool
	// loaded is closed, once, when ready has first returned nil.
	loaded chan struct{}
	once   sync.Once
	// moved notifies of every change that is in force.
	moved broadcast
}

// watchProgress is the state of the watch of one resource.
type watchProgress struct {
	synced atomic.Bool
	// collecting is true from the beginning of a watch until its initial objects are in force.
	collecting atomic.Bool
	// needed is the newest resourceVersion of the bootstrap policy, seen the newest one that is in force.
	needed, seen atomic.Uint64
	// written returns the revision of the last change made through this server. The changes up to delivered
	// are in force, those up to abandoned did not arrive in time.
	written              func() int64
	delivered, abandoned atomic.Int64
}

// current reports whether the bootstrap policy is in force: the watch delivers it shortly after it is stored.
func (f *watchProgress) current() bool { return f.synced.Load() && f.seen.Load() >= f.needed.Load() }

func storeMax(v *atomic.Uint64, obj metav1.Object) {
	rv, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	for have := v.Load(); rv > have && !v.CompareAndSwap(have, rv); have = v.Load() {
	}
}

// newPolicy returns a policy that begins with that of an image, which may be nil.
func newPolicy(access registry.Access, serves *scheme.Scheme, from *Image, log *slog.Logger) *policy {
	p := &policy{access: access, serves: serves, log: log, rules: &authz.Policy{}, loaded: make(chan struct{})}
	for resource, f := range map[string]*watchProgress{"clusterroles": &p.clusterRoles, "roles": &p.roles, "clusterrolebindings": &p.clusterRoleBindings, "rolebindings": &p.roleBindings} {
		f.written = access.Written(rbac(resource))
	}
	if from != nil && from.policy != nil {
		p.rules, p.from = from.policy.Clone(), from.revision
		p.bootstrapped.Store(true)
		for _, f := range p.watches() {
			f.synced.Store(true)
		}
	}
	return p
}

func (p *policy) watches() [4]*watchProgress {
	return [4]*watchProgress{&p.clusterRoles, &p.roles, &p.clusterRoleBindings, &p.roleBindings}
}

// image returns the policy as it was at a revision, nil if it is not complete up to there. The caller makes
// sure that nothing newer is stored.
func (p *policy) image(ctx context.Context, s *registry.Registry, revision int64) *authz.Policy {
	for _, f := range p.watches() {
		if f.collecting.Load() {
			return nil
		}
	}
	if p.ready(ctx) != nil || !s.Delivered(revision, rbac("clusterroles"), rbac("roles"), rbac("clusterrolebindings"), rbac("rolebindings")) {
		return nil
	}
	return p.rules.Clone()
}

// ready reports why the policy cannot be relied on yet.
func (p *policy) ready(context.Context) error {
	if !p.bootstrapped.Load() {
		return errors.New("the bootstrap policy is not stored yet")
	}
	if !p.clusterRoles.current() || !p.roles.current() || !p.clusterRoleBindings.current() || !p.roleBindings.current() {
		return errors.New("roles and bindings are not loaded yet")
	}
	return nil
}

// checkLoaded closes loaded when ready first returns nil.
func (p *policy) checkLoaded() {
	if p.ready(context.Background()) == nil {
		p.once.Do(func() { close(p.loaded) })
	}
}

// run stores the bootstrap policy when the namespaces it needs exist, and follows the four resources until
// ctx ends.
func (p *policy) run(ctx context.Context, namespaces <-chan struct{}) error {
	var wg sync.WaitGroup
	wg.Go(func() { follow(ctx, p, &p.clusterRoles, "clusterroles", &rbacv1.ClusterRole{}) })
	wg.Go(func() { follow(ctx, p, &p.roles, "roles", &rbacv1.Role{}) })
	wg.Go(func() { follow(ctx, p, &p.clusterRoleBindings, "clusterrolebindings", &rbacv1.ClusterRoleBinding{}) })
	wg.Go(func() { follow(ctx, p, &p.roleBindings, "rolebindings", &rbacv1.RoleBinding{}) })
	select {
	case <-namespaces:
		if p.from > 0 {
			p.checkLoaded()
		} else {
			p.bootstrapUntilDone(ctx)
		}
	case <-ctx.Done():
	}
	wg.Wait()
	return nil
}

// bootstrapRetry is how often a failed bootstrap is tried again: the store may be unavailable for a while.
var bootstrapRetry = backoff.Policy{Max: 5 * time.Second}

// bootstrapUntilDone retries until the policy is stored or ctx ends.
func (p *policy) bootstrapUntilDone(ctx context.Context) {
	_ = backoff.Retry(ctx, bootstrapRetry, nil, func(ctx context.Context) error {
		err := p.bootstrap(ctx)
		if err != nil && ctx.Err() == nil {
			p.log.Error("storing the bootstrap policy failed, will retry", "err", err)
		}
		return err
	}) // ends with ctx
}

// follow updates the authorizer with the stored objects of a resource, which are of the type of kind. A
// restarted watch collects them first, so that the previous ones stay in force until then: an incomplete
// policy would deny users their rights.
func follow(ctx context.Context, p *policy, f *watchProgress, resource string, kind metav1.Object) {
	var initial map[types.NamespacedName]metav1.Object // since the watch began; nil once they are in force
	begin := func() {
		initial = map[types.NamespacedName]metav1.Object{}
		f.collecting.Store(true)
	}
	deliver := func(e registry.Event) error {
		switch {
		case e.Expired:
			begin()
		case e.InitialEnd:
			objs := slices.Collect(maps.Values(initial))
			p.rules.Replace(kind, objs)
			for _, obj := range objs {
				storeMax(&f.seen, obj)
			}
			initial = nil
			f.collecting.Store(false)
			if p.bootstrapped.Load() { // newer than the bootstrap, whatever was deleted since
				f.needed.Store(0)
			}
			f.synced.Store(true)
			p.checkLoaded()
			p.arrived(f, e.Revision)
		default:
			switch key := metav1.KeyOf(e.Object); {
			case initial != nil && e.Type == cache.Deleted:
				delete(initial, key)
				return nil
			case initial != nil:
				initial[key] = e.Object
				return nil
			case e.Type == cache.Deleted:
				p.rules.Delete(e.Object)
			default:
				p.rules.Set(e.Object)
			}
			storeMax(&f.seen, e.Object)
			p.checkLoaded()
			p.arrived(f, e.Revision)
		}
		return nil
	}
	var err error
	if p.from > 0 {
		err = p.access.Follow(ctx, rbac(resource), "", p.from, deliver)
	} else {
		begin()
		err = p.access.Watch(ctx, rbac(resource), "", deliver)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, cache.ErrStopped) { // the server has ended
		p.log.Error("watch of the policy failed", "resource", resource, "err", err)
	}
}

func rbac(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}
}

// bootstrap creates the missing objects of the bootstrap policy, and adds missing rules and subjects to
// existing ones unless an annotation disables that.
func (p *policy) bootstrap(ctx context.Context) error {
	b := authz.BootstrapPolicy()
	addGated(p.serves, b)
	// On etcd every object costs two round trips, so several are under way at a time.
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	slots := make(chan struct{}, bootstrapWriters)
	do := func(f func() error) {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := f(); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	for _, o := range b.ClusterRoles {
		do(func() error {
			return ensure(ctx, p, &p.clusterRoles, "clusterroles", o, func(have *rbacv1.ClusterRole) bool {
				// The rules of an aggregated role are the sum of others.
				return have.AggregationRule == nil && addRules(&have.Rules, o.Rules)
			})
		})
	}
	for _, o := range b.ClusterRoleBindings {
		do(func() error {
			return ensure(ctx, p, &p.clusterRoleBindings, "clusterrolebindings", o, func(have *rbacv1.ClusterRoleBinding) bool { return addSubjects(&have.Subjects, o.Subjects) })
		})
	}
	for _, o := range b.Roles {
		do(func() error {
			return ensure(ctx, p, &p.roles, "roles", o, func(have *rbacv1.Role) bool { return addRules(&have.Rules, o.Rules) })
		})
	}
	for _, o := range b.RoleBindings {
		do(func() error {
			return ensure(ctx, p, &p.roleBindings, "rolebindings", o, func(have *rbacv1.RoleBinding) bool { return addSubjects(&have.Subjects, o.Subjects) })
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	p.bootstrapped.Store(err == nil)
	p.checkLoaded()
	return err
}

// bootstrapWriters is how many bootstrap objects are written at once.
const bootstrapWriters = 16

func addRules(have *[]rbacv1.PolicyRule, want []rbacv1.PolicyRule) bool {
	ok, missing := authz.Covers(*have, want)
	*have = append(*have, missing...)
	return !ok
}

func ensure[T metav1.Object](ctx context.Context, p *policy, f *watchProgress, resource string, obj T, complete func(have T) bool) error {
	key := metav1.KeyOf(obj)
	have, err := p.access.GetLatest(ctx, rbac(resource), key)
	if apierrors.IsNotFound(err) {
		have, err = p.access.Create(ctx, rbac(resource), obj, registry.Write{})
		if apierrors.IsAlreadyExists(err) { // another server was faster
			have, err = p.access.GetLatest(ctx, rbac(resource), key)
		}
	} else if err == nil && have.GetAnnotations()[authz.AutoUpdateAnnotation] == "true" && complete(have.(T)) {
		have, err = p.access.Update(ctx, rbac(resource), key, func(o metav1.Object) error {
			complete(o.(T))
			return nil
		}, registry.Write{})
	}
	if err != nil {
		return fmt.Errorf("%s %v: %w", resource, key, err)
	}
	storeMax(&f.needed, have)
	return nil
}

func addSubjects(have *[]rbacv1.Subject, want []rbacv1.Subject) bool {
	added := false
	for _, s := range want {
		if !slices.Contains(*have, s) {
			*have, added = append(*have, s), true
		}
	}
	return added
}
