// Package certificates handles CertificateSigningRequests: it approves those of nodes for their own client
// certificates, signs approved requests with the cluster's certificate authority, and deletes old requests.
//
// A machine can become a node with only a bootstrap token: the token's groups are bound to the cluster roles
// system:node-bootstrapper and system:certificates.k8s.io:certificatesigningrequests:nodeclient, and
// system:nodes to system:certificates.k8s.io:certificatesigningrequests:selfnodeclient, with which nodes
// renew their certificates. Nodes need further roles to use the API: without a Node authorizer they have no
// permissions of their own. Package client/certificate is the client side.
package certificates
