package admission

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/authn"
)

// nodeRestriction restricts the writes of a node to its own Node, its lease, its CSINode, its resource slices
// and the pods on it. It completes the authorizer Node, which does not see the objects of writes.
type nodeRestriction struct {
	named
	access    Access
	authorize AuthorizeFunc
}

func newNodeRestriction(access Access, o Options) Plugin {
	return &nodeRestriction{named{"NodeRestriction", []Operation{Create, Update, Delete}}, access, o.Authorize}
}

// Admit implements Mutator, so that the changes of later plugins, which are not the node's, are not its
// fault.
func (p *nodeRestriction) Admit(ctx context.Context, a *Attributes) error {
	node, ok := authn.NodeName(a.User)
	if !ok {
		return nil
	}
	if node == "" {
		return forbid(a, "could not determine node from user %q", a.User.Name)
	}
	switch a.Resource.GroupResource() {
	case schema.GroupResource{Resource: "pods"}:
		return p.pods(ctx, node, a)
	case schema.GroupResource{Resource: "nodes"}:
		return restrictNode(node, a)
	case schema.GroupResource{Resource: "persistentvolumeclaims"}:
		return restrictClaim(node, a)
	case schema.GroupResource{Resource: "serviceaccounts"}:
		return p.token(ctx, node, a)
	case schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}:
		if a.Namespace != "kube-node-lease" {
			return forbid(a, "can only access leases in the %q system namespace", "kube-node-lease")
		}
		if a.Name != node {
			return forbid(a, "can only access node lease with the same name as the requesting node")
		}
	case schema.GroupResource{Group: "storage.k8s.io", Resource: "csinodes"}:
		if a.Name != node {
			return forbid(a, "can only access CSINode with the same name as the requesting node")
		}
	case schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceslices"}:
		return restrictSlice(node, a)
	case schema.GroupResource{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}:
		return restrictRequest(node, a)
	case schema.GroupResource{Group: "certificates.k8s.io", Resource: "podcertificaterequests"}:
		return p.podCertificate(ctx, node, a)
	}
	return nil
}

// restrictNode lets a node write its own Node, but not its taints, owners, configuration source and the
// labels by which workloads are kept to some nodes.
func restrictNode(node string, a *Attributes) error {
	if a.Name != node {
		return forbid(a, "node %q is not allowed to modify node %q", node, a.Name)
	}
	if a.Operation == Delete {
		return nil
	}
	now, ok := a.Object.(*corev1.Node)
	if !ok {
		return forbid(a, "unexpected type %T", a.Object)
	}
	if a.Operation == Create {
		if now.Spec.ConfigSource != nil {
			return forbid(a, "node %q is not allowed to create pods with a non-nil configSource", node)
		}
		if labels := forbiddenLabels(now.Labels, nil); len(labels) > 0 {
			return forbid(a, "node %q is not allowed to set the following labels: %s", node, strings.Join(labels, ", "))
		}
		return nil
	}
	old, ok := a.Old.(*corev1.Node)
	if !ok {
		return forbid(a, "unexpected type %T", a.Old)
	}
	if now.Spec.ConfigSource != nil && !codec.Equal(now.Spec.ConfigSource, old.Spec.ConfigSource) {
		return forbid(a, "node %q is not allowed to update configSource to a new non-nil configSource", node)
	}
	if !codec.Equal(now.Spec.Taints, old.Spec.Taints) {
		return forbid(a, "node %q is not allowed to modify taints", node)
	}
	if !codec.Equal(now.OwnerReferences, old.OwnerReferences) {
		return forbid(a, "node %q is not allowed to modify ownerReferences", node)
	}
	if labels := forbiddenLabels(now.Labels, old.Labels); len(labels) > 0 {
		return forbid(a, "is not allowed to modify labels: %s", strings.Join(labels, ", "))
	}
	return nil
}

