package api_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// finding is an object of a kind beside the workloads, and all that a server reports of it.
type finding struct {
	name, body string
	want       []string
}

// TestFindings checks that objects are refused for all that is wrong with them and nothing else.
func TestFindings(t *testing.T) {
	s := serverScheme(t)
	const review = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"u","resourceAttributes":`
	const slice = `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"d","pool":{"name":"p","resourceSliceCount":1},`
	for _, f := range []finding{
		{"a review's metadata is empty", `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","metadata":{"name":"x"},"spec":{"user":"u","nonResourceAttributes":{"path":"/"}}}`,
			[]string{"metadata FieldValueInvalid"}},
		{"a review's owners do not count", `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","metadata":{"labels":{},"managedFields":[{}]},"spec":{"nonResourceAttributes":{"path":"/"}}}`, nil},
		{"a local review has both questions", `{"apiVersion":"authorization.k8s.io/v1","kind":"LocalSubjectAccessReview","metadata":{"namespace":"n"},"spec":{"user":"u","nonResourceAttributes":{},"resourceAttributes":{"namespace":"m"}}}`,
			[]string{"spec.nonResourceAttributes FieldValueInvalid", "spec.resourceAttributes.namespace FieldValueInvalid"}},
		{"label requirements", review + `{"labelSelector":{"rawSelector":"a","requirements":[{"key":"a b","operator":"In"},{"key":"a","operator":"Exists","values":["x"]},{"key":"a","operator":"NotIn","values":["x y"]}]}}}}`,
			[]string{"spec.resourceAttributes.labelSelector.rawSelector FieldValueInvalid", "spec.resourceAttributes.labelSelector.requirements[0].key FieldValueInvalid",
				"spec.resourceAttributes.labelSelector.requirements[0].values FieldValueRequired", "spec.resourceAttributes.labelSelector.requirements[1].values FieldValueForbidden",
				"spec.resourceAttributes.labelSelector.requirements[2].values[0] FieldValueInvalid"}},
		{"field requirements", review + `{"fieldSelector":{"requirements":[{"operator":"Later"},{"key":"a b","operator":"In"},{"key":"a","operator":"Exists","values":["x"]}]}}}}`,
			[]string{"spec.resourceAttributes.fieldSelector.requirements[0].key FieldValueRequired", "spec.resourceAttributes.fieldSelector.requirements[1].values FieldValueRequired",
				"spec.resourceAttributes.fieldSelector.requirements[2].values FieldValueForbidden"}},
		{"empty selectors", review + `{"fieldSelector":{},"labelSelector":{}}}}`,
			[]string{"spec.resourceAttributes.fieldSelector.requirements FieldValueRequired", "spec.resourceAttributes.labelSelector.requirements FieldValueRequired"}},
		{"an API service without group", `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v2."},"spec":{"version":"v2","groupPriorityMinimum":1,"versionPriority":1}}`,
			[]string{"spec.group FieldValueRequired"}},
		{"an API service's generated name", `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.","generateName":"v1"},"spec":{"version":"v1","groupPriorityMinimum":1,"versionPriority":1}}`,
			[]string{"metadata.generateName FieldValueInvalid"}},
		{"a CSI driver's name may be long", `{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}`, nil},
		{"an address is not generated", `{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":"10.0.0.1","generateName":"x"},"spec":{"parentRef":{"resource":"a","name":"b"}}}`,
			[]string{"metadata.generateName FieldValueInvalid"}},
		{"operators of reviews may be new", review + `{"labelSelector":{"requirements":[{"key":"a","operator":"Gt"}]}}}}`, nil},
		{"a level is exempt by name", `{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"PriorityLevelConfiguration","metadata":{"name":"p"},"spec":{"type":"Exempt"}}`,
			[]string{"spec.type FieldValueInvalid"}},
		{"a level's types", `{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"PriorityLevelConfiguration","metadata":{"name":"p"},"spec":{"type":"Limited","limited":{}}}`,
			[]string{"spec.limited.limitResponse.type FieldValueRequired"}},
		{"review versions", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"w"},"webhooks":[{"name":"a.b.c","sideEffects":"None","clientConfig":{"url":"https://x.y"},"admissionReviewVersions":["a/b","a/b"]}]}`,
			[]string{"webhooks[0].admissionReviewVersions FieldValueInvalid", "webhooks[0].admissionReviewVersions[0] FieldValueInvalid", "webhooks[0].admissionReviewVersions[1] FieldValueInvalid"}},
		{"a reference by name and selector", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicyBinding","metadata":{"name":"b"},"spec":{"policyName":"p","paramRef":{"name":"a/b","selector":{},"parameterNotFoundAction":"Deny"},"matchResources":{"resourceRules":[{"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]}}}`,
			[]string{"spec.matchResources.resourceRules.operations FieldValueNotSupported", "spec.paramRef.name FieldValueForbidden", "spec.paramRef.name FieldValueInvalid", "spec.paramRef.selector FieldValueForbidden"}},
		{"no replicas", `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h","namespace":"n"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}}`,
			[]string{"spec.maxReplicas FieldValueInvalid", "spec.maxReplicas FieldValueRequired"}},
		{"several sources of a metric", `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h","namespace":"n"},"spec":{"maxReplicas":1,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},` +
			`"metrics":[{"type":"Resource","pods":{"metric":{"name":""},"target":{}},"external":{"metric":{"name":"m","selector":{"matchLabels":{"a b":""}}},"target":{"type":"Value","value":"1"}}}]}}`,
			[]string{"spec.metrics[0].external FieldValueForbidden", "spec.metrics[0].pods FieldValueForbidden", "spec.metrics[0].resource FieldValueRequired"}},
		{"a metric of no source", `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h","namespace":"n"},"spec":{"maxReplicas":1,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"metrics":[{"pods":{"metric":{"name":"m"},"target":{"averageValue":"1"}}}]}}`,
			[]string{"spec.metrics[0].pods.target.type FieldValueInvalid", "spec.metrics[0].pods.target.type FieldValueRequired", "spec.metrics[0].type FieldValueNotSupported", "spec.metrics[0].type FieldValueRequired"}},
		{"three ranges", `{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"c"},"spec":{"cidrs":["x","y","z"]}}`, []string{"spec.cidrs FieldValueInvalid"}},
		{"exceptions of nothing", `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"p","namespace":"n"},"spec":{"podSelector":{},"egress":[{"to":[{"ipBlock":{"cidr":"x","except":["y"]}}]}]}}`,
			[]string{"spec.egress[0].to[0].ipBlock.cidr FieldValueInvalid"}},
		{"one topology twice", `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"s"},"provisioner":"p","allowedTopologies":[{"matchLabelExpressions":[{"key":"k","values":["v"]}]},{"matchLabelExpressions":[{"key":"k","values":["v"]}]}]}`,
			[]string{"allowedTopologies[1].matchLabelExpressions FieldValueDuplicate"}},
		{"topology keys", `{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"n"},"spec":{"drivers":[{"name":"d","nodeID":"i","topologyKeys":["a b","a b"]}]}}`,
			[]string{"spec.drivers[0] FieldValueDuplicate", "spec.drivers[0] FieldValueInvalid"}},
		{"selectors of an aggregation", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"r","generateName":"."},"aggregationRule":{"clusterRoleSelectors":[{},{"matchLabels":{"a b":""}}]}}`,
			[]string{"aggregationRule.clusterRoleSelectors[1] FieldValueInvalid", "aggregationRule.clusterRoleSelectors[1].matchLabels FieldValueInvalid", "metadata.generateName FieldValueInvalid"}},
		{"tokens for nobody", `{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"d"},"spec":{"serviceAccountTokenInSecrets":false}}`,
			[]string{"spec.serviceAccountTokenInSecrets FieldValueInvalid"}},
		{"claims have no metadata but labels", `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"t","namespace":"n"},"spec":{"metadata":{"name":"x","uid":"u","labels":{"a b":""}},"spec":{"devices":{}}}}`,
			[]string{"spec.metadata.labels FieldValueInvalid", "spec.metadata.name FieldValueForbidden", "spec.metadata.uid FieldValueForbidden"}},
		{"requests of a claim", `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c","namespace":"n"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"d","tolerations":[{"operator":"Equal"}]}},{"name":"r","exactly":{"deviceClassName":"d"}},{"firstAvailable":[{"deviceClassName":"d"}]}],"constraints":[{"requests":["A/r"],"matchAttribute":"x"}]}}}`,
			[]string{"spec.devices.constraints[0].matchAttribute FieldValueInvalid", "spec.devices.constraints[0].requests[0] FieldValueInvalid", "spec.devices.requests[1] FieldValueDuplicate",
				"spec.devices.requests[2].firstAvailable[0].name FieldValueInvalid", "spec.devices.requests[2].name FieldValueInvalid"}},
		{"a class for a resource of Kubernetes", `{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"c","generateName":"C_"},"spec":{"extendedResourceName":"kubernetes.io/a b"}}`,
			[]string{"spec.extendedResourceName FieldValueInvalid"}},
		{"an empty slice", `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"}}`,
			[]string{"spec FieldValueRequired", "spec.driver FieldValueRequired", "spec.pool.name FieldValueRequired", "spec.pool.resourceSliceCount FieldValueInvalid"}},
		{"devices of nodes", slice + `"perDeviceNodeSelection":true,"devices":[{"name":"a","nodeName":"x","allNodes":true},{"name":"b"},{"name":"c","nodeName":""},{"name":"d","allNodes":false}]}}`,
			[]string{"spec.devices[0] FieldValueInvalid", "spec.devices[1] FieldValueRequired", "spec.devices[2] FieldValueRequired", "spec.devices[2].nodeName FieldValueInvalid",
				"spec.devices[3] FieldValueRequired", "spec.devices[3].allNodes FieldValueInvalid"}},
		{"devices of the slice's node", slice + `"nodeName":"n","devices":[{"name":"","nodeName":"x","taints":[{"effect":"NoSchedule"}]}],"sharedCounters":[{"name":"c","counters":{"a.b":{"value":"1"}}},{"name":"c"}]}}`,
			[]string{"spec FieldValueInvalid", "spec.devices[0] FieldValueInvalid", "spec.devices[0].name FieldValueInvalid", "spec.devices[0].taints[0].key FieldValueInvalid", "spec.sharedCounters[0].counters FieldValueInvalid", "spec.sharedCounters[1] FieldValueDuplicate", "spec.sharedCounters[1].counters FieldValueRequired"}},
		{"what devices take, and wait for", slice + `"allNodes":true,"devices":[{"name":"a","consumesCounters":[{"counterSet":"x"},{"counterSet":"x","counters":{"A":{"value":"1"}}}],"bindingConditions":["a b","c"]},` +
			`{"name":"b","bindingConditions":["c"],"bindingFailureConditions":["c","d","d"]},{"name":"c","capacity":{"a b":{"value":"1","requestPolicy":{}}},"attributes":{"a-b":{},"/c":{"int":1}}}]}}`,
			[]string{"spec.devices[0].bindingConditions[0] FieldValueInvalid", "spec.devices[0].bindingFailureConditions FieldValueInvalid", "spec.devices[0].consumesCounters[0].counters FieldValueRequired",
				"spec.devices[0].consumesCounters[1] FieldValueDuplicate", "spec.devices[0].consumesCounters[1].counters FieldValueInvalid", "spec.devices[1].bindingFailureConditions[0] FieldValueInvalid",
				"spec.devices[1].bindingFailureConditions[2] FieldValueDuplicate", "spec.devices[2].attributes FieldValueInvalid", "spec.devices[2].attributes[a-b] FieldValueInvalid",
				"spec.devices[2].capacity FieldValueInvalid", "spec.devices[2].capacity[a b].requestPolicy FieldValueForbidden"}},
	} {
		t.Run(f.name, func(t *testing.T) {
			obj, info := prepared(t, s, []byte(f.body), "")
			got := foundSet(validateCreate(obj, info))
			slices.Sort(f.want)
			require.Equal(t, append([]string{}, f.want...), got)
		})
	}
}
