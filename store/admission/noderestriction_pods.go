package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// pods lets a node create mirror pods of itself, and delete, evict and report the status of the pods on it.
func (p *nodeRestriction) pods(ctx context.Context, node string, a *Attributes) error {
	switch a.Subresource {
	case "":
		switch a.Operation {
		case Create:
			return p.mirror(ctx, node, a)
		case Delete:
			return p.ownPod(ctx, node, a, "node %q can only delete pods with spec.nodeName set to itself")
		}
		return forbid(a, "unexpected operation %q, node %q can only create and delete mirror pods", a.Operation, node)
	case "status":
		return restrictPodStatus(node, a)
	case "eviction":
		if a.Operation != Create {
			return forbid(a, "unexpected operation %s", a.Operation)
		}
		if a.Name == "" {
			return forbid(a, "could not determine pod from request data")
		}
		return p.ownPod(ctx, node, a, "node %s can only evict pods with spec.nodeName set to itself")
	}
	return forbid(a, "unexpected pod subresource %q, only 'status' and 'eviction' are allowed", a.Subresource)
}

// ownPod refuses requests for pods that are not on the node, with text.
func (p *nodeRestriction) ownPod(ctx context.Context, node string, a *Attributes, text string) error {
	pod, err := p.podOn(ctx, node, types.NamespacedName{Namespace: a.Namespace, Name: a.Name})
	if apierrors.IsNotFound(err) {
		return err
	}
	if err != nil {
		return forbid(a, "%w", err)
	}
	if pod.Spec.NodeName != node {
		return forbid(a, text, node)
	}
	return nil
}

// podOn returns a pod. If it is not on the node in the cache, which may lag behind, it is read from the
// store.
func (p *nodeRestriction) podOn(ctx context.Context, node string, key types.NamespacedName) (*corev1.Pod, error) {
	obj, err := p.access.Get(ctx, core("pods"), key)
	if err == nil && obj.(*corev1.Pod).Spec.NodeName != node {
		obj, err = p.access.Latest(ctx, core("pods"), key)
	}
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Pod), nil
}

// mirror checks a new pod: nodes create those only that show their static pods.
func (p *nodeRestriction) mirror(ctx context.Context, node string, a *Attributes) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return forbid(a, "unexpected type %T", a.Object)
	}
	if !isMirror(pod) {
		return forbid(a, "pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, node)
	}
	if pod.Spec.NodeName != node {
		return forbid(a, "node %q can only create pods with spec.nodeName set to itself", node)
	}
	if err := p.mirrorOwner(ctx, node, a, pod.OwnerReferences); err != nil {
		return err
	}
	resource, err := objectReference(pod)
	if err != nil {
		return forbid(a, "error checking mirror pod for API references: %w", err)
	}
	if resource != "" {
		return forbid(a, "node %q can not create pods that reference %s", node, resource)
	}
	return nil
}

// mirrorOwner checks that the Node as it is owns the mirror pod.
func (p *nodeRestriction) mirrorOwner(ctx context.Context, node string, a *Attributes, owners []metav1.OwnerReference) error {
	if len(owners) > 1 {
		return forbid(a, "node %q can only create pods with a single owner reference set to itself", node)
	}
	if len(owners) == 0 || owners[0].APIVersion != "v1" || owners[0].Kind != "Node" || owners[0].Name != node {
		return forbid(a, "node %q can only create pods with an owner reference set to itself", node)
	}
	owner := &owners[0]
	if owner.Controller == nil || !*owner.Controller {
		return forbid(a, "node %q can only create pods with a controller owner reference set to itself", node)
	}
	if owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion {
		return forbid(a, "node %q must not set blockOwnerDeletion on an owner reference", node)
	}
	obj, err := p.access.Get(ctx, core("nodes"), types.NamespacedName{Name: node})
	if apierrors.IsNotFound(err) {
		return err
	}
	if err != nil {
		return forbid(a, "error looking up node %s to verify uid: %w", node, err)
	}
	if uid := metav1.MetaOf(obj).UID; owner.UID != uid {
		return forbid(a, "node %s UID mismatch: expected %s got %s", node, owner.UID, uid)
	}
	return nil
}

