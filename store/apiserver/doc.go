// Package apiserver is an API server of the Kubernetes kind as an [http.Handler]: verbs, watches, patches,
// tables, discovery, admission and authorization over any [store.Store].
//
// New makes a server of Options; a zero Options over a memory store serves all built-in kinds to
// everybody who can connect. Run runs its loops; ServeHTTP answers, over TLS, a loopback port, an
// in-memory listener (package store/pipenet) or httptest.
//
// A request passes, in this order and visible as such in [Server.ServeHTTP]: panic guard, request info, audit
// id, authentication, impersonation, priority and fairness, authorization, and then its verb: decode,
// default, mutating admission, validate, validating admission, store, encode. Whatever a request gets wrong
// is answered with a Status of the right reason, code and causes, and stores nothing.
//
// Everything is safe for concurrent use, nothing is kept in package variables, and all waiting is on
// channels and package time: a server works inside a testing/synctest bubble.
package apiserver
