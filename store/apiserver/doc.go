// Package apiserver is an API server of the Kubernetes kind as an [http.Handler]: verbs, watches, patches,
// tables, discovery, admission and authorization over any [store.Store].
//
// New makes a server of Options; a zero Options over a memory store serves all built-in kinds to every
// caller. Run runs its loops; ServeHTTP serves requests, over TLS, a loopback port, an in-memory listener
// (package store/pipenet) or httptest.
//
// A request passes the filters of [Server.ServeHTTP] in the order in which they stand there, then the verb,
// which leaves everything about the object to its registry.Resource. Files are named for what they hold:
// filter_*, verb_*, subresource_*, request_* (what a request carries) and response_* (what is sent). The
// others assemble and run a server (options.go, server.go, serve.go, lifecycle.go), serve what is not stored
// (handlers.go, discovery.go, openapi.go, health.go, metrics.go, computed.go), or work beside requests
// (compact.go, flowconfig.go, repair.go, starthook.go). This is the path of a POST of a Pod:
//
//	net/http
//	   |
//	   v
//	Server.ServeHTTP                    filter_chain.go
//	   |  path, verb, resource          filter_requestinfo.go
//	   |  measure, deferred             filter_measure.go
//	   |  recoverPanic, deferred        filter_panic.go
//	   |  audit ID                      filter_headers.go
//	   |  refusal during shutdown       filter_shutdown.go
//	   |  CORS, HSTS                    filter_headers.go
//	   |  authentication                filter_authentication.go    package authn
//	   |  audit record                  filter_audit.go             package audit
//	   |  impersonation                 filter_impersonation.go
//	   v
//	Server.serveIdentified              filter_chain.go; Options.Intercept stands before it
//	   |  priority and fairness         filter_flowcontrol.go       package flowcontrol
//	   |  or limits of requests         filter_inflight.go
//	   |  authorization                 filter_authorization.go     package authz
//	   |  timeout                       filter_timeout.go
//	   v
//	Server.dispatch                     dispatch.go; the routes are in routes.go
//	   |  what cannot be written yet    filter_writable.go
//	   v
//	Server.create                       verb_create.go
//	   |  negotiate the response        response_negotiate.go
//	   |  options of the query          request_options.go
//	   |  read and decode the body      request_body.go, request_decode.go    package codec
//	   |  fencing token                 request_fence.go
//	   v
//	registry.Resource.Create            store/registry/create.go
//	   |  place, complete               namespace; defaults of the type and of its row in store/builtin
//	   |  trackCreate                   store/registry/track.go     managed fields
//	   |  chain.mutate                  store/registry/admit.go     mutating admission
//	   |  beginLife                     UID, creation time, PrepareCreate of the row
//	   |  validateNew                   store/registry/meta.go      validation, with the rules of the type
//	   |  chain.validate                store/registry/admit.go     validating admission
//	   |  insert: reserve, encode       addresses and ports of services; the stored form
//	   |  commit                        store/registry/guard.go     the transaction with its guards
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
