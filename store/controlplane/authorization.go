package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/registry"
)

// authorization is what decides about requests.
type authorization struct {
	serves    *scheme.Scheme                   // nil stands for the kinds that always are served
	chain     atomic.Pointer[authz.Authorizer] // a union
	decided   func(mode string, d authz.Decision)
	rbac      *authz.RBAC
	policy    *policy        // nil without RBAC
	relations *nodeRelations // nil without Node
}

// Authorize implements authz.Authorizer.
func (z *authorization) Authorize(ctx context.Context, a authz.Attributes) (authz.Decision, string, error) {
	return (*z.chain.Load()).Authorize(ctx, a)
}

// RulesFor implements authz.RuleResolver.
func (z *authorization) RulesFor(ctx context.Context, u *authn.User, namespace string) ([]authz.ResourceRule, []authz.NonResourceRule, bool, error) {
	return (*z.chain.Load()).(authz.RuleResolver).RulesFor(ctx, u, namespace)
}

// builtinModes are the authorization modes without those of Options.Authorizers.
var builtinModes = []string{"Node", "RBAC", "AlwaysAllow", "AlwaysDeny"}

// newAuthorization makes the authorizers of the options.
func newAuthorization(o *Options, a registry.Access) (*authorization, error) {
	z := &authorization{decided: o.Decided, serves: o.Server.Scheme}
	if slices.Contains(o.AuthorizationModes, "Node") {
		z.relations = newNodeRelations(a, o.NodeGraphChanged, o.Logger)
	}
	if slices.Contains(o.AuthorizationModes, "RBAC") {
		z.policy = newPolicy(a, o.Server.Scheme, o.Image, o.Logger)
		z.rbac = authz.NewRBAC(z.policy.rules)
	}
	return z, z.set(o.AuthorizationModes, o.Authorizers)
}

// set puts modes in force, in their order, behind the authorizer of the masters. After an error those before
// stay.
func (z *authorization) set(modes []string, own map[string]authz.Authorizer) error {
	all := []authz.Authorizer{authz.Masters()}
	for i, name := range modes {
		if slices.Contains(modes[:i], name) {
			return fmt.Errorf("controlplane: authorization mode %s is given twice", name)
		}
		next, err := z.mode(name, own)
		if err != nil {
			return err
		}
		if z.decided != nil {
			next = &observedAuthorizer{next, name, z.decided}
		}
		all = append(all, next)
	}
	chain := authz.Union(all...)
	z.chain.Store(&chain)
	return nil
}

func (z *authorization) mode(name string, own map[string]authz.Authorizer) (authz.Authorizer, error) {
	switch mine := own[name]; {
	case mine != nil && slices.Contains(builtinModes, name):
		return nil, fmt.Errorf("controlplane: Options.Authorizers has %s, which is a built-in authorization mode", name)
	case mine != nil:
		return mine, nil
	}
	switch name {
	case "Node":
		if z.relations == nil {
			return nil, errors.New("controlplane: the authorization mode Node cannot be added while the server runs")
		}
		node := authz.NewNode(&z.relations.graph, z.relations.loaded)
		addGated(z.serves, node)
		return node, nil
	case "RBAC":
		if z.rbac == nil {
			return nil, errors.New("controlplane: the authorization mode RBAC cannot be added while the server runs")
		}
		return currentRBAC{z.policy, z.rbac}, nil
	case "AlwaysAllow":
		return authz.AlwaysAllow(), nil
	case "AlwaysDeny":
		return authz.AlwaysDeny(), nil
	}
	known := slices.Concat(builtinModes, slices.Sorted(maps.Keys(own)))
	return nil, fmt.Errorf("controlplane: unknown authorization mode %q; known are %s", name, strings.Join(known, ", "))
}

// SetAuthorization replaces Options.AuthorizationModes and Options.Authorizers, for requests from now on.
// After an error those before stay in force. Node and RBAC can only be given if they were when the server was
// made.
func (c *ControlPlane) SetAuthorization(modes []string, authorizers map[string]authz.Authorizer) error {
	return c.authorization.set(modes, authorizers)
}

// checks are the health checks of what has to be loaded.
func (z *authorization) checks() map[string]func(context.Context) error {
	checks := map[string]func(context.Context) error{}
	if z.policy != nil {
		checks["poststarthook/rbac/bootstrap-roles"] = z.policy.ready
	}
	if z.relations != nil {
		checks["poststarthook/node-relationships"] = z.relations.ready
	}
	return checks
}

// run loads what the authorizers decide by, and keeps it current until ctx ends.
func (z *authorization) run(ctx context.Context, s *apiserver.Server, start func(func())) {
	if z.policy != nil {
		start(func() { _ = z.policy.run(ctx, s.Ready()) }) // ends with ctx
	}
	if z.relations != nil {
		start(func() { z.relations.run(ctx, s.Registry()) })
	}
}

// addGated adds to a policy what is about the kinds of s, which may be nil, that are not always served.
func addGated(s *scheme.Scheme, to interface{ AddGated(group, resource string) }) {
	if s == nil {
		return
	}
	for _, info := range s.All() {
		to.AddGated(info.GVR.Group, info.GVR.Resource)
	}
}
