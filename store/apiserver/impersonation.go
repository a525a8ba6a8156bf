package apiserver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// impersonation is the user as whom a caller sends a request.
type impersonation struct {
	name, uid string
	groups    []string
	extra     map[string][]string
}

// impersonationMode is a kind of right to impersonate. A constrained one is for some users, and needs two
// rights: to impersonate the user, and to do so for what the request does.
type impersonationMode struct {
	name    string // empty for the unconstrained one
	applies func(caller *authn.User, w *impersonation) bool
}

// impersonationModes are tried in order until one permits the request.
var impersonationModes = []impersonationMode{
	{"associated-node", func(caller *authn.User, w *impersonation) bool {
		node, ok := w.node()
		if _, _, account := authn.SplitUserName(caller.Name); !ok || !account || !w.onlyName() {
			return false
		}
		bound := caller.Extra[authn.ExtraNodeName]
		return len(bound) == 1 && bound[0] == node
	}},
	{"arbitrary-node", func(_ *authn.User, w *impersonation) bool {
		_, ok := w.node()
		return ok && w.onlyName()
	}},
	{"serviceaccount", func(_ *authn.User, w *impersonation) bool {
		_, _, ok := authn.SplitUserName(w.name)
		return ok && w.onlyName()
	}},
	{"user-info", func(_ *authn.User, w *impersonation) bool {
		_, node := w.node()
		_, _, account := authn.SplitUserName(w.name)
		return !node && !account
	}},
	{"", func(*authn.User, *impersonation) bool { return true }},
}

// associatedNode is the mode in which an agent on a node, which its token names, impersonates that node. A
// right is for the agents of all nodes, each for its own.
const associatedNode = "associated-node"

// node returns the name of the node that the user is.
func (w *impersonation) node() (string, bool) {
	name, ok := strings.CutPrefix(w.name, authn.NodePrefix)
	return name, ok && len(validation.IsDNS1123Subdomain(name)) == 0
}

func (w *impersonation) onlyName() bool {
	return w.uid == "" && len(w.groups) == 0 && len(w.extra) == 0
}

// authorize returns the user, and the verb by which a constrained mode permits it. The error is that of the
// first mode that is for this user.
func (w *impersonation) authorize(r *request) (user *authn.User, constraint string, err error) {
	caller := authn.UserFrom(r.Context())
	if caller == nil { // nothing authenticates callers
		caller = &authn.User{}
	}
	for _, mode := range impersonationModes {
		if !mode.applies(caller, w) {
			continue
		}
		c := &impersonationCheck{r: r, caller: caller, mode: mode.name, verb: "impersonate", group: ""}
		if mode.name != "" {
			c.verb, c.group = "impersonate:"+mode.name, "authentication.k8s.io"
		}
		wrong := c.check(w)
		if wrong == nil {
			if mode.name != "" {
				constraint = c.verb
			}
			return w.user(mode.name != ""), constraint, nil
		}
		if err == nil {
			err = wrong
		}
	}
	return nil, "", err
}

// user is the user with the groups that follow from the name.
func (w *impersonation) user(constrained bool) *authn.User {
	u := &authn.User{Name: w.name, UID: w.uid, Groups: slices.Clone(w.groups)}
	if len(w.extra) > 0 {
		u.Extra = w.extra
	}
	if namespace, _, ok := authn.SplitUserName(w.name); ok && len(w.groups) == 0 {
		u.Groups = append(u.Groups, authn.GroupServiceAccounts, authn.GroupServiceAccounts+":"+namespace)
	}
	if _, ok := w.node(); ok && constrained {
		u.Groups = []string{authn.GroupNodes}
	}
	switch {
	case w.name == authn.Anonymous:
		if !slices.Contains(u.Groups, authn.GroupUnauthenticated) {
			u.Groups = append(u.Groups, authn.GroupUnauthenticated)
		}
	case !slices.Contains(u.Groups, authn.GroupAuthenticated) && !slices.Contains(u.Groups, authn.GroupUnauthenticated):
		u.Groups = append(u.Groups, authn.GroupAuthenticated)
	}
	return u
}

// impersonationCheck checks the rights of a caller in a mode.
type impersonationCheck struct {
	r          *request
	caller     *authn.User
	mode, verb string
	group      string // of users, groups, nodes and serviceaccounts
}

