package admission

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// serviceAccount sets the service account of every pod, requires that it exists, and mounts its token.
type serviceAccount struct {
	named
	access Access
	draw   func(purpose string) uint64
}

func newServiceAccount(access Access, o Options) Plugin {
	if o.Draw == nil {
		o.Draw = func(string) uint64 { return rand.Uint64() }
	}
	return &serviceAccount{named{"ServiceAccount", []Operation{Create, Update}}, access, o.Draw}
}

const (
	mirrorAnnotation  = "kubernetes.io/config.mirror"
	tokenMountPath    = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenVolumePrefix = "kube-api-access-"
	rootCAConfigMap   = "kube-root-ca.crt"
	// tokenSeconds is an hour and a little, by which the server recognizes tokens that it may extend.
	tokenSeconds = 3607
)

func (p *serviceAccount) Admit(ctx context.Context, a *Attributes) error {
	pod, ok := podOf(a)
	if !ok || a.Operation != Create {
		return nil
	}
	if _, mirror := pod.Annotations[mirrorAnnotation]; mirror {
		return p.Validate(ctx, a)
	}
	if pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName = "default"
	}
	pod.Spec.DeprecatedServiceAccount = pod.Spec.ServiceAccountName
	account, err := p.account(ctx, a, pod)
	if err != nil {
		return err
	}
	if len(pod.Spec.ImagePullSecrets) == 0 {
		pod.Spec.ImagePullSecrets = slices.Clone(account.ImagePullSecrets)
	}
	automount := true
	if account.AutomountServiceAccountToken != nil {
		automount = *account.AutomountServiceAccountToken
	}
	if pod.Spec.AutomountServiceAccountToken != nil {
		automount = *pod.Spec.AutomountServiceAccountToken
	}
	if automount {
		mountToken(pod, p.draw)
	}
	return nil
}

func (p *serviceAccount) Validate(ctx context.Context, a *Attributes) error {
	pod, ok := podOf(a)
	if !ok || a.Operation != Create {
		return nil
	}
	if _, mirror := pod.Annotations[mirrorAnnotation]; mirror {
		return checkMirror(a, pod)
	}
	_, err := p.account(ctx, a, pod)
	return err
}

// checkMirror refuses references to API objects in mirror pods.
func checkMirror(a *Attributes, pod *corev1.Pod) error {
	if pod.Spec.ServiceAccountName != "" {
		return forbid(a, "a mirror pod may not reference service accounts")
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Secret != nil || v.PersistentVolumeClaim != nil || v.ConfigMap != nil {
			return forbid(a, "a mirror pod may not reference secrets, config maps or claims")
		}
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil || s.Secret != nil || s.ConfigMap != nil
		}) {
			return forbid(a, "a mirror pod may not use service account token, secret or config map projections")
		}
	}
	return nil
}

func forbid(a *Attributes, format string, args ...any) error {
	return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf(format, args...))
}

func (p *serviceAccount) account(ctx context.Context, a *Attributes, pod *corev1.Pod) (*corev1.ServiceAccount, error) {
	key := types.NamespacedName{Namespace: a.Namespace, Name: pod.Spec.ServiceAccountName}
	obj, err := p.access.Get(ctx, core("serviceaccounts"), key)
	if err == nil {
		return obj.(*corev1.ServiceAccount), nil
	}
	if apierrors.IsNotFound(err) {
		return nil, forbid(a, "error looking up service account %s/%s: serviceaccount %q not found", key.Namespace, key.Name, key.Name)
	}
	return nil, err
}

// mountToken adds the projected volume with token, CA and namespace to every container that mounts
// nothing at its path.
func mountToken(pod *corev1.Pod, draw func(purpose string) uint64) {
	name := ""
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; len(v.Name) > len(tokenVolumePrefix) && v.Name[:len(tokenVolumePrefix)] == tokenVolumePrefix {
			name = v.Name
			break
		}
	}
	isNew := name == ""
	if isNew {
		name = tokenVolumePrefix + suffix(draw("volume "+pod.Namespace+"/"+pod.GenerateName+pod.Name))
	}
	used := false
	mount := func(mounts *[]corev1.VolumeMount) {
		if slices.ContainsFunc(*mounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenMountPath }) {
			return
		}
		*mounts = append(*mounts, corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenMountPath})
		used = true
	}
	for i := range pod.Spec.InitContainers {
		mount(&pod.Spec.InitContainers[i].VolumeMounts)
	}
	for i := range pod.Spec.Containers {
		mount(&pod.Spec.Containers[i].VolumeMounts)
	}
	if !used || !isNew {
		return
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: new(int32(0o644)),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(tokenSeconds)), Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: rootCAConfigMap}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
		}}}})
}
