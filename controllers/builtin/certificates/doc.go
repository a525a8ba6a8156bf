// Package certificates answers CertificateSigningRequests: it approves those of nodes for client certificates
// of their own, signs what has been approved with the cluster's authority, and removes requests that nobody
// waits for any more.
//
// A machine becomes a node with nothing but a bootstrap token: the token's groups are bound to the cluster
// roles system:node-bootstrapper and system:certificates.k8s.io:certificatesigningrequests:nodeclient, and
// system:nodes to system:certificates.k8s.io:certificatesigningrequests:selfnodeclient, with which nodes
// renew their certificates. A node may make requests and use the API as far as it is bound to further roles:
// without a Node authorizer it has no rights by being a node. Package client/certificate is the other side.
package certificates
