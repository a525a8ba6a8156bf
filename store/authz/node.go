package authz

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/store/authn"
)

// Node allows nodes, the users system:node:NAME in system:nodes, what the kubelet of that node needs: to read
// the objects that pods on it refer to, and their service accounts' tokens, by a [NodeGraph]; its own node,
// lease, CSINode and resource slices; and what all nodes may do. It never denies. What it cannot decide
// because it does not see the object of a write is up to the admission plugin NodeRestriction.
type Node struct {
	graph *NodeGraph
	ready func() bool
	rules []rbacv1.PolicyRule
	// certificates is set if PodCertificateRequests are served.
	certificates bool
}

// NewNode makes an authorizer by graph. While ready, which may be nil, returns false the graph does not hold
// all there is, and what depends on it is not allowed.
func NewNode(graph *NodeGraph, ready func() bool) *Node {
	return &Node{graph: graph, ready: ready, rules: nodeRules()}
}

// AddGated adds what nodes may do with a resource that is not always served, for a server that serves it. It
// must not be called while n is in use.
func (n *Node) AddGated(group, resource string) {
	switch group + ":" + resource {
	case trustBundles:
		n.rules = append(n.rules, readTrustBundles()...)
	case certificateRequests:
		n.certificates = true
	}
}

// RulesFor implements RuleResolver: what a node may do cannot be listed.
func (n *Node) RulesFor(_ context.Context, u *authn.User, _ string) ([]ResourceRule, []NonResourceRule, bool, error) {
	if _, ok := authn.NodeName(u); ok {
		return nil, nil, true, errors.New("node authorizer does not support user rule resolution")
	}
	return nil, nil, false, nil
}

// Authorize implements Authorizer.
func (n *Node) Authorize(_ context.Context, a Attributes) (Decision, string, error) {
	node, ok := authn.NodeName(a.User)
	if !ok {
		return NoOpinion, "", nil
	}
	if node == "" {
		return NoOpinion, fmt.Sprintf("unknown node for user %q", a.User.Name), nil
	}
	if a.ResourceRequest {
		if allowed, why, decided := n.resource(node, &a); allowed {
			return Allow, "", nil
		} else if decided {
			return NoOpinion, why, nil
		}
	}
	if slices.ContainsFunc(n.rules, func(r rbacv1.PolicyRule) bool { return ruleAllows(&r, &a) }) {
		return Allow, "", nil
	}
	return NoOpinion, "", nil
}

// resource decides about the resources of which a node may have some objects only; decided is false for the
// others.
func (n *Node) resource(node string, a *Attributes) (allowed bool, why string, decided bool) {
	switch a.APIGroup {
	case "":
		allowed, why, decided = n.core(node, a)
	case "coordination.k8s.io":
		if decided = a.Resource == "leases"; decided {
			allowed, why = ownLease(node, a)
		}
	case "storage.k8s.io":
		switch a.Resource {
		case "csinodes":
			allowed, why, decided = ownCSINode(node, a)
		case "volumeattachments":
			allowed, why = n.get(node, attachmentObject, a)
			decided = true
		}
	case "resource.k8s.io":
		switch a.Resource {
		case "resourceclaims":
			allowed, why = n.get(node, resourceClaimObject, a)
			decided = true
		case "resourceslices":
			allowed, why = n.slices(node, a)
			decided = true
		}
	case "certificates.k8s.io":
		if decided = n.certificates && a.Resource == "podcertificaterequests"; decided {
			allowed, why = n.requests(node, a)
		}
	}
	return allowed, why, decided
}

func (n *Node) core(node string, a *Attributes) (allowed bool, why string, decided bool) {
	decided = true
	switch a.Resource {
	case "secrets":
		allowed, why = n.read(node, secretObject, a)
	case "configmaps":
		allowed, why = n.read(node, configMapObject, a)
	case "persistentvolumeclaims":
		if a.Subresource != "status" {
			allowed, why = n.get(node, claimObject, a)
		} else if a.Verb == "update" || a.Verb == "patch" {
			allowed, why = n.related(node, claimObject, a)
		} else {
			why = "can only get/update/patch this type"
		}
	case "persistentvolumes":
		allowed, why = n.get(node, volumeObject, a)
	case "serviceaccounts":
		allowed, why = n.account(node, a)
	case "nodes":
		allowed, why = ownNode(node, a)
	case "pods":
		allowed, why = n.pods(node, a)
	default:
		decided = false
	}
	return allowed, why, decided
}

// related allows a request for an object that the node needs.
func (n *Node) related(node string, kind objectKind, a *Attributes) (bool, string) {
	switch {
	case a.Name == "":
		return false, "No Object name found"
	case n.ready != nil && !n.ready():
		return false, "the relationships between nodes and objects are not loaded yet"
	case !n.graph.needs(node, object{kind, a.Namespace, a.Name}):
		return false, "no relationship found between node '" + node + "' and this object"
	}
	return true, ""
}

