package admission

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// podCertificateSigning requires the verb sign on the signer to write the status of a PodCertificateRequest.
type podCertificateSigning struct {
	named
	options Options
}

// NewPodCertificateSigning returns the plugin that requires the verb sign on the signer of a
// PodCertificateRequest to write its status. As in kube-apiserver no flag removes it.
// Only o.Authorize is used.
func NewPodCertificateSigning(o Options) Plugin {
	return &podCertificateSigning{named{"PodCertificateSigning", []Operation{Update}}, o}
}

func (p *podCertificateSigning) Validate(ctx context.Context, a *Attributes) error {
	now, ok := a.Object.(*certificatesv1beta1.PodCertificateRequest)
	old, was := a.Old.(*certificatesv1beta1.PodCertificateRequest)
	if !ok || !was || a.Subresource != "status" || codec.Equal(&now.Status, &old.Status) {
		return nil
	}
	signer := old.Spec.SignerName
	if usesSigner(ctx, p.options, a, "sign", signer) {
		return nil
	}
	name := ""
	if a.User != nil {
		name = a.User.Name
	}
	return apierrors.NewInvalid(a.Kind.GroupKind(), a.Name, validation.ErrorList{
		validation.Forbidden(validation.NewPath("spec", "signerName"), fmt.Sprintf("User %q is not permitted to \"sign\" for signer %q", name, signer))})
}

// isMirror reports whether a pod only shows a static pod of a node.
func isMirror(pod *corev1.Pod) bool {
	_, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

// podCertificate lets a node request certificates for pods that run on it, as their service account.
func (p *nodeRestriction) podCertificate(ctx context.Context, node string, a *Attributes) error {
	if a.Operation != Create {
		return forbid(a, "unexpected operation %v", a.Operation)
	}
	if a.Subresource != "" {
		return forbid(a, "unexpected subresource %v", a.Subresource)
	}
	request, ok := a.Object.(*certificatesv1beta1.PodCertificateRequest)
	if !ok {
		return forbid(a, "unexpected type %T", a.Object)
	}
	spec := &request.Spec
	pod, account := a.Namespace+"/"+spec.PodName, a.Namespace+"/"+spec.ServiceAccountName
	if spec.NodeName != node {
		return forbid(a, "PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", spec.NodeName, node)
	}
	obj, err := p.access.Get(ctx, core("nodes"), types.NamespacedName{Name: node})
	if err != nil {
		return forbid(a, "while retrieving node %q named in the PodCertificateRequest: %w", node, err)
	}
	if uid := metav1.MetaOf(obj).UID; uid != spec.NodeUID {
		return forbid(a, "PodCertificateRequest for pod %q names node UID %q, inconsistent with the running node (%q)", pod, spec.NodeUID, uid)
	}
	running, err := p.podOn(ctx, node, types.NamespacedName{Namespace: a.Namespace, Name: spec.PodName})
	switch {
	case err != nil:
		return forbid(a, "while retrieving pod %q named in the PodCertificateRequest: %w", pod, err)
	case running.UID != spec.PodUID:
		return forbid(a, "PodCertificateRequest for pod %q contains pod UID (%q) which differs from running pod %q", pod, spec.PodUID, running.UID)
	case running.Spec.NodeName != node:
		return forbid(a, "pod %q is not running on node %q named in the PodCertificateRequest", pod, node)
	case isMirror(running):
		return forbid(a, "pod %q is a mirror pod", pod)
	case running.Spec.ServiceAccountName != spec.ServiceAccountName:
		return forbid(a, "PodCertificateRequest for pod %q contains serviceAccountName (%q) that differs from running pod (%q)", pod, spec.ServiceAccountName, running.Spec.ServiceAccountName)
	}
	obj, err = p.access.Get(ctx, core("serviceaccounts"), types.NamespacedName{Namespace: a.Namespace, Name: spec.ServiceAccountName})
	if err != nil {
		return forbid(a, "while retrieving service account %q named in the PodCertificateRequest: %w", account, err)
	}
	if uid := metav1.MetaOf(obj).UID; uid != spec.ServiceAccountUID {
		return forbid(a, "PodCertificateRequest for pod %q names service account UID %q, which differs from the running service account (%q)", pod, spec.ServiceAccountUID, uid)
	}
	return nil
}
