package corev1_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// The sources of a projected volume that are about certificates, with these fields, and where they are.
const (
	bundleAt      = "spec.volumes[0].projected.sources[0].clusterTrustBundle"
	certificateAt = "spec.volumes[0].projected.sources[0].podCertificate"
)

func bundleVolume(fields string) string {
	return `[{"name":"a","projected":{"sources":[{"clusterTrustBundle":{"path":"p",` + fields + `}}]}}]`
}

func certificateVolume(fields string) string {
	return `[{"name":"a","projected":{"sources":[{"podCertificate":{` + fields + `,"keyType":"ED25519","keyPath":"k"}}]}}]`
}

func TestCreateRules(t *testing.T) {
	apitest.Create(t, [][4]string{
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
		{"pod", "spec.schedulingGroup", `{"podGroupName":"a.b"}`, ""},
		{"pod", "spec.schedulingGroup", `{}`, "spec.schedulingGroup.podGroupName Invalid"},
		{"pod", "spec.schedulingGroup", `{"podGroupName":"A_"}`, "spec.schedulingGroup.podGroupName Invalid"},
		{"pod", "spec.activeDeadlineSeconds", `0`, "spec.activeDeadlineSeconds Invalid"},
		{"pod", "spec.resources", `{"limits":{"cpu":"1"},"requests":{"cpu":"2"}}`, "spec.resources.requests Invalid"},
		{"pod", "metadata.annotations", `{"controller.kubernetes.io/pod-deletion-cost":"+1"}`, "metadata.annotations[controller.kubernetes.io/pod-deletion-cost] Invalid"},

		{"service", "spec.clusterIPs", `["None","10.96.0.1"]`, "spec.clusterIPs Invalid"},
		{"service-loadbalancer", "spec.ports", `[{"port":10250}]`, "spec.ports[0] Invalid"},
		{"service-loadbalancer", "spec.loadBalancerClass", `"A b"`, "spec.loadBalancerClass Invalid"},
		{"service", "spec.loadBalancerClass", `"a.test/x"`, "spec.loadBalancerClass Forbidden"},
		{"service", "spec.allocateLoadBalancerNodePorts", `false`, "spec.allocateLoadBalancerNodePorts Forbidden"},
		{"service-affinity", "spec.sessionAffinityConfig", `{"clientIP":{"timeoutSeconds":86401}}`, "spec.sessionAffinityConfig.clientIP.timeoutSeconds Invalid"},
		{"service", "spec.externalIPs", `["169.254.1.1"]`, "spec.externalIPs[0] Invalid"},
		{"service", "metadata.name", `"a.b"`, "metadata.name Invalid"},
		{"service", "spec.ipFamilies", `["IPv6"]`, "spec.clusterIPs[0] Invalid"},

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
		// Of two sources the one that is looked at later is too many, under a name of its own sometimes.
		{"pod", "spec.volumes", `[{"name":"a","configMap":{"name":"m"},"cephfs":{"monitors":["m"]}}]`, "spec.volumes[0].configMap Forbidden"},
		{"pod", "spec.volumes", `[{"name":"a","secret":{"secretName":"s"},"cephfs":{"monitors":["m"]}}]`, "spec.volumes[0].cephFS Forbidden"},
		{"pod", "spec.volumes", `[{"name":"a","secret":{"secretName":"s"},"downwardAPI":{}}]`, "spec.volumes[0].downwarAPI Forbidden"},
		{"pod", "spec.volumes", `[{"name":"a","projected":{"sources":[{"secret":{},"configMap":{}}]}}]`,
			"spec.volumes[0].projected.sources[0].secret.name Required; spec.volumes[0].projected.sources[0].configMap.name Required; spec.volumes[0].projected.sources[0] Forbidden"},
		{"pod", "spec.volumes", `[{"name":"a","projected":{"sources":[{}]}}]`, ""},
		{"pod", "spec.volumes", bundleVolume(`"name":"plain"`), ""},
		{"pod", "spec.volumes", bundleVolume(`"name":"a.test:boats:v1"`), ""},
		{"pod", "spec.volumes", bundleVolume(`"signerName":"a.test/boats"`), ""},
		{"pod", "spec.volumes", bundleVolume(`"signerName":"a.test/boats","labelSelector":{"matchLabels":{"a":"b"}},"optional":true`), ""},
		{"pod", "spec.volumes", bundleVolume(`"name":"a.test:boats:V1"`), bundleAt + ".name Invalid"},
		{"pod", "spec.volumes", bundleVolume(`"name":"a:"`), bundleAt + ".name Invalid"},
		{"pod", "spec.volumes", bundleVolume(`"name":"a","labelSelector":{}`), bundleAt + ".labelSelector Invalid"},
		{"pod", "spec.volumes", bundleVolume(`"name":"a","signerName":"a.test/boats"`), bundleAt + " Invalid"},
		{"pod", "spec.volumes", bundleVolume(`"signerName":"boats"`), bundleAt + ".signerName Invalid"},
		{"pod", "spec.volumes", bundleVolume(`"signerName":"a.test/boats","labelSelector":{"matchLabels":{"a":"b c"}}`), bundleAt + ".labelSelector.matchLabels Invalid"},
		{"pod", "spec.volumes", certificateVolume(`"signerName":"a.test/boats","maxExpirationSeconds":7862400,"userAnnotations":{"A.test/X":"y"}`), ""},
		{"pod", "spec.volumes", certificateVolume(`"signerName":"a.test/boats","maxExpirationSeconds":7862401`), certificateAt + ".maxExpirationSeconds Invalid"},
		{"pod", "spec.volumes", certificateVolume(`"signerName":"a.test/boats","maxExpirationSeconds":3599`), certificateAt + ".maxExpirationSeconds Invalid"},
		{"pod", "spec.volumes", certificateVolume(`"signerName":"kubernetes.io/boats","maxExpirationSeconds":86401`), certificateAt + ".maxExpirationSeconds Invalid"},
		{"pod", "spec.volumes", certificateVolume(`"signerName":"a.test/boats","userAnnotations":{"x":"y"}`), certificateAt + ".userAnnotations Invalid"},
		{"pod", "spec.volumes", certificateVolume(`"signerName":"boats"`), certificateAt + ".signerName Invalid"},
		{"pod", "spec.volumes", strings.Replace(certificateVolume(`"signerName":"a.test/boats"`), `"keyPath":"k"`, `"keyPath":"../k"`, 1), certificateAt + ".keyPath Invalid"},
		{"pod", "spec.volumes", strings.Replace(certificateVolume(`"signerName":"a.test/boats"`), `,"keyPath":"k"`, ``, 1), certificateAt + " Required"},
		{"pod", "spec.volumes", strings.Replace(certificateVolume(`"signerName":"a.test/boats"`), `ED25519`, `RSA2048`, 1), certificateAt + ".keyType NotSupported"},
		{"pod", "spec.containers.0.volumeDevices", `[{},{}]`, "spec.containers[0].volumeDevices[0].name Required; spec.containers[0].volumeDevices[0].name NotFound; " +
			"spec.containers[0].volumeDevices[0].devicePath Required; spec.containers[0].volumeDevices[1].name Required; spec.containers[0].volumeDevices[1].name NotFound; " +
			"spec.containers[0].volumeDevices[1].devicePath Required; spec.containers[0].volumeDevices[1].devicePath Invalid"},
		{"pod", "spec.containers.0.resources", `{"claims":[{}]}`, "spec.containers[0].resources.claims[0] Required"},
		{"pod", "spec.containers.0.restartPolicyRules", `[{"exitCodes":{}}]`, "spec.containers[0].restartPolicy Required; " +
			"spec.containers[0].restartPolicyRules[0].action NotSupported; spec.containers[0].restartPolicyRules[0].exitCodes.operator NotSupported"},
		{"pod", "spec.containers.0.securityContext", `{"appArmorProfile":{"type":"X","localhostProfile":"a"}}`, "spec.containers[0].securityContext.appArmorProfile.type NotSupported"},
		{"pod", "spec.tolerations", `[{"key":"a","operator":"Gt","value":"5"}]`, "spec.tolerations[0].operator NotSupported"},
		{"pod", "spec.containers.0.resources", `{"claims":[{"name":"x","request":"A B"}]}`,
			"spec.containers[0].resources.claims[0] NotFound; spec.containers[0].resources.claims[0].request Invalid"},
		{"pod", "spec.containers.0.resizePolicy", `[{"resourceName":"cpu","restartPolicy":"NotRequired"},{"resourceName":"cpu","restartPolicy":"NotRequired"}]`, "spec.containers[0].resizePolicy[1] Duplicate"},
		{"pod", "spec.volumes", `[{},{},{"name":"A B","emptyDir":{}},{"name":"A B","emptyDir":{}}]`,
			"spec.volumes[0].name Required; spec.volumes[1].name Required; spec.volumes[2].name Invalid; spec.volumes[3].name Invalid"},
		{"pod", "spec.volumes", `[{"name":"a","azureDisk":{"diskName":"a","diskURI":"x"}}]`, "spec.volumes[0].azureDisk.diskURI NotSupported"},
		{"pod", "spec.hostAliases", `[{"ip":"01.2.3.4"}]`, "spec.hostAliases[0].ip Invalid"},
		{"pod", "spec.topologySpreadConstraints", `[{"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule","maxSkew":1,"labelSelector":{}},{"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule","maxSkew":1,"labelSelector":{}}]`,
			"spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable} Duplicate"},
		{"endpoints", "subsets.0.addresses.0.ip", `"::ffff:1.2.3.4"`, "subsets[0].addresses[0].ip Invalid"},
		{"node", "spec.podCIDRs", `["10.0.0.1/8"]`, "spec.podCIDRs[0] Invalid"},
		{"service", "spec.externalIPs", `["01.2.3.4"]`, "spec.externalIPs[0] Invalid"},
		{"service-loadbalancer", "spec.loadBalancerSourceRanges", `["10.0.0.1/8"]`, "spec.LoadBalancerSourceRanges[0] Invalid"},
		{"pv", "spec.accessModes", `["ReadWriteOncePod","ReadWriteOncePod"]`, ""},
		{"pv-iscsi", "spec.iscsi.secretRef", `{}`, "spec.iscsi.secretRef.name Required"},
		{"pv-iscsi", "spec.iscsi.initiatorName", `"x"`, "spec.iscsi.initiatorname Invalid"},
		{"pv-iscsi", "spec.iscsi.initiatorName", `"eui.0123456789abcdef"`, ""},
		{"pv-iscsi", "spec.iscsi.iqn", `"iqn.2001-04.a"`, "spec.iscsi.iqn Invalid"},
		{"pv-iscsi", "spec.flexVolume", `{"driver":"a/b"}`, ""},
		{"replicationcontroller", "metadata.generateName", `"Bad"`, ""},
		{"replicationcontroller", "metadata.generateName", `"a/b"`, "metadata.generateName Invalid"},
		{"limitrange", "spec.limits", `[{"type":"Pod"},{"type":"Pod","max":{"abc":"1"}}]`, "spec.limits[1].type Duplicate; spec.limits[1].max[abc] Invalid"},
		{"resourcequota", "spec.scopeSelector", `{"matchExpressions":[{"scopeName":"X","operator":"In","values":["a"]}]}`, "spec.scopeSelector.matchExpressions.scopeName Invalid"},
		{"node", "spec.podCIDRs", `["10.0.0.0/8","10.0.0.0/9"]`, "spec.podCIDRs Invalid"},
	})
}

