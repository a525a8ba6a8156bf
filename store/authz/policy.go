package authz

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/internal/ordered"
)

// Policy is the roles and bindings that [RBAC] decides by, indexed by subject: the cost of a decision depends
// on the bindings of the user and of the user's groups only. The zero value is an empty policy. Readers use
// an immutable snapshot, so that each decision is made with one state of the policy; a change costs a few
// small copies. Safe for concurrent use. A Policy must not be copied.
type Policy struct {
	mu  sync.Mutex // serializes writers
	now atomic.Pointer[policyState]
}

// policyState is a snapshot of a policy: the scopes by namespace, with the cluster's as "".
type policyState struct{ scopes ordered.Map[*scope] }

// scope is the roles and bindings of a namespace, or those of the cluster.
type scope struct {
	roles    ordered.Map[[]rbacv1.PolicyRule]
	bindings ordered.Map[*binding]
	// Grants by subject and then by binding. Service accounts are users.
	users, groups ordered.Map[ordered.Map[*grant]]
}

// binding is a RoleBinding or ClusterRoleBinding, with its subjects in their order.
type binding struct {
	role     rbacv1.RoleRef
	subjects []subject
}

// subject is a user or a group.
type subject struct {
	group bool
	name  string
}

// grant is a binding together with the index of one of its subjects.
type grant struct {
	binding *binding
	index   int
	reason  string // the reason for allowing a request
}

// Clone returns a policy with the same roles and bindings, in constant time.
func (p *Policy) Clone() *Policy {
	c := &Policy{}
	c.now.Store(p.now.Load())
	return c
}

// Set adds roles and bindings, or replaces those of the same name: *rbacv1.ClusterRole, Role,
// ClusterRoleBinding and RoleBinding; other types are a programming mistake and panic. All take effect
// together. The objects must not be changed afterwards.
func (p *Policy) Set(objs ...metav1.Object) { p.edit(nil, objs) }

// Delete removes roles and bindings, if they exist; only type, namespace and name matter.
func (p *Policy) Delete(objs ...metav1.Object) { p.edit(objs, nil) }

// Replace makes objs, which are all of the type of kind, the only ones of that type.
func (p *Policy) Replace(kind metav1.Object, objs []metav1.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.editor()
	names := map[[2]string]bool{}
	for _, o := range objs {
		names[[2]string{o.GetNamespace(), o.GetName()}] = true
	}
	for namespace, s := range e.scopes.Map().Range("", "") {
		for name := range s.names(kind, namespace) {
			if !names[[2]string{namespace, name}] {
				e.remove(kind, namespace, name)
			}
		}
	}
	for _, o := range objs {
		e.set(o)
	}
	p.publish(e)
}

func (p *Policy) edit(remove, set []metav1.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.editor()
	for _, o := range remove {
		e.remove(o, o.GetNamespace(), o.GetName())
	}
	for _, o := range set {
		e.set(o)
	}
	p.publish(e)
}

// state is the current snapshot.
func (p *Policy) state() *policyState {
	if s := p.now.Load(); s != nil {
		return s
	}
	return &policyState{}
}

// rules returns the rules of the role that a binding in a namespace ("" for the cluster) refers to, or an
// apierrors NotFound.
func (s *policyState) rules(ref *rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	resource := "roles"
	switch ref.Kind {
	case "Role":
	case "ClusterRole":
		namespace, resource = "", "clusterroles"
	default:
		return nil, fmt.Errorf("authz: unknown role kind %q", ref.Kind)
	}
	if in, ok := s.scopes.Get(namespace); ok {
		if rules, ok := in.roles.Get(ref.Name); ok {
			return rules, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: rbacGroup, Resource: resource}, ref.Name)
}

// grants calls f for each grant of the bindings in a namespace ("" for the cluster) to u, each binding once,
// until f returns false, which it reports.
func (s *policyState) grants(u *authn.User, namespace string, f func(*grant) bool) bool {
	in, ok := s.scopes.Get(namespace)
	if !ok {
		return true
	}
	if of, ok := in.users.Get(u.Name); ok {
		for _, g := range of.Range("", "") {
			if !g.binding.names(u, g.index) && !f(g) {
				return false
			}
		}
	}
	for i, group := range u.Groups {
		of, ok := in.groups.Get(group)
		if !ok || slices.Contains(u.Groups[:i], group) {
			continue
		}
		for _, g := range of.Range("", "") {
			if !g.binding.names(u, g.index) && !f(g) {
				return false
			}
		}
	}
	return true
}

// names reports whether one of the first n subjects is u.
func (b *binding) names(u *authn.User, n int) bool {
	return slices.ContainsFunc(b.subjects[:n], func(s subject) bool {
		return !s.group && s.name == u.Name || s.group && slices.Contains(u.Groups, s.name)
	})
}

