package admission

import (
	"context"
	"errors"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// token lets a node request tokens that are bound to pods on it, for audiences that these need.
func (p *nodeRestriction) token(ctx context.Context, node string, a *Attributes) error {
	if a.Operation != Create || a.Subresource != "token" {
		return nil
	}
	request, ok := a.Object.(*authenticationv1.TokenRequest)
	if !ok {
		return forbid(a, "unexpected type %T", a.Object)
	}
	ref := request.Spec.BoundObjectRef
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "" {
		return forbid(a, "node requested token not bound to a pod")
	}
	if ref.UID == "" {
		return forbid(a, "node requested token with a pod binding without a uid")
	}
	pod, err := p.podOn(ctx, node, types.NamespacedName{Namespace: a.Namespace, Name: ref.Name})
	switch {
	case apierrors.IsNotFound(err):
		return err
	case err != nil:
		return forbid(a, "%w", err)
	case ref.UID != pod.UID:
		return forbid(a, "the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID)
	case pod.Spec.NodeName != node:
		return forbid(a, "node requested token bound to a pod scheduled on a different node")
	}
	if err := p.audience(ctx, a, request.Spec.Audiences, pod); err != nil {
		return forbid(a, "%w", err)
	}
	return nil
}

// audience checks that a volume of the pod needs a token for the audience, or that the node has the right to
// request it anyway.
func (p *nodeRestriction) audience(ctx context.Context, a *Attributes, audiences []string, pod *corev1.Pod) error {
	audience := ""
	switch len(audiences) {
	case 0:
	case 1:
		audience = audiences[0]
	default:
		return errors.New("node may only request 0 or 1 audiences")
	}
	found, err := p.podNeeds(ctx, pod, audience)
	if err != nil {
		return fmt.Errorf("error validating audience %q: %w", audience, err)
	}
	if found {
		return nil
	}
	var decision cel.Decision
	if p.authorize != nil {
		decision = p.authorize(ctx, a.User, cel.Check{Verb: "request-serviceaccounts-token-audience", Namespace: a.Namespace, Resource: audience, Name: a.Name})
	}
	switch {
	case decision.Allowed:
		return nil
	case decision.Err != nil:
		return fmt.Errorf("audience %q not found in pod spec volume, error authorizing %s to request tokens for this audience: %w", audience, a.User.Name, decision.Err)
	}
	return fmt.Errorf("audience %q not found in pod spec volume, %s is not authorized to request tokens for this audience", audience, a.User.Name)
}

// podNeeds reports whether a volume of the pod, or the driver of one, needs tokens for the audience. The
// error is about drivers that could not be found, if none of the others needs it.
func (p *nodeRestriction) podNeeds(ctx context.Context, pod *corev1.Pod, audience string) (bool, error) {
	var errs []error
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected != nil {
			for _, s := range v.Projected.Sources {
				if s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == audience {
					return true, nil
				}
			}
		}
		driver, err := p.driverOf(ctx, pod, v)
		found := false
		if err == nil && driver != "" {
			found, err = p.driverNeeds(ctx, driver, audience)
		}
		if found {
			return true, nil
		}
		errs = append(errs, err)
	}
	return false, errors.Join(errs...)
}

// driverOf returns the CSI driver that mounts a volume; empty if there is none.
func (p *nodeRestriction) driverOf(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (string, error) {
	switch {
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		return p.driverOfClaim(ctx, pod.Namespace, pod.Name+"-"+v.Name)
	case v.PersistentVolumeClaim != nil:
		return p.driverOfClaim(ctx, pod.Namespace, v.PersistentVolumeClaim.ClaimName)
	case v.CSI != nil:
		return v.CSI.Driver, nil
	}
	return migratedDriver(v.GCEPersistentDisk != nil, v.AWSElasticBlockStore != nil, v.Cinder != nil, v.AzureDisk != nil, v.AzureFile != nil, v.VsphereVolume != nil, v.PortworxVolume != nil), nil
}

func (p *nodeRestriction) driverOfClaim(ctx context.Context, namespace, name string) (string, error) {
	obj, err := p.access.Get(ctx, core("persistentvolumeclaims"), types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return "", err
	}
	obj, err = p.access.Get(ctx, core("persistentvolumes"), types.NamespacedName{Name: obj.(*corev1.PersistentVolumeClaim).Spec.VolumeName})
	if err != nil {
		return "", err
	}
	s := &obj.(*corev1.PersistentVolume).Spec.PersistentVolumeSource
	if s.CSI != nil {
		return s.CSI.Driver, nil
	}
	return migratedDriver(s.GCEPersistentDisk != nil, s.AWSElasticBlockStore != nil, s.Cinder != nil, s.AzureDisk != nil, s.AzureFile != nil, s.VsphereVolume != nil, s.PortworxVolume != nil), nil
}

// migratedDriver returns the CSI driver that took the place of a volume plugin of the kubelet.
func migratedDriver(gce, aws, cinder, azureDisk, azureFile, vsphere, portworx bool) string {
	switch {
	case gce:
		return "pd.csi.storage.gke.io"
	case aws:
		return "ebs.csi.aws.com"
	case cinder:
		return "cinder.csi.openstack.org"
	case azureDisk:
		return "disk.csi.azure.com"
	case azureFile:
		return "file.csi.azure.com"
	case vsphere:
		return "csi.vsphere.vmware.com"
	case portworx:
		return "pxd.portworx.com"
	}
	return ""
}

func (p *nodeRestriction) driverNeeds(ctx context.Context, driver, audience string) (bool, error) {
	obj, err := p.access.Get(ctx, resource("storage.k8s.io", "v1", "csidrivers"), types.NamespacedName{Name: driver})
	if err != nil {
		return false, err
	}
	for _, r := range obj.(*storagev1.CSIDriver).Spec.TokenRequests {
		if r.Audience == audience {
			return true, nil
		}
	}
	return false, nil
}
