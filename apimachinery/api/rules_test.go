package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// alter is one change and the findings it must cause, as "field Type" with Type short for FieldValueType.
type alter struct {
	base  string
	field string
	value string
	want  string
}

func findings(text string) []string {
	out := []string{}
	for part := range strings.SplitSeq(text, "; ") {
		if field, kind, ok := strings.Cut(part, " "); ok {
			out = append(out, field+" FieldValue"+kind)
		}
	}
	return out
}

func TestCreateRules(t *testing.T) {
	s := serverScheme(t)
	base := baseObjects(t)
	for i, c := range []alter{
		{"pod", "spec.containers.0.env", `[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['x/y']"}}}]`, ""},
		{"pod", "spec.containers.0.env", `[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"spec.host"}}}]`, ""},
		{"pod", "spec.containers.0.env", `[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"status.phase"}}}]`, "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath NotSupported"},
		{"pod", "spec.containers.0.env", `[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1m"}}}]`, ""},
		{"pod", "spec.containers.0.env", `[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"2"}}}]`, "spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor Invalid"},
		{"pod", "spec.containers.0.env", `[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.x"}}}]`, "spec.containers[0].env[0].valueFrom.resourceFieldRef.resource NotSupported"},
		{"pod", "spec.containers.0.volumeMounts", `[{"name":"absent","mountPath":"/a"}]`, "spec.containers[0].volumeMounts[0].name NotFound"},
		{"pod", "spec.volumes", `[{"name":"a","emptyDir":{},"hostPath":{"path":"/x"}}]`, "spec.volumes[0].hostPath Forbidden"},
		{"pod", "spec.volumes", `[{"name":"a","projected":{"sources":[{"serviceAccountToken":{"path":"t","expirationSeconds":5}}]}}]`, "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds Invalid"},
		{"pod", "spec.volumes", `[{"name":"a","csi":{"driver":""}}]`, "spec.volumes[0].csi.driver Required"},
		{"pod", "spec.volumes", `[{"name":"a","persistentVolumeClaim":{"claimName":""}}]`, "spec.volumes[0].persistentVolumeClaim.claimName Required"},
		{"pod", "spec.volumes", `[{"name":"a","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"]}}}}]`, "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage] Required"},
		{"pod", "spec.containers.0.lifecycle", `{"preStop":{"sleep":{"seconds":31}}}`, "spec.containers[0].lifecycle.preStop.sleep Invalid"},
		{"pod", "spec.containers.0.lifecycle", `{"preStop":{"sleep":{"seconds":30}}}`, ""},
		{"pod", "spec.containers.0.lifecycle", `{"stopSignal":"SIGTERM"}`, "spec.containers[0].lifecycle.stopSignal Forbidden"},
		{"pod", "spec.initContainers", `[{"name":"i","image":"a:1","readinessProbe":{"tcpSocket":{"port":1}}}]`, "spec.initContainers[0].readinessProbe Forbidden"},
		{"pod", "spec.initContainers", `[{"name":"i","image":"a:1","restartPolicy":"Always","readinessProbe":{"tcpSocket":{"port":1}}}]`, ""},
		{"pod", "spec.containers.0.restartPolicyRules", `[{"action":"Restart","exitCodes":{"operator":"In","values":[1]}}]`, "spec.containers[0].restartPolicy Required"},
		{"pod", "spec.containers.0.resources", `{"claims":[{"name":"x"}]}`, "spec.containers[0].resources.claims[0] NotFound"},
		{"pod", "spec.containers.0.resources", `{"requests":{"a.test/gpu":"1"}}`, "spec.containers[0].resources.limits Required"},
		{"pod", "spec.containers.0.resources", `{"limits":{"hugepages-2Mi":"4Mi","cpu":"1"}}`, ""},
		{"pod", "spec.hostNetwork", `true`, ""},
		{"pod-ports-probes", "spec.containers.0.ports.0", `{"containerPort":80,"name":"TOOLONGFORAPORTNAME"}`, "spec.containers[0].ports[0].name Invalid"},
		{"pod", "spec.securityContext", `{"sysctls":[{"name":"kernel.shmmax","value":"1"},{"name":"kernel.shmmax","value":"2"}]}`, "spec.securityContext.sysctls[1].name Duplicate"},
		{"pod", "spec.securityContext", `{"sysctls":[{"name":"a..b","value":"1"}]}`, "spec.securityContext.sysctls[0].name Invalid"},
		{"pod", "spec.securityContext", `{"supplementalGroups":[-1]}`, "spec.securityContext.supplementalGroups[0] Invalid"},
		{"pod", "spec.hostUsers", `false`, ""},
		{"pod-host-network", "spec.hostUsers", `false`, "spec.hostNetwork Forbidden"},
		{"pod", "spec.os", `{"name":"plan9"}`, "spec.os.name NotSupported"},
		{"pod-ports-probes", "spec.os", `{"name":"windows"}`, "spec.containers[0].securityContext.privileged Forbidden"},
		{"pod", "spec.affinity", `{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":""}]}}`,
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey Invalid; spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey Required"},
		{"pod", "spec.affinity", `{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":101,"podAffinityTerm":{"topologyKey":"z"}}]}}`,
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight Invalid"},
		{"pod", "spec.affinity", `{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.uid","operator":"In","values":["x"]}]}]}}}`,
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key Invalid"},
		{"pod", "spec.topologySpreadConstraints", `[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"ScheduleAnyway","minDomains":2}]`, "spec.topologySpreadConstraints[0].minDomains Invalid"},
		{"pod", "spec.topologySpreadConstraints", `[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule","matchLabelKeys":["a"]}]`, "spec.topologySpreadConstraints[0].matchLabelKeys Forbidden"},
		{"pod", "spec.tolerations", `[{"key":"k","operator":"Exists","tolerationSeconds":5}]`, "spec.tolerations[0].effect Invalid"},
		{"pod", "spec.dnsConfig", `{"nameservers":["1.1.1.1","2.2.2.2","3.3.3.3","x"]}`, "spec.dnsConfig.nameservers Invalid; spec.dnsConfig.nameservers[3] Invalid"},
		{"pod", "spec.hostAliases", `[{"ip":"x","hostnames":["A_"]}]`, "spec.hostAliases[0].hostnames[0] Invalid; spec.hostAliases[0].ip Invalid"},
		{"pod", "spec.schedulingGates", `[{"name":"a/b"},{"name":"a/b"}]`, "spec.schedulingGates[1] Duplicate"},
		{"pod", "spec.activeDeadlineSeconds", `0`, "spec.activeDeadlineSeconds Invalid"},
		{"pod", "spec.resources", `{"limits":{"cpu":"1"},"requests":{"cpu":"2"}}`, "spec.resources.requests Invalid"},
		{"pod", "metadata.annotations", `{"controller.kubernetes.io/pod-deletion-cost":"+1"}`, "metadata.annotations[controller.kubernetes.io/pod-deletion-cost] Invalid"},

		{"deployment", "spec.strategy", `{"rollingUpdate":{"maxSurge":0,"maxUnavailable":"0%"}}`, "spec.strategy.rollingUpdate.maxUnavailable Invalid"},
		{"deployment", "spec.strategy", `{"rollingUpdate":{"maxUnavailable":"101%"}}`, "spec.strategy.rollingUpdate.maxUnavailable Invalid"},
		{"deployment", "spec.template.metadata.labels", `{"app":"a","b c":"d"}`, "spec.template.labels Invalid"},
		{"deployment", "spec.template.spec.ephemeralContainers", `[{"name":"e","image":"a:1"}]`, "spec.template.spec.ephemeralContainers Forbidden"},
		{"daemonset", "spec.updateStrategy", `{"rollingUpdate":{"maxUnavailable":1,"maxSurge":1}}`, "spec.updateStrategy.rollingUpdate.maxSurge Invalid"},
		{"statefulset", "metadata.name", `"a.b"`, "metadata.name Invalid"},
		{"deployment", "metadata.name", `"a.b"`, ""},
		{"statefulset", "spec.podManagementPolicy", `"X"`, "spec.podManagementPolicy Invalid"},
		{"statefulset", "spec.updateStrategy", `{"type":"X"}`, "spec.updateStrategy Invalid"},

		{"job", "spec.podFailurePolicy", `{"rules":[{"action":"FailJob"}]}`, "spec.podFailurePolicy.rules[0] Invalid"},
		{"job", "spec.podFailurePolicy", `{"rules":[{"action":"FailIndex","onExitCodes":{"operator":"In","values":[2,1,0]}}]}`,
			"spec.podFailurePolicy.rules[0].action Invalid; spec.podFailurePolicy.rules[0].onExitCodes.values Invalid; spec.podFailurePolicy.rules[0].onExitCodes.values[2] Invalid"},
		{"job", "spec.maxFailedIndexes", `1`, "spec.backoffLimitPerIndex Required; spec.maxFailedIndexes Invalid"},
		{"job-indexed", "spec.successPolicy", `{"rules":[{"succeededIndexes":"0-9"}]}`, "spec.successPolicy.rules[0].succeededIndexes Invalid"},
		{"job-indexed", "spec.successPolicy", `{"rules":[{"succeededIndexes":"0,2","succeededCount":1}]}`, ""},
		{"job-indexed", "metadata.name", `"a.b"`, "metadata.name Invalid"},
		{"cronjob", "metadata.name", `"` + strings.Repeat("a", 53) + `"`, "metadata.name Invalid"},
		{"cronjob", "spec.schedule", `"@hourly"`, ""},
		{"cronjob", "spec.concurrencyPolicy", `"X"`, "spec.concurrencyPolicy NotSupported"},
		{"cronjob", "spec.jobTemplate.spec.selector", `{"matchLabels":{"a":"b"}}`, "spec.jobTemplate.spec.selector Invalid"},
		{"cronjob", "spec.jobTemplate.spec.manualSelector", `true`, "spec.jobTemplate.spec.manualSelector NotSupported"},

		{"service", "spec.clusterIPs", `["None","10.96.0.1"]`, "spec.clusterIPs Invalid"},
		{"service-loadbalancer", "spec.ports", `[{"port":10250}]`, "spec.ports[0] Invalid"},
		{"service-loadbalancer", "spec.loadBalancerClass", `"A b"`, "spec.loadBalancerClass Invalid"},
		{"service", "spec.loadBalancerClass", `"a.test/x"`, "spec.loadBalancerClass Forbidden"},
		{"service", "spec.allocateLoadBalancerNodePorts", `false`, "spec.allocateLoadBalancerNodePorts Forbidden"},
		{"service-affinity", "spec.sessionAffinityConfig", `{"clientIP":{"timeoutSeconds":86401}}`, "spec.sessionAffinityConfig.clientIP.timeoutSeconds Invalid"},
		{"service", "spec.externalIPs", `["169.254.1.1"]`, "spec.externalIPs[0] Invalid"},
		{"service", "metadata.name", `"a.b"`, "metadata.name Invalid"},
		{"service", "spec.ipFamilies", `["IPv6"]`, "spec.clusterIPs[0] Invalid"},

		{"ingress", "spec.rules.0.http.paths.0.backend", `{}`, "spec.rules[0].http.paths[0].backend Invalid"},
		{"ingress", "spec.rules.0.http.paths", `[]`, "spec.rules[0].http.paths Required"},
		{"ingress", "spec.rules", `[]`, "spec Invalid"},
		{"ingress-classes", "spec.ingressClassName", `"c"`, "annotations.kubernetes.io/ingress.class Invalid"},
		{"ingress-classes", "metadata.annotations", `{"kubernetes.io/ingress.class":"d"}`, ""},
		{"flowschema", "spec.rules.0.resourceRules.0.verbs", `["get","deletecollection","proxy"]`, ""},
		{"flowschema", "spec.rules.0.resourceRules.0.verbs", `["get","foo"]`, "spec.rules[0].resourceRules[0].verbs NotSupported"},
		{"flowschema", "spec.rules.0.resourceRules.0.verbs", `["*","foo"]`, "spec.rules[0].resourceRules[0].verbs Invalid"},
		{"flowschema", "spec.rules.0.nonResourceRules", `[{"verbs":["head"],"nonResourceURLs":["*"]}]`, "spec.rules[0].nonResourceRules[0].verbs NotSupported"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"1.2.3"},"w":{"version":"10.0.0-rc.1+a-b.01"},"x":{"version":"0.0.0--"}}`, ""},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"v1.2.3"}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"1.2"}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"01.2.3"}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"1.2.3-01"}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"1.2.3-a..b"}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"1.2.3+ü"}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":""}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"networkpolicy", "spec.egress", `[{"to":[{}]}]`, "spec.egress[0].to[0] Required"},
		{"networkpolicy", "spec.ingress", `[{"ports":[{"endPort":9}]}]`, "spec.ingress[0].ports[0].endPort Invalid"},
		{"pv", "spec.storageClassName", `"A_"`, "spec.storageClassName Invalid"},
		{"pv", "spec.nfs", `{"server":"s","path":"/p"}`, "spec.nfs Forbidden"},
		{"pv", "spec.volumeAttributesClassName", `"x"`, "spec.csi Required"},
		{"pvc", "spec.resources.requests", `{"storage":"0"}`, "spec.resources[storage] Invalid"},
		{"pvc", "spec.dataSourceRef", `{"kind":"Pod","name":"p"}`, "spec.dataSourceRef Invalid"},
		{"resourcequota", "spec.hard", `{"nope":"1"}`, "spec.hard[nope] Invalid"},
		{"resourcequota", "spec.hard", `{"count/widgets.a.test":"1"}`, ""},
		{"resourcequota", "spec.scopeSelector", `{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In"}]}`, "spec.scopeSelector.matchExpressions.values Required"},
		{"limitrange", "spec.limits", `[{"type":"Pod","default":{"cpu":"1"}}]`, "spec.limits[0].default Forbidden"},
		{"limitrange", "spec.limits", `[{"type":"PersistentVolumeClaim","max":{"cpu":"1"}}]`, "spec.limits[0].limits Required"},
		{"node", "spec.taints", `[{"key":"k","value":"a b","effect":"NoSchedule"}]`, "metadata.taints[0].value Invalid"},
		{"hpa-v2", "spec.metrics", `[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":5}},"pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1"}}}]`, "spec.metrics[0].pods Forbidden"},
		{"hpa-v2", "spec.metrics", `[{"type":"External","external":{"metric":{"name":"m"},"target":{"type":"Value"}}}]`, "spec.metrics[0].external.target.averageValue Required"},
		{"pdb", "spec.minAvailable", `"50"`, "spec.minAvailable Invalid"},
		{"rolebinding", "roleRef.apiGroup", `"x"`, "roleRef.apiGroup NotSupported"},
		{"role", "metadata.name", `"system:a:b"`, ""},
		{"crd", "spec.versions.0.schema.openAPIV3Schema.properties.metadata", `{"type":"object","properties":{"labels":{"type":"object"}}}`, "spec.validation.openAPIV3Schema.properties[metadata] Forbidden"},
		{"crd", "spec.versions.0.schema.openAPIV3Schema.properties.l", `{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]}`,
			"spec.validation.openAPIV3Schema.properties[l].items.properties[k].default Required"},
		{"crd", "spec.versions.0.schema.openAPIV3Schema.anyOf", `[{"properties":{"nope":{"minimum":1}}}]`, "spec.validation.openAPIV3Schema.properties[nope] Required"},
		{"crd", "spec.versions.0.additionalPrinterColumns", `[{"name":"A","type":"x","jsonPath":".a"}]`, "spec.additionalPrinterColumns[0].type Invalid"},
		{"crd", "spec.conversion", `{"strategy":"None","webhook":{"conversionReviewVersions":["v1"]}}`, "spec.conversion.conversionReviewVersions Forbidden"},
	} {
		t.Run(fmt.Sprintf("%d %s %s", i, c.base, c.field), func(t *testing.T) {
			e, ok := base[c.base]
			require.True(t, ok)
			obj, info := prepared(t, s, edit(t, e.Request, []change{{c.field, json.RawMessage(c.value)}}), e.Path)
			errs := validateCreate(obj, info)
			require.Equal(t, findings(c.want), foundSet(errs), "%s", errs)
		})
	}
}

func TestUpdateRules(t *testing.T) {
	s := serverScheme(t)
	base := baseObjects(t)
	gated := change{"spec.schedulingGates", json.RawMessage(`[{"name":"a.test/g"}]`)}
	bound := change{"status", json.RawMessage(`{"phase":"Bound","capacity":{"storage":"1Gi"}}`)}
	for i, c := range []struct {
		setup []change
		alter
	}{
		{nil, alter{"pod", "spec.containers.0.image", `"app:2"`, ""}},
		{nil, alter{"pod", "spec.activeDeadlineSeconds", `10`, ""}},
		{[]change{{"spec.activeDeadlineSeconds", json.RawMessage("10")}}, alter{"pod", "spec.activeDeadlineSeconds", `20`, "spec.activeDeadlineSeconds Invalid"}},
		{[]change{{"spec.activeDeadlineSeconds", json.RawMessage("10")}}, alter{"pod", "spec.activeDeadlineSeconds", `"<deleted>"`, "spec.activeDeadlineSeconds Invalid"}},
		{nil, alter{"pod", "spec.tolerations", `[{"key":"k","operator":"Exists"}]`, ""}},
		{[]change{{"spec.tolerations", json.RawMessage(`[{"key":"k","operator":"Exists"}]`)}}, alter{"pod", "spec.tolerations", `[]`, "spec.tolerations Forbidden"}},
		{nil, alter{"pod", "spec.nodeSelector", `{"a":"b"}`, "spec Forbidden"}},
		{[]change{gated}, alter{"pod", "spec.nodeSelector", `{"a":"b"}`, ""}},
		{[]change{gated}, alter{"pod", "spec.schedulingGates", `[]`, ""}},
		{[]change{gated}, alter{"pod", "spec.schedulingGates", `[{"name":"a.test/h"}]`, "spec.schedulingGates[0] Forbidden"}},
		{[]change{gated, {"spec.nodeSelector", json.RawMessage(`{"a":"b"}`)}}, alter{"pod", "spec.nodeSelector", `{"a":"c"}`, "spec.nodeSelector Invalid"}},
		{nil, alter{"service", "spec.ports", `[{"port":81}]`, ""}},
		{nil, alter{"service", "spec.type", `"NodePort"`, ""}},
		{nil, alter{"service", "spec.clusterIP", `"None"`, "spec.clusterIPs[0] Invalid"}},
		{[]change{bound}, alter{"pvc", "spec.resources.requests", `{"storage":"2Gi"}`, ""}},
		{[]change{bound}, alter{"pvc", "spec.resources.requests", `{"storage":"512Mi"}`, "spec.resources.requests.storage Forbidden"}},
		{nil, alter{"pvc", "spec.resources.requests", `{"storage":"2Gi"}`, "spec Forbidden"}},
		{nil, alter{"pvc", "spec.volumeName", `"v"`, ""}},
		{[]change{{"spec.volumeName", json.RawMessage(`"v"`)}}, alter{"pvc", "spec.volumeName", `"w"`, "spec Forbidden"}},
		{nil, alter{"statefulset", "spec.replicas", `5`, ""}},
		{nil, alter{"job", "spec.parallelism", `5`, ""}},
		{nil, alter{"job", "spec.suspend", `true`, ""}},
		{[]change{{"spec.suspend", json.RawMessage("true")}}, alter{"job", "spec.template.spec.nodeSelector", `{"a":"b"}`, ""}},
		{nil, alter{"job", "spec.template.spec.nodeSelector", `{"a":"b"}`, "spec.template Invalid"}},
		{nil, alter{"resourcequota", "spec.scopes", `["NotTerminating"]`, "spec.scopes Invalid"}},
		{nil, alter{"node", "spec.podCIDR", `"10.0.0.0/24"`, ""}},
		{[]change{{"spec.podCIDR", json.RawMessage(`"10.0.0.0/24"`)}}, alter{"node", "spec.podCIDRs", `["10.0.1.0/24"]`, ""}},
		{[]change{{"spec.providerID", json.RawMessage(`"a"`)}}, alter{"node", "spec.providerID", `"b"`, "spec.providerID Forbidden"}},
		{nil, alter{"crd", "spec.versions.0.schema.openAPIV3Schema.properties.x", `{"type":"string"}`, ""}},
		{nil, alter{"event-v1", "reason", `"other"`, "reason Invalid"}},
		{nil, alter{"deployment", "metadata.name", `"z"`, "metadata.name Invalid"}},
		{nil, alter{"deployment", "metadata.uid", `"z"`, "metadata.uid Invalid"}},
	} {
		t.Run(fmt.Sprintf("%d %s %s", i, c.base, c.field), func(t *testing.T) {
			e := base[c.base]
			if c.base == "event-v1" {
				e.Path = "/apis/events.k8s.io/v1/namespaces/default/events"
				e.Request = []byte(`{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e"},"eventTime":"2020-01-01T00:00:00.000000Z","type":"Normal","reason":"R","action":"A","reportingController":"a.test/c","reportingInstance":"i","regarding":{"kind":"Pod","name":"p","namespace":"default"}}`)
			}
			require.NotNil(t, e.Request)
			old, info := prepared(t, s, edit(t, e.Request, c.setup), e.Path)
			metav1.MetaOf(old).ResourceVersion = "7"
			stored, err := codec.Marshal(old)
			require.NoError(t, err)
			obj, _, err := decode(s, edit(t, stored, []change{{c.field, json.RawMessage(c.value)}}))
			require.NoError(t, err)
			if info.Rules.Default != nil {
				info.Rules.Default(obj)
			}
			carryOver(metav1.MetaOf(obj), metav1.MetaOf(old))
			if svc, ok := obj.(*corev1.Service); ok {
				corev1.NormalizeService(svc, old.(*corev1.Service))
			}
			errs := metav1.ValidateMetaUpdate(metav1.MetaOf(obj), metav1.MetaOf(old), validation.NewPath("metadata"))
			errs = append(errs, info.Rules.ValidateUpdate(obj, old)...)
			require.Equal(t, findings(c.want), foundSet(errs), "%s", errs)
		})
	}
}

func TestEveryStoredKindHasRules(t *testing.T) {
	s := serverScheme(t)
	plain := map[string]bool{"ServiceAccount": true, "ComponentStatus": true} // nothing to check beyond metadata
	for _, info := range s.All() {
		if !info.HasVerb("update") || plain[info.GVK.Kind] {
			continue
		}
		require.NotNil(t, info.Rules.Validate, info.GVK)
		require.NotNil(t, info.Rules.ValidateUpdate, info.GVK)
		free := map[string]bool{"PersistentVolume": true, "CronJob": true, "ServiceCIDR": true} // their status has no rules
		if _, ok := info.Subresource("status"); ok && !free[info.GVK.Kind] {
			require.NotNil(t, info.Rules.ValidateStatus, info.GVK)
		}
	}
	// The shared scheme of clients stays without.
	for _, info := range api.Scheme().All() {
		require.Nil(t, info.Rules.Validate, info.GVK)
		require.Nil(t, info.Rules.Default, info.GVK)
	}
}
