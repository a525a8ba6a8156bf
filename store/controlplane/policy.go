package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
)

// policy keeps the stored roles and bindings decoded and indexed for the RBAC authorizer. Readers load
// immutable lists; the four watches that feed them are the only writers.
type policy struct {
	access registry.Access
	log    *slog.Logger
	// migrations reports that storage version migrations are served.
	migrations bool

	clusterRoles        table[*rbacv1.ClusterRole]
	roles               table[*rbacv1.Role]
	clusterRoleBindings table[*rbacv1.ClusterRoleBinding]
	roleBindings        table[*rbacv1.RoleBinding]
	bootstrapped        atomic.Bool
	// loaded is closed, once, when ready has first returned nil.
	loaded chan struct{}
	once   sync.Once
}

// table is the objects of one resource. A watch that restarts fills another content, so that the previous one
// stays in force until the new one is complete: half a policy would deny users their rights.
type table[T metav1.Object] struct {
	now    atomic.Pointer[content[T]]
	synced atomic.Bool
	// needed is the newest resourceVersion of the bootstrap policy, seen the newest one that is in force.
	needed, seen atomic.Uint64
}

// current reports whether the table holds the bootstrap policy, which its watch brings a moment after it is
// stored.
func (t *table[T]) current() bool { return t.synced.Load() && t.seen.Load() >= t.needed.Load() }

func raise(v *atomic.Uint64, obj metav1.Object) {
	rv, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	for have := v.Load(); rv > have && !v.CompareAndSwap(have, rv); have = v.Load() {
	}
}

// content is objects by namespace, in lists ordered by name that are replaced, never changed: a change costs
// as much as its namespace has objects. One goroutine changes it, any number reads.
type content[T metav1.Object] struct{ lists sync.Map }

// list returns the objects of a namespace.
func (c *content[T]) list(namespace string) []T {
	list, _ := c.lists.Load(namespace)
	out, _ := list.([]T)
	return out
}

// find returns an object's place in a list, or where it would be.
func find[T metav1.Object](list []T, name string) (int, bool) {
	return slices.BinarySearchFunc(list, name, func(obj T, name string) int { return strings.Compare(obj.GetName(), name) })
}

func (c *content[T]) get(key types.NamespacedName) (obj T, ok bool) {
	list := c.list(key.Namespace)
	i, ok := find(list, key.Name)
	if ok {
		obj = list[i]
	}
	return obj, ok
}

// set adds an object or replaces the one of its name.
func (c *content[T]) set(obj T) {
	list := c.list(obj.GetNamespace())
	i, replaces := find(list, obj.GetName())
	rest := i
	if replaces {
		rest++
	}
	c.lists.Store(obj.GetNamespace(), slices.Concat(list[:i], []T{obj}, list[rest:]))
}

func (c *content[T]) remove(key types.NamespacedName) {
	list := c.list(key.Namespace)
	i, ok := find(list, key.Name)
	switch {
	case !ok:
	case len(list) == 1:
		c.lists.Delete(key.Namespace)
	default:
		c.lists.Store(key.Namespace, slices.Concat(list[:i], list[i+1:]))
	}
}

func newPolicy(access registry.Access, migrations bool, log *slog.Logger) *policy {
	p := &policy{access: access, migrations: migrations, log: log, loaded: make(chan struct{})}
	p.clusterRoles.now.Store(&content[*rbacv1.ClusterRole]{})
	p.roles.now.Store(&content[*rbacv1.Role]{})
	p.clusterRoleBindings.now.Store(&content[*rbacv1.ClusterRoleBinding]{})
	p.roleBindings.now.Store(&content[*rbacv1.RoleBinding]{})
	return p
}

// ClusterRole implements authz.Policy.
func (p *policy) ClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	return p.clusterRoles.get(types.NamespacedName{Name: name}, "clusterroles")
}

// Role implements authz.Policy.
func (p *policy) Role(_ context.Context, namespace, name string) (*rbacv1.Role, error) {
	return p.roles.get(types.NamespacedName{Namespace: namespace, Name: name}, "roles")
}

// ClusterRoleBindings implements authz.Policy.
func (p *policy) ClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return p.clusterRoleBindings.now.Load().list(""), nil
}