// forbiddenLabels returns the labels, sorted, that differ and that a node may not change.
func forbiddenLabels(now, old map[string]string) []string {
	var found []string
	for label := range maps.Keys(now) {
		if was, ok := old[label]; (!ok || was != now[label]) && !nodeMayLabel(label) {
			found = append(found, label)
		}
	}
	for label := range maps.Keys(old) {
		if _, ok := now[label]; !ok && !nodeMayLabel(label) {
			found = append(found, label)
		}
	}
	slices.Sort(found)
	return found
}

// nodeMayLabel reports whether a node may change a label of its Node: those of kubernetes.io and k8s.io that
// kubelets set, and all of other domains.
func nodeMayLabel(label string) bool {
	domain, _, prefixed := strings.Cut(label, "/")
	if !prefixed {
		return true
	}
	within := func(parent string) bool { return domain == parent || strings.HasSuffix(domain, "."+parent) }
	if within("node-restriction.kubernetes.io") {
		return false
	}
	if !within("kubernetes.io") && !within("k8s.io") || within("kubelet.kubernetes.io") || within("node.kubernetes.io") {
		return true
	}
	switch label {
	case "kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
		"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region", "beta.kubernetes.io/instance-type",
		"beta.kubernetes.io/os", "beta.kubernetes.io/arch":
		return true
	}
	return false
}

// restrictClaim lets a node report in the status of a claim how its volume was expanded.
func restrictClaim(node string, a *Attributes) error {
	if a.Subresource != "status" {
		return forbid(a, "may only update PVC status")
	}
	if a.Operation != Update {
		return forbid(a, "unexpected operation %q", a.Operation)
	}
	old, ok := a.Old.(*corev1.PersistentVolumeClaim)
	now, both := a.Object.(*corev1.PersistentVolumeClaim)
	if !ok || !both {
		return forbid(a, "unexpected type %T", a.Object)
	}
	if !codec.Equal(withoutExpansion(old), withoutExpansion(now)) {
		return forbid(a, "node %q is not allowed to update fields other than status.quantity and status.conditions", node)
	}
	return nil
}

// withoutExpansion returns a copy of a claim without what a node may change and what follows from that.
func withoutExpansion(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	c := *claim
	c.ResourceVersion, c.ManagedFields = "", nil
	c.Status.Capacity, c.Status.Conditions, c.Status.AllocatedResources, c.Status.AllocatedResourceStatuses = nil, nil, nil, nil
	return &c
}

// restrictSlice lets a node create and delete its own resource slices. The authorizer has checked the others
// by their names.
func restrictSlice(node string, a *Attributes) error {
	var obj metav1.Object
	text := ""
	switch a.Operation {
	case Create:
		obj, text = a.Object, "can only create ResourceSlice with the same NodeName as the requesting node"
	case Delete:
		obj, text = a.Old, "can only delete ResourceSlice with the same NodeName as the requesting node"
	default:
		return nil
	}
	slice, ok := obj.(*resourcev1.ResourceSlice)
	if !ok {
		return forbid(a, "unexpected type %T", obj)
	}
	if slice.Spec.NodeName == nil || *slice.Spec.NodeName != node {
		return forbid(a, "%s", text)
	}
	return nil
}

// restrictRequest lets a node request certificates of nodes for itself only.
func restrictRequest(node string, a *Attributes) error {
	if a.Operation != Create {
		return nil
	}
	csr, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return forbid(a, "unexpected type %T", a.Object)
	}
	if s := csr.Spec.SignerName; s != "kubernetes.io/kubelet-serving" && s != "kubernetes.io/kube-apiserver-client-kubelet" {
		return nil
	}
	request, err := parseRequest(csr.Spec.Request)
	if err != nil {
		return forbid(a, "unable to parse csr: %w", err)
	}
	if request.Subject.CommonName != authn.NodePrefix+node {
		return forbid(a, "can only create a node CSR with CN=%s%s", authn.NodePrefix, node)
	}
	return nil
}