func (n *Node) get(node string, kind objectKind, a *Attributes) (bool, string) {
	if a.Verb != "get" {
		return false, "can only get individual resources of this type"
	}
	if a.Subresource != "" {
		return false, "cannot get subresource"
	}
	return n.related(node, kind, a)
}

// read allows get, and list and watch of one name, which kubelets do.
func (n *Node) read(node string, kind objectKind, a *Attributes) (bool, string) {
	switch {
	case a.Verb != "get" && a.Verb != "list" && a.Verb != "watch":
		return false, "can only read resources of this type"
	case a.Subresource != "":
		return false, "cannot read subresource"
	case a.Namespace == "":
		return false, "can only read namespaced object of this type"
	}
	return n.related(node, kind, a)
}

func (n *Node) account(node string, a *Attributes) (bool, string) {
	switch {
	case a.Verb == "get" && a.Subresource == "":
		return n.read(node, serviceAccountObject, a)
	case a.Verb != "create" || a.Name == "":
		return false, "can only create tokens for individual service accounts"
	case a.Subresource != "token":
		return false, "can only create token subresource of serviceaccount"
	}
	return n.related(node, serviceAccountObject, a)
}

func ownLease(node string, a *Attributes) (bool, string) {
	switch a.Verb {
	case "get", "create", "update", "patch", "delete":
	default:
		return false, "can only get, create, update, patch, or delete a node lease"
	}
	switch {
	case a.Namespace != "kube-node-lease":
		return false, `can only access leases in the "kube-node-lease" system namespace`
	case a.Verb != "create" && a.Name != node: // a create has no name in its path
		return false, "can only access node lease with the same name as the requesting node"
	}
	return true, ""
}

func ownCSINode(node string, a *Attributes) (allowed bool, why string, decided bool) {
	switch a.Verb {
	case "get", "create", "update", "patch", "delete":
	default:
		return false, "can only get, create, update, patch, or delete a CSINode", true
	}
	switch {
	case a.Subresource != "":
		return false, "cannot authorize CSINode subresources", true
	case a.Verb != "create" && a.Name != node:
		return false, "can only access CSINode with the same name as the requesting node", true
	}
	return true, "", true
}

func (n *Node) slices(node string, a *Attributes) (bool, string) {
	if a.Subresource != "" {
		return false, "cannot authorize ResourceSlice subresources"
	}
	switch a.Verb {
	case "create":
		return true, "" // NodeRestriction sees for which node
	case "get", "update", "patch", "delete":
		return n.related(node, sliceObject, a)
	case "watch", "list", "deletecollection":
		if a.requiresField("spec.nodeName", node) {
			return true, ""
		}
		return false, "can only list/watch/deletecollection resourceslices with nodeName field selector"
	}
	return false, "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection"
}

// requests is about PodCertificateRequests.
func (n *Node) requests(node string, a *Attributes) (bool, string) {
	if a.Subresource != "" {
		return false, "nodes may not access the status subresource of PodCertificateRequests"
	}
	switch a.Verb {
	case "create":
		return true, "" // NodeRestriction sees for which node and pod
	case "get":
		return n.get(node, certificateRequestObject, a)
	case "list", "watch":
		if a.requiresField("spec.nodeName", node) {
			return true, ""
		}
		return false, "can only list/watch podcertificaterequests with nodeName field selector"
	}
	return false, fmt.Sprintf("nodes may not %s podcertificaterequests", a.Verb)
}

// ownNode compares names, so that a node can look for itself before it exists. Of which node a write is is up
// to NodeRestriction.
func ownNode(node string, a *Attributes) (bool, string) {
	switch a.Subresource + ":" + a.Verb {
	case ":create", ":update", ":patch", "status:update", "status:patch":
		return true, ""
	case ":get", ":list", ":watch":
		switch a.Name {
		case node:
			return true, ""
		case "":
			return false, fmt.Sprintf("node '%s' cannot read all nodes, only its own Node object", node)
		}
		return false, fmt.Sprintf("node '%s' cannot read '%s', only its own Node object", node, a.Name)
	}
	return false, ""
}

// pods allows writes of which NodeRestriction sees whether they are of pods on the node.
func (n *Node) pods(node string, a *Attributes) (bool, string) {
	switch a.Subresource + ":" + a.Verb {
	case ":create", ":delete", "status:update", "status:patch", "eviction:create":
		return true, ""
	case ":get":
		return n.related(node, podObject, a)
	case ":list", ":watch":
		switch {
		case a.requiresField("spec.nodeName", node):
			return true, ""
		case a.Name != "":
			return n.related(node, podObject, a)
		}
		return false, "can only list/watch pods with spec.nodeName field selector"
	}
	return false, ""
}
