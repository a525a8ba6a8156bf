// Package typefacts holds the facts about Go API types that struct tags of their fields cannot express:
// the name of a type in OpenAPI documents, which structs are owned as one value, and which are unions.
// OpenAPI documents and field ownership both need them.
package typefacts

import (
	"reflect"
	"slices"
	"strings"
)

const module = "github.com/keelson-dev/keelson/apimachinery/"

// packages maps our package paths to the names documents use.
var packages = map[string]string{
	module + "metav1":                      "io.k8s.apimachinery.pkg.apis.meta.v1",
	module + "resource":                    "io.k8s.apimachinery.pkg.api.resource",
	module + "intstr":                      "io.k8s.apimachinery.pkg.util.intstr",
	module + "api/apiextensionsv1":         "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
	module + "api/apiregistrationv1":       "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1",
	"k8s.io/apimachinery/pkg/apis/meta/v1": "io.k8s.apimachinery.pkg.apis.meta.v1",
}

// Name returns the OpenAPI name of a named type, such as io.k8s.api.core.v1.Pod, and for a list of objects
// that of the list, io.k8s.api.core.v1.PodList. Types of other packages are named by their path with its host
// reversed, and those of other generic types by their arguments as well, with _ for what cannot be in a name.
func Name(t reflect.Type) string {
	name := t.Name()
	if open := strings.IndexByte(name, '['); open > 0 {
		if items, ok := t.FieldByName("Items"); ok && items.Type.Kind() == reflect.Slice {
			elem := items.Type.Elem()
			if elem.Kind() == reflect.Pointer {
				elem = elem.Elem()
			}
			return Name(elem) + "List"
		}
		name = strings.TrimRight(strings.Map(func(r rune) rune {
			if r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
				return r
			}
			return '_'
		}, name), "_")
	}
	if t.PkgPath() == module+"metav1" && name == "RawExtension" {
		return "io.k8s.apimachinery.pkg.runtime.RawExtension"
	}
	return packageName(t.PkgPath()) + "." + name
}

// PackageName is what Name puts before the names of the types of the package with an import path.
func PackageName(path string) string { return packageName(path) }

func packageName(path string) string {
	if name, ok := packages[path]; ok {
		return name
	}
	if groupVersion, ok := strings.CutPrefix(path, module+"api/"); ok {
		if i := strings.LastIndexByte(groupVersion, 'v'); i > 0 {
			return "io.k8s.api." + groupVersion[:i] + "." + groupVersion[i:]
		}
	}
	parts := strings.Split(path, "/")
	if strings.Contains(parts[0], ".") {
		host := strings.Split(parts[0], ".")
		slices.Reverse(host)
		parts[0] = strings.Join(host, ".")
	}
	return strings.Join(parts, ".")
}

// AtomicStruct reports whether values of the struct type with this OpenAPI name are owned, compared and
// replaced as a whole.
func AtomicStruct(name string) bool {
	short, ok := strings.CutPrefix(name, "io.k8s.")
	return ok && slices.Contains(atomicStructs, short)
}

var atomicStructs = []string{
	"api.admissionregistration.v1.MatchResources",
	"api.admissionregistration.v1.NamedRuleWithOperations",
	"api.admissionregistration.v1.ParamKind",
	"api.admissionregistration.v1.ParamRef",
	"api.admissionregistration.v1.Variable",
	"api.autoscaling.v1.CrossVersionObjectReference",
	"api.core.v1.ConfigMapKeySelector",
	"api.core.v1.EndpointAddress",
	"api.core.v1.EndpointPort",
	"api.core.v1.FileKeySelector",
	"api.core.v1.LocalObjectReference",
	"api.core.v1.NodeSelector",
	"api.core.v1.NodeSelectorTerm",
	"api.core.v1.ObjectFieldSelector",
	"api.core.v1.ObjectReference",
	"api.core.v1.ResourceFieldSelector",
	"api.core.v1.ScopeSelector",
	"api.core.v1.SecretKeySelector",
	"api.core.v1.SecretReference",
	"api.core.v1.TopologySelectorTerm",
	"api.core.v1.TypedLocalObjectReference",
	"api.discovery.v1.EndpointPort",
	"api.networking.v1.ServiceBackendPort",
	"api.rbac.v1.RoleRef",
	"api.rbac.v1.Subject",
	"apimachinery.pkg.apis.meta.v1.LabelSelector",
	"apimachinery.pkg.apis.meta.v1.OwnerReference",
}

