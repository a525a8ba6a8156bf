package apiserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// right names attributes as the cases below do: VERB RESOURCE.GROUP[/SUBRESOURCE] [NAMESPACE/]NAME.
func right(a authz.Attributes) string {
	resource := a.Resource
	if a.APIGroup != "" {
		resource += "." + a.APIGroup
	}
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	name := a.Name
	if a.Namespace != "" {
		name = a.Namespace + "/" + name
	}
	return strings.TrimSpace(a.Verb + " " + resource + " " + name)
}

// A caller may impersonate a user with the rights of one mode, all of them, and what the request does must be
// among what they may do so for.
func TestImpersonationModes(t *testing.T) {
	const (
		group   = "authentication.k8s.io"
		list    = "list configmaps default/"
		account = "system:serviceaccount:default:agent"
	)
	on := func(mode string) string { return "impersonate-on:" + mode + ":" + list }
	user := []string{on("user-info"), "impersonate:user-info users." + group + " ann"}
	for name, c := range map[string]struct {
		caller  authn.User
		headers []string // names and values
		rights  []string
		want    string // of the user: the name, groups and extra; or the error
		asks    string // a right that must not be looked for
	}{
		"a user":                                {headers: []string{"User", "ann"}, rights: user, want: "ann [system:authenticated] map[]"},
		"a user, unconstrained":                 {headers: []string{"User", "ann"}, rights: []string{"impersonate users ann"}, want: "ann [system:authenticated] map[]"},
		"a user, for another verb":              {headers: []string{"User", "ann"}, rights: []string{"impersonate-on:user-info:get configmaps default/", user[1]}, want: `User "bob" cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "default"`},
		"a user, without the user":              {headers: []string{"User", "ann"}, rights: user[:1], want: `users.authentication.k8s.io "ann" is forbidden: User "bob" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope`},
		"another user":                          {headers: []string{"User", "eve"}, rights: user, want: "is forbidden"},
		"a constrained right as other":          {headers: []string{"User", "ann"}, rights: []string{on("user-info"), "impersonate users." + group + " ann"}, want: "is forbidden"},
		"groups":                                {headers: []string{"User", "ann", "Group", "g", "Group", "h"}, rights: append(user, "impersonate:user-info groups."+group+" g", "impersonate:user-info groups."+group+" h"), want: "ann [g h system:authenticated] map[]"},
		"groups, one too many":                  {headers: []string{"User", "ann", "Group", "g", "Group", "h"}, rights: append(user, "impersonate:user-info groups."+group+" g"), want: `groups.authentication.k8s.io "h" is forbidden`},
		"many groups":                           {headers: []string{"User", "ann", "Group", "a", "Group", "b", "Group", "c", "Group", "d"}, rights: append(user, "impersonate:user-info groups."+group+" *"), want: "ann [a b c d system:authenticated] map[]", asks: "impersonate:user-info groups." + group + " a"},
		"the masters":                           {headers: []string{"User", "ann", "Group", authn.GroupMasters}, rights: append(user, "impersonate:user-info groups."+group+" system:masters"), want: "impersonating the system:masters group is not allowed"},
		"the masters, unconstrained":            {headers: []string{"User", "ann", "Group", authn.GroupMasters}, rights: append(user, "impersonate users ann", "impersonate groups system:masters"), want: "ann [system:masters system:authenticated] map[]"},
		"an empty group":                        {headers: []string{"User", "ann", "Group", ""}, rights: append(user, "impersonate:user-info groups."+group+" "), want: "impersonating the empty string group is not allowed"},
		"a UID":                                 {headers: []string{"User", "ann", "Uid", "7"}, rights: append(user, "impersonate:user-info uids."+group+" 7"), want: "ann [system:authenticated] map[]"},
		"a UID without the right":               {headers: []string{"User", "ann", "Uid", "7"}, rights: user, want: `uids.authentication.k8s.io "7" is forbidden`},
		"extra":                                 {headers: []string{"User", "ann", "Extra-E.test%2fk", "v"}, rights: append(user, "impersonate:user-info userextras."+group+"/e.test/k v"), want: "ann [system:authenticated] map[e.test/k:[v]]"},
		"extra without a domain":                {headers: []string{"User", "ann", "Extra-K", "v"}, rights: append(user, "impersonate:user-info userextras."+group+"/k v"), want: "impersonating an invalid key in extra is not allowed"},
		"extra without a domain, unconstrained": {headers: []string{"User", "ann", "Extra-K", "v"}, rights: []string{"impersonate users ann", "impersonate userextras." + group + "/k v"}, want: "ann [system:authenticated] map[k:[v]]"},
		"an empty extra":                        {headers: []string{"User", "ann", "Extra-E.test%2fk", ""}, rights: append(user, "impersonate:user-info userextras."+group+"/e.test/k "), want: "impersonating the empty string value in extra is not allowed"},
		"much extra":                            {headers: []string{"User", "ann", "Extra-E.test%2fk", "a", "Extra-E.test%2fk", "b", "Extra-E.test%2fk", "c", "Extra-E.test%2fl", "d"}, rights: append(user, "impersonate:user-info userextras."+group+"/* *"), want: "ann [system:authenticated] map[e.test/k:[a b c] e.test/l:[d]]"},
		"anonymous":                             {headers: []string{"User", authn.Anonymous}, rights: []string{on("user-info"), "impersonate:user-info users." + group + " " + authn.Anonymous}, want: "system:anonymous [system:unauthenticated] map[]"},
		"an account":                            {headers: []string{"User", "system:serviceaccount:ns:a"}, rights: []string{on("serviceaccount"), "impersonate:serviceaccount serviceaccounts." + group + " ns/a"}, want: "system:serviceaccount:ns:a [system:serviceaccounts system:serviceaccounts:ns system:authenticated] map[]"},
		"an account as a user":                  {headers: []string{"User", "system:serviceaccount:ns:a"}, rights: []string{on("user-info"), "impersonate:user-info users." + group + " system:serviceaccount:ns:a"}, want: "is forbidden"},
		"an account with a group":               {headers: []string{"User", "system:serviceaccount:ns:a", "Group", "g"}, rights: []string{on("serviceaccount"), "impersonate:serviceaccount serviceaccounts." + group + " ns/a", "impersonate:serviceaccount groups." + group + " g"}, want: `serviceaccounts "a" is forbidden`},
		"no account":                            {headers: []string{"User", "system:serviceaccount:ns"}, rights: []string{"impersonate users system:serviceaccount:ns"}, want: "system:serviceaccount:ns [system:authenticated] map[]"},
		"a node":                                {headers: []string{"User", "system:node:n"}, rights: []string{on("arbitrary-node"), "impersonate:arbitrary-node nodes." + group + " n"}, want: "system:node:n [system:nodes system:authenticated] map[]"},
		"a node, unconstrained":                 {headers: []string{"User", "system:node:n"}, rights: []string{"impersonate users system:node:n"}, want: "system:node:n [system:authenticated] map[]"},
		"a node as a user":                      {headers: []string{"User", "system:node:n"}, rights: []string{on("user-info"), "impersonate:user-info users." + group + " system:node:n"}, want: "is forbidden"},
		"its node": {caller: authn.User{Name: account, Extra: map[string][]string{authn.ExtraNodeName: {"n"}}}, headers: []string{"User", "system:node:n"},
			rights: []string{on("associated-node"), "impersonate:associated-node nodes." + group + " *"}, want: "system:node:n [system:nodes system:authenticated] map[]"},
		"another node": {caller: authn.User{Name: account, Extra: map[string][]string{authn.ExtraNodeName: {"n"}}}, headers: []string{"User", "system:node:m"},
			rights: []string{on("associated-node"), "impersonate:associated-node nodes." + group + " *"}, want: "is forbidden"},
		"a node of a caller that is no account": {caller: authn.User{Name: "bob", Extra: map[string][]string{authn.ExtraNodeName: {"n"}}}, headers: []string{"User", "system:node:n"},
			rights: []string{on("associated-node"), "impersonate:associated-node nodes." + group + " *"}, want: "is forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			caller := c.caller
			if caller.Name == "" {
				caller.Name = "bob"
			}
			var asked []string
			var served *authn.User
			s, err := apiserver.New(apiserver.Options{
				Authenticator: authn.Func(func(*http.Request) (*authn.Response, bool, error) { return &authn.Response{User: &caller}, true, nil }),
				Authorizer: authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
					if a.Verb == "list" {
						served = a.User
						return authz.NoOpinion, "", nil
					}
					require.Equal(t, caller.Name, a.User.Name)
					asked = append(asked, right(a))
					if slices.Contains(c.rights, right(a)) {
						return authz.Allow, "", nil
					}
					return authz.NoOpinion, "", nil
				}),
			})
			require.NoError(t, err)
			r := httptest.NewRequest(http.MethodGet, configMaps, nil)
			for i := 0; i < len(c.headers); i += 2 {
				r.Header.Add("Impersonate-"+c.headers[i], c.headers[i+1])
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if served == nil {
				require.Equal(t, http.StatusForbidden, w.Code)
				require.Contains(t, strings.ReplaceAll(w.Body.String(), `\"`, `"`), c.want, asked)
				return
			}
			require.Equal(t, c.want, fmt.Sprint(served.Name, " ", served.Groups, " ", served.Extra))
			if c.asks != "" {
				require.NotContains(t, asked, c.asks)
			}
		})
	}
}
