package main

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/markers"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	v1 "github.com/keelson-dev/keelson/examples/operator/api/v1"
	"github.com/keelson-dev/keelson/examples/operator/webhooks"
)

// The names in the manifests.
const (
	operatorName     = "website-operator"
	certificateName  = operatorName + "-certificate"
	certificatesRole = operatorName + "-certificates"
	metricsRole      = operatorName + "-metrics"
	defaultNamespace = "website-system"
	defaultImage     = "website-operator:latest"
	definitionName   = "websites.demo.keelson.dev"

	webhookPort, healthPort = 9443, 8081
	certificateDir          = "/certificates"
)

// source has the comments and markers of which the manifests are made.
//
//go:embed main.go api/v1/types.go api/v1alpha1/types.go website/controller.go webhooks/webhooks.go
var source embed.FS

// installation is what the manifests depend on.
type installation struct {
	namespace, image, domain string
	watched                  []string // nil for all namespaces
	source                   *markers.Source
	err                      error
}

func (o *flags) installation() installation {
	i := installation{namespace: o.namespace, image: o.image, domain: o.domain, watched: o.watched}
	i.source, i.err = markers.Parse(source, "github.com/keelson-dev/keelson/examples/operator")
	return i
}

// all returns the objects in the order in which they can be created. The webhook configurations come last,
// because from then on websites are refused until the operator runs.
func (i installation) all() (out []metav1.Object, err error) {
	out = append(out, i.home())
	for _, part := range []func() ([]metav1.Object, error){i.definition, i.rights, i.workload, i.webhooks} {
		objs, err := part()
		if err != nil {
			return nil, err
		}
		out = append(out, objs...)
	}
	return out, nil
}

// meta returns the metadata of an object of the operator.
func (i installation) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: i.namespace, Name: name, Labels: map[string]string{"app": operatorName}}
}

// home is the operator's namespace.
func (i installation) home() *corev1.Namespace {
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.namespace}}
	n.SetGroupVersionKind(corev1.GroupVersion.WithKind("Namespace"))
	return n
}

// definition is the custom resource, with both versions.
func (i installation) definition() ([]metav1.Object, error) {
	if i.err != nil {
		return nil, i.err
	}
	s, err := kinds()
	if err != nil {
		return nil, err
	}
	crds, err := i.source.Definitions(s, v1.GroupVersion.Group, markers.Options{Conversion: &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
				Namespace: i.namespace, Name: operatorName, Path: new(webhooks.ConvertPath)}},
		},
	}})
	if err != nil {
		return nil, err
	}
	return []metav1.Object{crds[0]}, nil
}

// rights are the service account, its roles by the markers, and their bindings. An operator of some
// namespaces has Roles in these instead of a ClusterRole, and does not keep its certificate itself.
func (i installation) rights() ([]metav1.Object, error) {
	if i.err != nil {
		return nil, i.err
	}
	roles, err := i.source.Roles(operatorName)
	if err != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: i.meta(operatorName)}
	account.SetGroupVersionKind(corev1.GroupVersion.WithKind("ServiceAccount"))
	out := []metav1.Object{account}
	for _, role := range roles {
		if len(i.watched) > 0 && role.GetName() == certificatesRole {
			continue
		}
		switch role := role.(type) {
		case *rbacv1.Role:
			out = append(out, i.granted(role.Name, i.namespace, role.Rules)...)
		case *rbacv1.ClusterRole:
			if role.Name != operatorName || len(i.watched) == 0 {
				out = append(out, i.granted(role.Name, "", role.Rules)...)
				continue
			}
			for _, namespace := range i.watched {
				out = append(out, i.granted(role.Name, namespace, role.Rules)...)
			}
		default:
			return nil, fmt.Errorf("manifests: unexpected role %T", role)
		}
	}
	if len(i.watched) == 0 {
		out = append(out, i.page()...)
	}
	return out, nil
}

// page is what /metrics needs, in an installation that may have rights of the whole cluster: the right to
// have tokens and rights reviewed, and a role for those who read the page, which is bound to none yet.
func (i installation) page() []metav1.Object {
	meta := i.meta(metricsRole)
	meta.Namespace = ""
	reader := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}
	reader.SetGroupVersionKind(rbacv1.GroupVersion.WithKind("ClusterRole"))
	meta.Name = operatorName + "-reviews"
	reviews := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: i.account(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: "ClusterRole", Name: "system:auth-delegator"}}
	reviews.SetGroupVersionKind(rbacv1.GroupVersion.WithKind("ClusterRoleBinding"))
	return []metav1.Object{reader, reviews}
}