// Union is a struct of which one member field is set, named by the discriminator if there is one.
type Union struct {
	Discriminator string
	// Members are pairs of a field's JSON name and the value that selects it.
	Members [][2]string
}

// UnionOf returns the union the named struct type is, if it is one.
func UnionOf(name string) (Union, bool) {
	u, ok := unions[strings.TrimPrefix(name, "io.k8s.api.")]
	return u, ok
}

var unions = map[string]Union{
	"core.v1.AppArmorProfile":                       {"type", [][2]string{{"localhostProfile", "LocalhostProfile"}}},
	"core.v1.SeccompProfile":                        {"type", [][2]string{{"localhostProfile", "LocalhostProfile"}}},
	"core.v1.PodSchedulingGroup":                    {"", [][2]string{{"podGroupName", "PodGroupName"}}},
	"scheduling.v1alpha2.PodGroupSchedulingPolicy":  {"", [][2]string{{"basic", "Basic"}, {"gang", "Gang"}}},
	"scheduling.v1alpha2.PodGroupTemplateReference": {"", [][2]string{{"workload", "Workload"}}},
	"flowcontrol.v1.LimitResponse":                  {"type", [][2]string{{"queuing", "Queuing"}}},
	"flowcontrol.v1.PriorityLevelConfigurationSpec": {"type", [][2]string{{"exempt", "Exempt"}, {"limited", "Limited"}}},
	"flowcontrol.v1.Subject":                        {"kind", [][2]string{{"group", "Group"}, {"serviceAccount", "ServiceAccount"}, {"user", "User"}}},
}

// Default returns the default that documents give a field beside those in its tags, and whether there is one.
func Default(name, field string) (any, bool) {
	v, ok := defaults[strings.TrimPrefix(name, "io.k8s.api.")+"."+field]
	return v, ok
}

var defaults = map[string]any{
	"core.v1.LocalObjectReference.name":                 "",
	"core.v1.GRPCAction.service":                        "",
	"core.v1.FileKeySelector.optional":                  false,
	"core.v1.AzureDiskVolumeSource.readOnly":            false,
	"core.v1.ReplicationControllerSpec.minReadySeconds": 0,
	"autoscaling.v1.ScaleSpec.replicas":                 0,
}

// ElementEnum returns the values that the items of a list, or the values of a map, can have; nil means any.
func ElementEnum(name, field string) []string {
	return elementEnums[strings.TrimPrefix(name, "io.k8s.api.")+"."+field]
}

var (
	accessModes = []string{"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}
	operations  = []string{"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}

	elementEnums = map[string][]string{
		"admissionregistration.v1.NamedRuleWithOperations.operations":                     operations,
		"admissionregistration.v1.RuleWithOperations.operations":                          operations,
		"admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec.validationActions": {"Audit", "Deny", "Warn"},
		"core.v1.PersistentVolumeClaimSpec.accessModes":                                   accessModes,
		"core.v1.PersistentVolumeClaimStatus.accessModes":                                 accessModes,
		"core.v1.PersistentVolumeSpec.accessModes":                                        accessModes,
		"core.v1.PersistentVolumeClaimStatus.allocatedResourceStatuses": {
			"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending",
		},
		"core.v1.ResourceQuotaSpec.scopes": {
			"BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating", "VolumeAttributesClass",
		},
		"core.v1.ServiceSpec.ipFamilies":              {"", "IPv4", "IPv6"},
		"networking.v1.NetworkPolicySpec.policyTypes": {"Egress", "Ingress"},
		"certificates.v1.CertificateSigningRequestSpec.usages": {
			"any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only",
			"digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement",
			"key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping",
		},
	}
)
