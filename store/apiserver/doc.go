// Package apiserver is an API server of the Kubernetes kind as an [http.Handler]: verbs, watches, patches,
// tables, discovery, admission and authorization over any [store.Store].
//
// New makes a server of Options; a zero Options over a memory store serves all built-in kinds to every
// caller. Run runs its loops; ServeHTTP serves requests, over TLS, a loopback port, an in-memory listener
// (package store/pipenet) or httptest.
//
// A request passes the filters of [Server.ServeHTTP] in the order in which they stand there, then the verb,
// which leaves everything about the object to its registry.Resource. Files are named for what they hold:
// filter_*, verb_*, subresource_*, request_* (what a request carries) and response_* (what is sent). This is
// the way of a POST of a Pod:
//
//	net/http
//	   |
//	   v
//	Server.ServeHTTP                    filter_chain.go
//	   |  panic guard                   filter_panic.go
//	   |  measurement                   filter_measure.go
//	   |  path, verb, resource          filter_requestinfo.go
//	   |  audit ID, CORS, HSTS          filter_headers.go
//	   |  authentication                filter_authentication.go    package authn
//	   |  impersonation                 filter_impersonation.go
//	   |  priority and fairness         filter_flowcontrol.go       package flowcontrol
//	   |  authorization                 filter_authorization.go     package authz
//	   |  timeout                       filter_timeout.go
//	   v
//	Server.dispatch                     dispatch.go; the routes are in routes.go
//	   v
//	Server.create                       verb_create.go
//	   |  negotiate the response        response_negotiate.go
//	   |  options of the query          request_options.go
//	   |  read and decode the body      request_body.go, request_decode.go    package codec
//	   |  fencing token                 request_fence.go
//	   v
//	registry.Resource.Create            store/registry/create.go
//	   |  place, complete               namespace; defaults of the kind: store/builtin, the scheme's rules
//	   |  trackCreate                   managed fields
//	   |  chain.admit                   mutating admission
//	   |  beginLife                     name, UID, creation time
//	   |  validateNew                   validation
//	   |  chain.validate                validating admission
//	   |  insert: reserve, encode       addresses and ports of services; the stored form
//	   |  commit                        the transaction with its guards
//	   v
//	store.Store                         store/memory, store/etcd, store/file
//	   |
//	   v
//	request.sendObject                  response_object.go
//	request.send, request.sendBytes     response.go, response_compress.go, response_warnings.go
//
// An error on the way goes to request.fail (response_status.go): a Status of the right reason, code and
// causes. A request that fails stores nothing.
//
// Everything is safe for concurrent use, nothing is kept in package variables, and all waiting is on
// channels and package time: a server works inside a testing/synctest bubble.
package apiserver