// names iterates over the names of the objects of a type.
func (s *scope) names(kind metav1.Object, namespace string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if isRole(kind, namespace) {
			for name := range s.roles.Range("", "") {
				if !yield(name) {
					return
				}
			}
		}
		if isBinding(kind, namespace) {
			for name := range s.bindings.Range("", "") {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// isRole and isBinding report whether objects of a type are the roles or the bindings of a scope.
func isRole(kind metav1.Object, namespace string) bool {
	switch kind.(type) {
	case *rbacv1.ClusterRole:
		return namespace == ""
	case *rbacv1.Role:
		return namespace != ""
	}
	return false
}

func isBinding(kind metav1.Object, namespace string) bool {
	switch kind.(type) {
	case *rbacv1.ClusterRoleBinding:
		return namespace == ""
	case *rbacv1.RoleBinding:
		return namespace != ""
	}
	return false
}

// policyEditor makes the next snapshot.
type policyEditor struct {
	scopes *ordered.Editor[*scope]
	open   map[string]*scopeEditor
}

// scopeEditor changes one scope.
type scopeEditor struct {
	roles         *ordered.Editor[[]rbacv1.PolicyRule]
	bindings      *ordered.Editor[*binding]
	users, groups *ordered.Editor[ordered.Map[*grant]]
}

func (p *Policy) editor() *policyEditor {
	return &policyEditor{scopes: p.state().scopes.Edit(), open: map[string]*scopeEditor{}}
}

// publish makes the edits effective; p.mu is held.
func (p *Policy) publish(e *policyEditor) {
	for namespace, s := range e.open {
		next := &scope{roles: s.roles.Map(), bindings: s.bindings.Map(), users: s.users.Map(), groups: s.groups.Map()}
		if next.roles.Len() == 0 && next.bindings.Len() == 0 {
			e.scopes.Delete(namespace)
		} else {
			e.scopes.Set(namespace, next)
		}
	}
	p.now.Store(&policyState{scopes: e.scopes.Map()})
}

func (e *policyEditor) scope(namespace string) *scopeEditor {
	s := e.open[namespace]
	if s == nil {
		old, ok := e.scopes.Get(namespace)
		if !ok {
			old = &scope{}
		}
		s = &scopeEditor{old.roles.Edit(), old.bindings.Edit(), old.users.Edit(), old.groups.Edit()}
		e.open[namespace] = s
	}
	return s
}

func (e *policyEditor) set(obj metav1.Object) {
	s := e.scope(obj.GetNamespace())
	switch o := obj.(type) {
	case *rbacv1.ClusterRole:
		s.roles.Set(o.Name, o.Rules)
	case *rbacv1.Role:
		s.roles.Set(o.Name, o.Rules)
	case *rbacv1.ClusterRoleBinding:
		s.bind("ClusterRoleBinding", o.Name, "", o.RoleRef, o.Subjects)
	case *rbacv1.RoleBinding:
		s.bind("RoleBinding", o.Name, o.Namespace, o.RoleRef, o.Subjects)
	default:
		panic(fmt.Sprintf("authz: a Policy holds roles and bindings, not %T", obj))
	}
}

func (e *policyEditor) remove(kind metav1.Object, namespace, name string) {
	s := e.scope(namespace)
	switch {
	case isRole(kind, namespace):
		s.roles.Delete(name)
	case isBinding(kind, namespace):
		s.unbind(name)
	default:
		panic(fmt.Sprintf("authz: a Policy holds roles and bindings, not %T", kind))
	}
}

// bind adds or replaces a binding.
func (s *scopeEditor) bind(kind, name, namespace string, role rbacv1.RoleRef, to []rbacv1.Subject) {
	s.unbind(name)
	b := &binding{role: role, subjects: make([]subject, len(to))}
	for i := range to {
		b.subjects[i] = subjectOf(&to[i], namespace)
	}
	s.bindings.Set(name, b)
	full := name
	if namespace != "" {
		full += "/" + namespace
	}
	for i, sub := range b.subjects {
		if sub.name == "" || slices.Contains(b.subjects[:i], sub) {
			continue
		}
		of := s.of(sub)
		grants, _ := of.Get(sub.name)
		edit := grants.Edit()
		edit.Set(name, &grant{binding: b, index: i, reason: "RBAC: allowed by " + describe(kind, full, role, &to[i])})
		of.Set(sub.name, edit.Map())
	}
}

// unbind removes a binding, if it exists.
func (s *scopeEditor) unbind(name string) {
	b, ok := s.bindings.Delete(name)
	if !ok {
		return
	}
	for _, sub := range b.subjects {
		of := s.of(sub)
		grants, ok := of.Get(sub.name)
		if !ok {
			continue // the subject is in the binding twice
		}
		edit := grants.Edit()
		edit.Delete(name)
		if rest := edit.Map(); rest.Len() > 0 {
			of.Set(sub.name, rest)
		} else {
			of.Delete(sub.name)
		}
	}
}

func (s *scopeEditor) of(sub subject) *ordered.Editor[ordered.Map[*grant]] {
	if sub.group {
		return s.groups
	}
	return s.users
}

// subjectOf returns a subject of a binding in a namespace ("" for the cluster). An invalid subject has an
// empty name.
func subjectOf(s *rbacv1.Subject, namespace string) subject {
	switch s.Kind {
	case "User":
		return subject{name: s.Name}
	case "Group":
		return subject{group: true, name: s.Name}
	case "ServiceAccount":
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		if namespace != "" && s.Name != "" {
			return subject{name: authn.UserName(namespace, s.Name)}
		}
	}
	return subject{}
}

func describe(kind, name string, ref rbacv1.RoleRef, s *rbacv1.Subject) string {
	who := s.Name
	if s.Namespace != "" {
		who += "/" + s.Namespace
	}
	return fmt.Sprintf("%s %q of %s %q to %s %q", kind, name, ref.Kind, ref.Name, s.Kind, who)
}