func (c *impersonationCheck) check(w *impersonation) error {
	if c.mode != "" {
		if c.mode == associatedNode {
			caller := *c.caller
			caller.Extra = map[string][]string{"authentication.kubernetes.io/associated-node-keys": slices.Sorted(maps.Keys(c.caller.Extra))}
			c.caller = &caller
		}
		on := c.r.selectingAttributes()
		on.User, on.Verb = c.caller, "impersonate-on:"+c.mode+":"+on.Verb
		if err := c.permitted(on); err != nil {
			return err
		}
	}
	if err := c.permitted(c.nameAttributes(w)); err != nil {
		return err
	}
	if w.uid != "" {
		if err := c.permitted(c.attributes("authentication.k8s.io", "uids", w.uid)); err != nil {
			return err
		}
	}
	if err := c.checkGroups(w.groups); err != nil {
		return err
	}
	return c.checkExtra(w.extra)
}

// attributes are those of the right to impersonate a thing.
func (c *impersonationCheck) attributes(group, resource, name string) authz.Attributes {
	return authz.Attributes{User: c.caller, Verb: c.verb, ResourceRequest: true, APIGroup: group, APIVersion: "v1", Resource: resource, Name: name}
}

func (c *impersonationCheck) nameAttributes(w *impersonation) authz.Attributes {
	if namespace, name, ok := authn.SplitUserName(w.name); ok {
		a := c.attributes(c.group, "serviceaccounts", name)
		a.Namespace = namespace
		return a
	}
	node, ok := w.node()
	switch {
	case !ok || c.mode == "":
		return c.attributes(c.group, "users", w.name)
	case c.mode == associatedNode:
		node = "*"
	}
	return c.attributes(c.group, "nodes", node)
}

// manyImpersonated is the number of groups or extra values from which the right for all is looked for first.
const manyImpersonated = 4

func (c *impersonationCheck) checkGroups(groups []string) error {
	if c.mode != "" {
		if slices.Contains(groups, "") {
			return forbiddenTo(c.attributes(c.group, "groups", ""), "impersonating the empty string group is not allowed", nil)
		}
		if slices.Contains(groups, authn.GroupMasters) {
			return forbiddenTo(c.attributes(c.group, "groups", authn.GroupMasters), "impersonating the system:masters group is not allowed", nil)
		}
		if len(groups) >= manyImpersonated && c.permitted(c.attributes(c.group, "groups", "*")) == nil {
			return nil
		}
	}
	for _, g := range groups {
		if err := c.permitted(c.attributes(c.group, "groups", g)); err != nil {
			return err
		}
	}
	return nil
}

func (c *impersonationCheck) checkExtra(extra map[string][]string) error {
	a := c.attributes("authentication.k8s.io", "userextras", "")
	if c.mode != "" {
		if err := validateImpersonatedExtra(extra); err != nil {
			return forbiddenTo(a, err.Error(), nil)
		}
		count := 0
		for _, values := range extra {
			count += len(values)
		}
		if a.Subresource, a.Name = "*", "*"; count >= manyImpersonated && c.permitted(a) == nil {
			return nil
		}
	}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		for _, value := range extra[key] {
			a.Subresource, a.Name = key, value
			if err := c.permitted(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// validateImpersonatedExtra refuses what a constrained mode does not accept.
func validateImpersonatedExtra(extra map[string][]string) error {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		values := extra[key]
		switch errs := validation.DomainPrefixedPath(validation.NewPath("extra").Child("key"), key); {
		case key == "":
			return errors.New("impersonating the empty string key in extra is not allowed")
		case len(errs) > 0:
			return fmt.Errorf("impersonating an invalid key in extra is not allowed: %w", errs.Err())
		case key != strings.ToLower(key):
			return fmt.Errorf("impersonating a non-lowercase key in extra is not allowed: %q", key)
		case len(values) == 0:
			return errors.New("impersonating empty values in extra is not allowed")
		case slices.Contains(values, ""):
			return errors.New("impersonating the empty string value in extra is not allowed")
		}
	}
	return nil
}

// permitted returns nil if a is allowed, else a 403.
func (c *impersonationCheck) permitted(a authz.Attributes) error {
	began := time.Now()
	d, reason, err := c.r.server.callAuthorizer(c.r.Context(), a)
	if hook := c.r.server.opts.Metrics.Checked; hook != nil {
		hook(modeLabel(c.mode), d == authz.Allow, time.Since(began))
	}
	if d == authz.Allow {
		return nil
	}
	return forbiddenTo(a, reason, err)
}

// forbiddenTo is the 403 of something that is not allowed.
func forbiddenTo(a authz.Attributes, reason string, err error) error {
	resource := schema.GroupResource{Group: a.APIGroup, Resource: a.Resource}
	if !a.ResourceRequest {
		resource, a.Name = schema.GroupResource{}, ""
	}
	return apierrors.NewForbidden(resource, a.Name, errors.New(forbidden(a, reason, err)))
}