func TestUpdateRules(t *testing.T) {
	gated := [2]string{"spec.schedulingGates", `[{"name":"a.test/g"}]`}
	bound := [2]string{"status", `{"phase":"Bound","capacity":{"storage":"1Gi"}}`}
	apitest.Update(t, []apitest.Updated{
		{Alter: [4]string{"pod", "spec.containers.0.image", `"app:2"`, ""}},
		{Alter: [4]string{"pod", "spec.activeDeadlineSeconds", `10`, ""}},
		{Setup: [][2]string{{"spec.activeDeadlineSeconds", "10"}}, Alter: [4]string{"pod", "spec.activeDeadlineSeconds", `20`, "spec.activeDeadlineSeconds Invalid"}},
		{Setup: [][2]string{{"spec.activeDeadlineSeconds", "10"}}, Alter: [4]string{"pod", "spec.activeDeadlineSeconds", `"<deleted>"`, "spec.activeDeadlineSeconds Invalid"}},
		{Alter: [4]string{"pod", "spec.tolerations", `[{"key":"k","operator":"Exists"}]`, ""}},
		{Setup: [][2]string{{"spec.tolerations", `[{"key":"k","operator":"Exists"}]`}}, Alter: [4]string{"pod", "spec.tolerations", `[]`, "spec.tolerations Forbidden"}},
		{Alter: [4]string{"pod", "spec.nodeSelector", `{"a":"b"}`, "spec Forbidden"}},
		{Setup: [][2]string{gated}, Alter: [4]string{"pod", "spec.nodeSelector", `{"a":"b"}`, ""}},
		{Setup: [][2]string{gated}, Alter: [4]string{"pod", "spec.schedulingGates", `[]`, ""}},
		{Setup: [][2]string{gated}, Alter: [4]string{"pod", "spec.schedulingGates", `[{"name":"a.test/h"}]`, "spec.schedulingGates[0] Forbidden"}},
		{Setup: [][2]string{gated, {"spec.nodeSelector", `{"a":"b"}`}}, Alter: [4]string{"pod", "spec.nodeSelector", `{"a":"c"}`, "spec.nodeSelector Invalid"}},
		{Alter: [4]string{"service", "spec.ports", `[{"port":81}]`, ""}},
		{Alter: [4]string{"service", "spec.type", `"NodePort"`, ""}},
		{Alter: [4]string{"service", "spec.clusterIP", `"None"`, "spec.clusterIPs[0] Invalid"}},
		{Setup: [][2]string{bound}, Alter: [4]string{"pvc", "spec.resources.requests", `{"storage":"2Gi"}`, ""}},
		{Setup: [][2]string{bound}, Alter: [4]string{"pvc", "spec.resources.requests", `{"storage":"512Mi"}`, "spec.resources.requests.storage Forbidden"}},
		{Alter: [4]string{"pvc", "spec.resources.requests", `{"storage":"2Gi"}`, "spec Forbidden"}},
		{Alter: [4]string{"pvc", "spec.volumeName", `"v"`, ""}},
		{Setup: [][2]string{{"spec.volumeName", `"v"`}}, Alter: [4]string{"pvc", "spec.volumeName", `"w"`, "spec Forbidden"}},
		{Alter: [4]string{"resourcequota", "spec.scopes", `["NotTerminating"]`, "spec.scopes Invalid"}},
		{Alter: [4]string{"node", "spec.podCIDR", `"10.0.0.0/24"`, ""}},
		{Setup: [][2]string{{"spec.podCIDR", `"10.0.0.0/24"`}}, Alter: [4]string{"node", "spec.podCIDRs", `["10.0.1.0/24"]`, ""}},
		{Setup: [][2]string{{"spec.providerID", `"a"`}}, Alter: [4]string{"node", "spec.providerID", `"b"`, "spec.providerID Forbidden"}},
	})
}

