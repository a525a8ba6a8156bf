package authz

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/store/authn"
)

// Union tries authorizers in order until one allows or denies. The errors of those without opinion are
// joined.
func Union(authorizers ...Authorizer) Authorizer { return union(authorizers) }

type union []Authorizer

func (us union) Authorize(ctx context.Context, a Attributes) (Decision, string, error) {
	var errs []error
	var reasons string
	for _, u := range us {
		d, reason, err := u.Authorize(ctx, a)
		if d != NoOpinion {
			return d, reason, err
		}
		if err != nil {
			errs = append(errs, err)
		}
		if reason != "" {
			if reasons != "" {
				reasons += "; "
			}
			reasons += reason
		}
	}
	return NoOpinion, reasons, errors.Join(errs...)
}

// RulesFor joins the rules of the members that can list theirs, each rule once; incomplete reports that one
// cannot.
func (us union) RulesFor(ctx context.Context, u *authn.User, namespace string) (res []ResourceRule, non []NonResourceRule, incomplete bool, err error) {
	var errs []error
	for _, a := range us {
		r, ok := a.(RuleResolver)
		if !ok {
			incomplete = true
			continue
		}
		re, nr, inc, err := r.RulesFor(ctx, u, namespace)
		for _, rule := range re {
			if !slices.ContainsFunc(res, func(r ResourceRule) bool { return reflect.DeepEqual(r, rule) }) {
				res = append(res, rule)
			}
		}
		for _, rule := range nr {
			if !slices.ContainsFunc(non, func(r NonResourceRule) bool { return reflect.DeepEqual(r, rule) }) {
				non = append(non, rule)
			}
		}
		incomplete = incomplete || inc
		errs = append(errs, err)
	}
	return res, non, incomplete, errors.Join(errs...)
}

// AlwaysAllow allows everything.
func AlwaysAllow() Authorizer { return always(Allow) }

// AlwaysDeny has no opinion on any request, which denies those that no other authorizer allows.
func AlwaysDeny() Authorizer { return always(NoOpinion) }

type always Decision

func (d always) Authorize(context.Context, Attributes) (Decision, string, error) {
	if Decision(d) == NoOpinion {
		return NoOpinion, "everything is forbidden", nil
	}
	return Decision(d), "", nil
}

func (d always) RulesFor(context.Context, *authn.User, string) ([]ResourceRule, []NonResourceRule, bool, error) {
	if Decision(d) != Allow {
		return nil, nil, false, nil
	}
	star := []string{"*"}
	return []ResourceRule{{Verbs: star, APIGroups: star, Resources: star}}, []NonResourceRule{{Verbs: star, NonResourceURLs: star}}, false, nil
}

// Masters allows everything to members of system:masters, regardless of the stored policy.
func Masters() Authorizer { return masters{} }

type masters struct{}

func (masters) Authorize(_ context.Context, a Attributes) (Decision, string, error) {
	if a.User != nil && slices.Contains(a.User.Groups, authn.GroupMasters) {
		return Allow, "", nil
	}
	return NoOpinion, "", nil
}

func (masters) RulesFor(ctx context.Context, u *authn.User, namespace string) ([]ResourceRule, []NonResourceRule, bool, error) {
	if u != nil && slices.Contains(u.Groups, authn.GroupMasters) {
		return always(Allow).RulesFor(ctx, u, namespace)
	}
	return nil, nil, false, nil
}