// account is the operator as the subject of a binding.
func (i installation) account() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: i.namespace, Name: operatorName}}
}

// granted returns a role and its binding to the operator's account: in a namespace, or in all if that is
// empty.
func (i installation) granted(name, namespace string, rules []rbacv1.PolicyRule) []metav1.Object {
	meta := i.meta(name)
	meta.Namespace = namespace
	if namespace == "" {
		role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}
		role.SetGroupVersionKind(rbacv1.GroupVersion.WithKind("ClusterRole"))
		bound := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: i.account(), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: "ClusterRole", Name: name}}
		bound.SetGroupVersionKind(rbacv1.GroupVersion.WithKind("ClusterRoleBinding"))
		return []metav1.Object{role, bound}
	}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: rules}
	role.SetGroupVersionKind(rbacv1.GroupVersion.WithKind("Role"))
	bound := &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: i.account(), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: "Role", Name: name}}
	bound.SetGroupVersionKind(rbacv1.GroupVersion.WithKind("RoleBinding"))
	return []metav1.Object{role, bound}
}

// webhooks are the configurations. The server fills in no caBundle: certificates does.
func (i installation) webhooks() ([]metav1.Object, error) {
	if i.err != nil {
		return nil, i.err
	}
	out, err := i.source.Webhooks()
	if err != nil {
		return nil, err
	}
	for _, obj := range out {
		switch config := obj.(type) {
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			for n := range config.Webhooks {
				config.Webhooks[n].ClientConfig.Service.Namespace = i.namespace
			}
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			for n := range config.Webhooks {
				config.Webhooks[n].ClientConfig.Service.Namespace = i.namespace
			}
		default:
			return nil, errors.New("manifests: unexpected webhook configuration")
		}
	}
	return out, nil
}

// workload is the Service of the webhooks, the Deployment behind it and its disruption budget.
func (i installation) workload() ([]metav1.Object, error) {
	selector := map[string]string{"app": operatorName}
	service := &corev1.Service{ObjectMeta: i.meta(operatorName), Spec: corev1.ServiceSpec{
		Selector: selector, Ports: []corev1.ServicePort{{Name: "webhooks", Port: 443, TargetPort: intstr.FromString("webhooks")}}}}
	service.SetGroupVersionKind(corev1.GroupVersion.WithKind("Service"))
	deployment := &appsv1.Deployment{ObjectMeta: i.meta(operatorName), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: selector},
		// A new replica is ready before an old one ends, so that the webhooks are always served.
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromInt32(1))}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: i.pod()},
	}}
	deployment.SetGroupVersionKind(appsv1.GroupVersion.WithKind("Deployment"))
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: i.meta(operatorName), Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: selector}}}
	budget.SetGroupVersionKind(policyv1.GroupVersion.WithKind("PodDisruptionBudget"))
	return []metav1.Object{service, deployment, budget}, nil
}

func (i installation) pod() corev1.PodSpec {
	args := []string{fmt.Sprintf("--health-address=:%d", healthPort), "--domain=" + i.domain}
	pod := corev1.PodSpec{
		ServiceAccountName: operatorName, TerminationGracePeriodSeconds: new(int64(35)),
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), RunAsGroup: new(int64(65532)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
	}
	c := corev1.Container{
		Name: "operator", Image: i.image,
		Env: []corev1.EnvVar{{Name: "POD_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}},
		Ports: []corev1.ContainerPort{
			{Name: "webhooks", ContainerPort: webhookPort}, {Name: "health", ContainerPort: healthPort},
		},
		ReadinessProbe: probe("/readyz", 2), LivenessProbe: probe("/livez", 10),
		// The end of a replica takes a moment to reach all who call its webhooks.
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
		},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
	}
	if len(i.watched) > 0 {
		args = append(args, "--watch-namespaces="+strings.Join(i.watched, ","), "--webhook-cert-dir="+certificateDir, "--metrics=false")
		c.VolumeMounts = []corev1.VolumeMount{{Name: "certificate", MountPath: certificateDir, ReadOnly: true}}
		pod.Volumes = []corev1.Volume{{Name: "certificate", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: certificateName}}}}
	}
	c.Args = args
	pod.Containers = []corev1.Container{c}
	return pod
}

// probe returns a probe of a path of the health server.
func probe(path string, period int32) *corev1.Probe {
	return &corev1.Probe{PeriodSeconds: period, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("health")}}}
}