// TestOldAddressesMayStay checks that addresses which are not written as new ones must be do not stand in the
// way of other changes.
func TestOldAddressesMayStay(t *testing.T) {
	endpoints := func(ip string) *corev1.Endpoints {
		return &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: ip}}}}}
	}
	require.Len(t, corev1.ValidateEndpoints(endpoints("01.2.3.4")), 1)
	require.Empty(t, corev1.ValidateEndpointsUpdate(endpoints("01.2.3.4"), endpoints("01.2.3.4")))
	require.Len(t, corev1.ValidateEndpointsUpdate(endpoints("01.2.3.5"), endpoints("01.2.3.4")), 1)

	node := func(cidr string) *corev1.Node { return &corev1.Node{Spec: corev1.NodeSpec{PodCIDRs: []string{cidr}}} }
	require.Len(t, corev1.ValidateNode(node("10.0.0.1/8")), 1)
	require.Empty(t, corev1.ValidateNodeUpdate(node("10.0.0.1/8"), node("10.0.0.1/8")))
}

func TestPodResize(t *testing.T) {
	s := apitest.Scheme(t)
	body := apitest.Edit(t, apitest.Base(t)["pod"].Request, []apitest.Change{{Field: "spec.containers.0.resources", Value: json.RawMessage(`{"requests":{"cpu":"1"}}`)}})
	load := func(changes ...apitest.Change) *corev1.Pod {
		obj, _ := apitest.Prepared(t, s, apitest.Edit(t, body, changes), "/api/v1/namespaces/default/pods")
		return obj.(*corev1.Pod)
	}
	old := load()
	bigger := apitest.Change{Field: "spec.containers.0.resources", Value: json.RawMessage(`{"requests":{"cpu":"2"}}`)}
	require.Empty(t, corev1.ValidatePodResize(load(bigger), old))
	image := apitest.Change{Field: "spec.containers.0.image", Value: json.RawMessage(`"b:1"`)}
	require.Equal(t, []string{"spec FieldValueForbidden"}, apitest.Found(corev1.ValidatePodResize(load(bigger, image), old)))
	guaranteed := apitest.Change{Field: "spec.containers.0.resources", Value: json.RawMessage(`{"limits":{"cpu":"1","memory":"1Gi"}}`)}
	require.Equal(t, corev1.PodQOSGuaranteed, corev1.QOSClass(load(guaranteed)))
	require.Equal(t, []string{"spec FieldValueInvalid"}, apitest.Found(corev1.ValidatePodResize(load(guaranteed), old)))
}

