// Package delegated authenticates and authorizes the requests of a server other than the API server, without
// users or roles of its own: a client certificate is verified against the cluster's authorities, a bearer
// token is sent to the API server in a TokenReview, and the permission is checked with a SubjectAccessReview.
// The kubelet's port uses it, and the metrics and debugging ports of other components can.
//
// Everything fails closed: without a reply of the API server no token is accepted and no access allowed.
// Results are cached, so a withdrawn permission may remain effective for [AuthorizerOptions].AllowedTTL, and
// a revoked token for [AuthenticatorOptions].TTL. Failed reviews are not cached.
//
// The server's own credential needs the permissions of the ClusterRole system:auth-delegator; nodes have
// them.
package delegated
