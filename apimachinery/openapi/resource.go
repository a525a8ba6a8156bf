package openapi

import (
	"reflect"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Resource is one resource of a server, described by a Go type or by a schema.
type Resource struct {
	// GVK and GVR name the kind and the resource.
	GVK schema.GroupVersionKind
	GVR schema.GroupVersionResource
	// Namespaced is true when objects live in a namespace.
	Namespaced bool
	// Verbs the resource serves.
	Verbs []string
	// Subresources it has.
	Subresources []scheme.Subresource
	// Type is the Go struct type; nil when Schema describes the objects.
	Type reflect.Type
	// ListType is the Go type of the list; nil when Schema describes the objects.
	ListType reflect.Type
	// Schema describes objects without a Go type, metadata included.
	Schema *Schema
}

// resourceOf describes a registered kind.
func resourceOf(i *scheme.Info) *Resource {
	return &Resource{
		GVK: i.GVK, GVR: i.GVR, Namespaced: i.Namespaced, Verbs: i.Verbs, Subresources: i.Subresources,
		Type: i.Type, ListType: reflect.TypeOf(i.NewList()).Elem(),
	}
}

func (r *Resource) has(verb string) bool { return slices.Contains(r.Verbs, verb) }

// bodyTypes are the Go types of subresource bodies that are not the resource's own kind.
var bodyTypes = map[string]reflect.Type{
	"Scale":        reflect.TypeFor[autoscalingv1.Scale](),
	"Eviction":     reflect.TypeFor[policyv1.Eviction](),
	"Binding":      reflect.TypeFor[corev1.Binding](),
	"TokenRequest": reflect.TypeFor[authenticationv1.TokenRequest](),
}

// connectOptions are the kinds whose fields are the query parameters of a connection.
var connectOptions = map[string]reflect.Type{
	"PodAttachOptions":      reflect.TypeFor[corev1.PodAttachOptions](),
	"PodExecOptions":        reflect.TypeFor[corev1.PodExecOptions](),
	"PodPortForwardOptions": reflect.TypeFor[corev1.PodPortForwardOptions](),
	"PodProxyOptions":       reflect.TypeFor[corev1.PodProxyOptions](),
	"NodeProxyOptions":      reflect.TypeFor[corev1.NodeProxyOptions](),
	"ServiceProxyOptions":   reflect.TypeFor[corev1.ServiceProxyOptions](),
}

// deleteReturnsObject reports whether a deletion returns the object rather than a Status.
func deleteReturnsObject(gvr schema.GroupVersionResource) bool {
	switch gvr.Group {
	case "":
		return slices.Contains([]string{
			"persistentvolumeclaims", "persistentvolumes", "pods", "podtemplates", "resourcequotas", "serviceaccounts", "services",
		}, gvr.Resource)
	case "storage.k8s.io":
		return gvr.Resource != "csistoragecapacities"
	}
	return gvr.Group == "resource.k8s.io"
}

// groupTitle returns the group in operation names: Core, Apps, RbacAuthorization.
func groupTitle(group string) string {
	if group == "" {
		return "Core"
	}
	var b strings.Builder
	for label := range strings.SplitSeq(strings.TrimSuffix(group, ".k8s.io"), ".") {
		b.WriteString(title(label))
	}
	return b.String()
}

func title(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// tag returns the tag that groups operations: core_v1, rbacAuthorization_v1.
func tag(gv schema.GroupVersion) string {
	t := groupTitle(gv.Group)
	t = strings.ToLower(t[:1]) + t[1:]
	if gv.Version != "" {
		t += "_" + gv.Version
	}
	return t
}

// root returns the path of a group-version, or of a group for an empty version, without leading or trailing
// slash.
func root(gv schema.GroupVersion) string {
	switch {
	case gv.Group == "":
		return "api/" + gv.Version
	case gv.Version == "":
		return "apis/" + gv.Group
	}
	return "apis/" + gv.Group + "/" + gv.Version
}
