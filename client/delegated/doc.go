// Package delegated lets a server beside the API server know who sends it a request and what they may do,
// without users or roles of its own: a client certificate is verified against the cluster's authorities, a
// bearer token is given to the API server in a TokenReview, and the permission is asked for in a
// SubjectAccessReview. The kubelet's port works so, and so can the metrics and debugging ports of other
// components.
//
// Everything fails closed: without an answer of the API server no token is accepted and nothing is allowed.
// Answers are kept for a while, so a permission that is withdrawn may hold on for
// [AuthorizerOptions].AllowedTTL, and a token that is revoked for [AuthenticatorOptions].TTL. Failed reviews
// are never kept.
//
// The server's own credential needs the rights of the ClusterRole system:auth-delegator; nodes have them.
package delegated