// restrictPodStatus lets a node report the status of the pods on it.
func restrictPodStatus(node string, a *Attributes) error {
	if a.Operation != Update {
		return forbid(a, "unexpected operation %q", a.Operation)
	}
	old, ok := a.Old.(*corev1.Pod)
	now, both := a.Object.(*corev1.Pod)
	switch {
	case !ok || !both:
		return forbid(a, "unexpected type %T", a.Object)
	case old.Spec.NodeName != node:
		return forbid(a, "node %q can only update pod status for pods with spec.nodeName set to itself", node)
	case !maps.Equal(old.Labels, now.Labels):
		return forbid(a, "node %q cannot update labels through pod status", node)
	case !slices.EqualFunc(old.Status.ResourceClaimStatuses, now.Status.ResourceClaimStatuses, sameClaim):
		return forbid(a, "node %q cannot update resource claim statues", node)
	case !sameExtendedClaim(old.Status.ExtendedResourceClaimStatus, now.Status.ExtendedResourceClaimStatus):
		return forbid(a, "node %q cannot update extended resource claim status", node)
	}
	return nil
}

func sameClaim(a, b corev1.PodResourceClaimStatus) bool {
	return a.Name == b.Name && (a.ResourceClaimName == nil) == (b.ResourceClaimName == nil) &&
		(a.ResourceClaimName == nil || *a.ResourceClaimName == *b.ResourceClaimName)
}

func sameExtendedClaim(a, b *corev1.PodExtendedResourceClaimStatus) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ResourceClaimName == b.ResourceClaimName && slices.Equal(a.RequestMappings, b.RequestMappings)
}

// objectReference returns the resource of an API object that a pod refers to, or nothing. A volume whose type
// is not known is an error.
func objectReference(pod *corev1.Pod) (resource string, err error) {
	spec := &pod.Spec
	if spec.ServiceAccountName != "" {
		return "serviceaccounts", nil
	}
	corev1.EachSecret(spec, func(string) { resource = "secrets" })
	if resource == "" {
		corev1.EachConfigMap(spec, func(string) { resource = "configmaps" })
	}
	if resource == "" && len(spec.ResourceClaims) > 0 {
		resource = "resourceclaims"
	}
	for i := 0; resource == "" && err == nil && i < len(spec.Volumes); i++ {
		resource, err = volumeReference(&spec.Volumes[i])
	}
	return resource, err
}

func volumeReference(v *corev1.Volume) (string, error) {
	switch {
	case v.AWSElasticBlockStore != nil, v.AzureDisk != nil, v.CephFS != nil, v.Cinder != nil, v.DownwardAPI != nil, v.EmptyDir != nil,
		v.FC != nil, v.FlexVolume != nil, v.Flocker != nil, v.GCEPersistentDisk != nil, v.GitRepo != nil, v.HostPath != nil, v.Image != nil,
		v.ISCSI != nil, v.NFS != nil, v.PhotonPersistentDisk != nil, v.PortworxVolume != nil, v.Quobyte != nil, v.RBD != nil,
		v.ScaleIO != nil, v.StorageOS != nil, v.VsphereVolume != nil:
		return "", nil
	case v.ConfigMap != nil:
		return "configmaps (via configmap volumes)", nil
	case v.Secret != nil:
		return "secrets (via secret volumes)", nil
	case v.CSI != nil:
		return "csidrivers (via CSI volumes)", nil
	case v.Glusterfs != nil:
		return "endpoints (via glusterFS volumes)", nil
	case v.PersistentVolumeClaim != nil:
		return "persistentvolumeclaims", nil
	case v.Ephemeral != nil:
		return "persistentvolumeclaims (via ephemeral volumes)", nil
	case v.AzureFile != nil:
		return "secrets (via azureFile volumes)", nil
	case v.Projected != nil:
		return projectedReference(v)
	}
	return "", fmt.Errorf("unknown volume type for volume %q", v.Name)
}

func projectedReference(v *corev1.Volume) (string, error) {
	for i := range v.Projected.Sources {
		switch s := &v.Projected.Sources[i]; {
		case s.ConfigMap != nil:
			return "configmaps (via projected volumes)", nil
		case s.Secret != nil:
			return "secrets (via projected volumes)", nil
		case s.ServiceAccountToken != nil:
			return "serviceaccounts (via projected volumes)", nil
		case s.ClusterTrustBundle != nil:
			return "clustertrustbundles", nil
		case s.PodCertificate != nil:
			return "podcertificates", nil
		case s.DownwardAPI == nil:
			return "", fmt.Errorf("unknown source for projected volume %q", v.Name)
		}
	}
	return "", nil
}
