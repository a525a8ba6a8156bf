package controllertest

import (
	"strings"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/authn"
)

// administrator is the user of connections without another.
var administrator = client.User{Name: "kubernetes-admin", Groups: []string{authn.GroupMasters}}

// userOf returns the only element of users, with the groups of service accounts if it is one and has none, or
// an administrator.
func userOf(users []client.User) client.User {
	if len(users) == 0 {
		return administrator
	}
	u := users[0]
	if account, ok := strings.CutPrefix(u.Name, authn.ServiceAccountPrefix); ok && len(u.Groups) == 0 {
		namespace, _, _ := strings.Cut(account, ":")
		u.Groups = []string{authn.GroupServiceAccounts, authn.GroupServiceAccounts + ":" + namespace}
	}
	return u
}

// caller returns u as the server identifies it.
func caller(u client.User) *authn.User {
	return authn.WithAuthenticated(&authn.User{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra})
}