// RoleBindings implements authz.Policy.
func (p *policy) RoleBindings(_ context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	return p.roleBindings.now.Load().list(namespace), nil
}

func (t *table[T]) get(key types.NamespacedName, resource string) (T, error) {
	obj, ok := t.now.Load().get(key)
	if !ok {
		return obj, apierrors.NewNotFound(schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: resource}, key.Name)
	}
	return obj, nil
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

// look closes loaded when the policy can be relied on for the first time.
func (p *policy) look() {
	if p.ready(context.Background()) == nil {
		p.once.Do(func() { close(p.loaded) })
	}
}

// run stores the bootstrap policy, once the namespaces it needs are there, and follows the four resources
// until ctx ends.
func (p *policy) run(ctx context.Context, namespaces <-chan struct{}) error {
	var wg sync.WaitGroup
	wg.Go(func() { follow(ctx, p, &p.clusterRoles, "clusterroles") })
	wg.Go(func() { follow(ctx, p, &p.roles, "roles") })
	wg.Go(func() { follow(ctx, p, &p.clusterRoleBindings, "clusterrolebindings") })
	wg.Go(func() { follow(ctx, p, &p.roleBindings, "rolebindings") })
	select {
	case <-namespaces:
		p.bootstrapUntilDone(ctx)
	case <-ctx.Done():
	}
	wg.Wait()
	return nil
}

// bootstrapUntilDone tries until the policy is stored: the store may be out of reach for a while.
func (p *policy) bootstrapUntilDone(ctx context.Context) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := p.bootstrap(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		p.log.Error("storing the bootstrap policy failed, will retry", "err", err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// follow keeps t current.
func follow[T metav1.Object](ctx context.Context, p *policy, t *table[T], resource string) {
	initial := map[types.NamespacedName]T{} // since the watch began; nil once they are in force
	err := p.access.Watch(ctx, rbac(resource), "", func(e registry.Event) error {
		switch e.Type {
		case registry.Restarted:
			initial = map[types.NamespacedName]T{}
		case registry.Synced:
			t.replace(slices.Collect(maps.Values(initial)))
			initial = nil
			if p.bootstrapped.Load() { // whatever has been deleted since, this is newer
				t.needed.Store(0)
			}
			t.synced.Store(true)
			p.look()
		default:
			switch key := metav1.KeyOf(e.Object); {
			case initial != nil && e.Type == registry.Deleted:
				delete(initial, key)
				return nil
			case initial != nil:
				initial[key] = e.Object.(T)
				return nil
			case e.Type == registry.Deleted:
				t.now.Load().remove(key)
			default:
				t.now.Load().set(e.Object.(T))
			}
			raise(&t.seen, e.Object)
			p.look()
		}
		return nil
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, cache.ErrStopped) { // the server has ended
		p.log.Error("watch of the policy failed", "resource", resource, "err", err)
	}
}

// replace puts objs in force, and nothing else.
func (t *table[T]) replace(objs []T) {
	slices.SortFunc(objs, func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	c := &content[T]{}
	for begin := 0; begin < len(objs); {
		end := begin + 1
		for end < len(objs) && objs[end].GetNamespace() == objs[begin].GetNamespace() {
			end++
		}
		c.lists.Store(objs[begin].GetNamespace(), slices.Clip(objs[begin:end]))
		begin = end
	}
	t.now.Store(c)
	for _, obj := range objs {
		raise(&t.seen, obj)
	}
}

func rbac(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}
}

// bootstrap creates what is missing of the bootstrap policy, and adds missing rules and subjects to what is
// there unless its owner has switched that off by annotation.
func (p *policy) bootstrap(ctx context.Context) error {
	b := authz.BootstrapPolicy()
	if p.migrations {
		b.AddMigrator()
	}
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
	p.look()
	return err
}

// bootstrapWriters is how many bootstrap objects are written at once.
const bootstrapWriters = 16

func addRules(have *[]rbacv1.PolicyRule, want []rbacv1.PolicyRule) bool {
	ok, missing := authz.Covers(*have, want)
	*have = append(*have, missing...)
	return !ok
}

func ensure[T metav1.Object](ctx context.Context, p *policy, t *table[T], resource string, obj T, complete func(have T) bool) error {
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
	raise(&t.needed, have)
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
