package columns

import (
	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// builtin has the tables of the resources that show more than Name and Created At.
var builtin = map[schema.GroupVersionResource]Table{
	corev1.GroupVersion.WithResource("componentstatuses"):      componentStatusTable,
	corev1.GroupVersion.WithResource("configmaps"):             configMapTable,
	corev1.GroupVersion.WithResource("endpoints"):              endpointsTable,
	corev1.GroupVersion.WithResource("events"):                 coreEventTable,
	corev1.GroupVersion.WithResource("namespaces"):             namespaceTable,
	corev1.GroupVersion.WithResource("nodes"):                  nodeTable,
	corev1.GroupVersion.WithResource("persistentvolumeclaims"): claimTable,
	corev1.GroupVersion.WithResource("persistentvolumes"):      volumeTable,
	corev1.GroupVersion.WithResource("pods"):                   podTable,
	corev1.GroupVersion.WithResource("podtemplates"):           podTemplateTable,
	corev1.GroupVersion.WithResource("replicationcontrollers"): replicationControllerTable,
	corev1.GroupVersion.WithResource("resourcequotas"):         resourceQuotaTable,
	corev1.GroupVersion.WithResource("secrets"):                secretTable,
	corev1.GroupVersion.WithResource("serviceaccounts"):        serviceAccountTable,
	corev1.GroupVersion.WithResource("services"):               serviceTable,

	eventsv1.GroupVersion.WithResource("events"): eventTable,

	appsv1.GroupVersion.WithResource("controllerrevisions"): controllerRevisionTable,
	appsv1.GroupVersion.WithResource("daemonsets"):          daemonSetTable,
	appsv1.GroupVersion.WithResource("deployments"):         deploymentTable,
	appsv1.GroupVersion.WithResource("replicasets"):         replicaSetTable,
	appsv1.GroupVersion.WithResource("statefulsets"):        statefulSetTable,
	batchv1.GroupVersion.WithResource("cronjobs"):           cronJobTable,
	batchv1.GroupVersion.WithResource("jobs"):               jobTable,

	autoscalingv1.GroupVersion.WithResource("horizontalpodautoscalers"): autoscalerV1Table,
	autoscalingv1.GroupVersion.WithResource("scales"):                   scaleTable,
	autoscalingv2.GroupVersion.WithResource("horizontalpodautoscalers"): autoscalerV2Table,
	policyv1.GroupVersion.WithResource("poddisruptionbudgets"):          disruptionBudgetTable,

	discoveryv1.GroupVersion.WithResource("endpointslices"):   endpointSliceTable,
	networkingv1.GroupVersion.WithResource("ingressclasses"):  ingressClassTable,
	networkingv1.GroupVersion.WithResource("ingresses"):       ingressTable,
	networkingv1.GroupVersion.WithResource("ipaddresses"):     ipAddressTable,
	networkingv1.GroupVersion.WithResource("networkpolicies"): networkPolicyTable,
	networkingv1.GroupVersion.WithResource("servicecidrs"):    serviceCIDRTable,

	certificatesv1.GroupVersion.WithResource("certificatesigningrequests"): signingRequestTable,
	rbacv1.GroupVersion.WithResource("clusterrolebindings"):                clusterRoleBindingTable,
	rbacv1.GroupVersion.WithResource("rolebindings"):                       roleBindingTable,

	storagev1.GroupVersion.WithResource("csidrivers"):              csiDriverTable,
	storagev1.GroupVersion.WithResource("csinodes"):                csiNodeTable,
	storagev1.GroupVersion.WithResource("storageclasses"):          storageClassTable,
	storagev1.GroupVersion.WithResource("volumeattachments"):       attachmentTable,
	storagev1.GroupVersion.WithResource("volumeattributesclasses"): attributesClassTable,

	coordinationv1.GroupVersion.WithResource("leases"):             leaseTable,
	nodev1.GroupVersion.WithResource("runtimeclasses"):             runtimeClassTable,
	schedulingv1.GroupVersion.WithResource("priorityclasses"):      priorityClassTable,
	apiregistrationv1.GroupVersion.WithResource("apiservices"):     apiServiceTable,
	resourcev1.GroupVersion.WithResource("deviceclasses"):          deviceClassTable,
	resourcev1.GroupVersion.WithResource("resourceclaims"):         resourceClaimTable,
	resourcev1.GroupVersion.WithResource("resourceclaimtemplates"): claimTemplateTable,
	resourcev1.GroupVersion.WithResource("resourceslices"):         resourceSliceTable,

	flowcontrolv1.GroupVersion.WithResource("flowschemas"):                 flowSchemaTable,
	flowcontrolv1.GroupVersion.WithResource("prioritylevelconfigurations"): priorityLevelTable,

	admissionregistrationv1.GroupVersion.WithResource("mutatingadmissionpolicies"):         mutatingPolicyTable,
	admissionregistrationv1.GroupVersion.WithResource("mutatingadmissionpolicybindings"):   mutatingPolicyBindingTable,
	admissionregistrationv1.GroupVersion.WithResource("mutatingwebhookconfigurations"):     mutatingWebhookTable,
	admissionregistrationv1.GroupVersion.WithResource("validatingadmissionpolicies"):       validatingPolicyTable,
	admissionregistrationv1.GroupVersion.WithResource("validatingadmissionpolicybindings"): validatingPolicyBindingTable,
	admissionregistrationv1.GroupVersion.WithResource("validatingwebhookconfigurations"):   validatingWebhookTable,
}