// Cpu and memory of the pod as a whole are resized as those of containers are; what upstream refuses is
// refused at the same field.
func TestPodLevelResize(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for name, v := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
			if v != "" {
				out[name] = resource.MustParse(v)
			}
		}
		return out
	}
	level := func(cpu, memory string) *corev1.ResourceRequirements {
		return &corev1.ResourceRequirements{Requests: list(cpu, memory)}
	}
	always := corev1.ContainerRestartPolicyAlways
	for name, c := range map[string]struct {
		prepare, change func(*corev1.Pod)
		want            []string
	}{
		"more":           {nil, func(p *corev1.Pod) { p.Spec.Resources = level("3", "2Gi") }, nil},
		"less":           {nil, func(p *corev1.Pod) { p.Spec.Resources = level("1", "1Gi") }, nil},
		"memory added":   {func(p *corev1.Pod) { p.Spec.Resources = level("2", "") }, func(p *corev1.Pod) { p.Spec.Resources = level("2", "1Gi") }, nil},
		"limits added":   {nil, func(p *corev1.Pod) { p.Spec.Resources.Limits = list("4", "4Gi") }, nil},
		"level added":    {func(p *corev1.Pod) { p.Spec.Resources = nil }, func(p *corev1.Pod) { p.Spec.Resources = level("2", "") }, nil},
		"removed":        {nil, func(p *corev1.Pod) { p.Spec.Resources = nil }, []string{"spec.resources FieldValueForbidden"}},
		"memory removed": {nil, func(p *corev1.Pod) { p.Spec.Resources = level("2", "") }, []string{"spec.resources.requests FieldValueForbidden"}},
		"huge pages": {nil, func(p *corev1.Pod) {
			p.Spec.Resources.Requests["hugepages-2Mi"], p.Spec.Resources.Limits = resource.MustParse("2Mi"), corev1.ResourceList{"hugepages-2Mi": resource.MustParse("2Mi")}
		}, []string{"spec FieldValueForbidden"}},
		"to guaranteed": {nil, func(p *corev1.Pod) { p.Spec.Resources.Limits = list("2", "1Gi") }, []string{"spec FieldValueInvalid"}},
		"with a container": {nil, func(p *corev1.Pod) {
			p.Spec.Resources = level("3", "2Gi")
			p.Spec.Containers[0].Resources.Requests = list("2", "")
		}, nil},
		"below a container": {nil, func(p *corev1.Pod) { p.Spec.Resources = level("500m", "1Gi") }, []string{"spec.resources.requests[cpu] FieldValueInvalid"}},
		"other image":       {nil, func(p *corev1.Pod) { p.Spec.Resources = level("3", "2Gi"); p.Spec.Containers[0].Image = "b:1" }, []string{"spec FieldValueForbidden"}},
		"renamed":           {nil, func(p *corev1.Pod) { p.Spec.Containers[0].Name = "other" }, []string{"spec.containers[0].name FieldValueForbidden"}},
		"container added": {nil, func(p *corev1.Pod) {
			extra := p.Spec.Containers[0]
			extra.Name = "extra"
			p.Spec.Containers = append(p.Spec.Containers, extra)
		}, []string{"spec.containers FieldValueForbidden"}},
		"static": {func(p *corev1.Pod) {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
			p.Spec.NodeName = "n"
		}, func(p *corev1.Pod) { p.Spec.Resources = level("3", "2Gi") }, []string{"[] FieldValueForbidden"}},
		"windows": {func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }, func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = list("2", "") }, nil},
		"node without": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		}, func(p *corev1.Pod) { p.Spec.Resources = level("3", "2Gi") }, []string{"spec FieldValueForbidden"}},
		"claimed by devices": {func(p *corev1.Pod) {
			p.Status.NodeAllocatableResourceClaimStatuses = make([]corev1.NodeAllocatableResourceClaimStatus, 1)
		}, func(p *corev1.Pod) { p.Spec.Resources = level("3", "2Gi") }, []string{"spec FieldValueForbidden"}},
		"sidecar":        {func(p *corev1.Pod) { sidecar(p, &always) }, func(p *corev1.Pod) { p.Spec.InitContainers[0].Resources.Requests = list("200m", "") }, nil},
		"init container": {func(p *corev1.Pod) { sidecar(p, nil) }, func(p *corev1.Pod) { p.Spec.InitContainers[0].Resources.Requests = list("200m", "") }, nil},
		"policy of resizing": {nil, func(p *corev1.Pod) {
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired}}
		}, []string{"spec FieldValueForbidden"}},
	} {
		t.Run(name, func(t *testing.T) {
			obj, _ := apitest.Prepared(t, apitest.Scheme(t), apitest.Base(t)["pod"].Request, "/api/v1/namespaces/default/pods")
			old := obj.(*corev1.Pod)
			old.Spec.Containers[0].Resources = *level("1", "")
			old.Spec.Resources = level("2", "1Gi")
			if c.prepare != nil {
				c.prepare(old)
			}
			now := codec.DeepCopy(old)
			c.change(now)
			found := apitest.Found(corev1.ValidatePodResize(now, old))
			if name == "windows" {
				require.Contains(t, found, "[] FieldValueForbidden")
				return
			}
			require.ElementsMatch(t, c.want, found)
		})
	}
}

func sidecar(p *corev1.Pod, policy *corev1.ContainerRestartPolicy) {
	extra := p.Spec.Containers[0]
	extra.Name, extra.RestartPolicy = "extra", policy
	extra.Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}}
	p.Spec.InitContainers = []corev1.Container{extra}
}
