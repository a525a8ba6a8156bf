package builtin_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiserverinternalv1alpha1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1alpha3"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1beta2"
	"github.com/keelson-dev/keelson/apimachinery/api/storagemigrationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/attachdetach"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// readIn is read in a namespace, empty for objects that are in none.
func readIn[T any, P interface {
	*T
	metav1.Object
}](c *controllertest.Cluster, namespace, name string) P {
	o, err := client.For[P](c.Conn()).Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return nil
	}
	return o
}

func otherNode(c *controllertest.Cluster, i int) { createNode(c, fmt.Sprint("other-", i)) }

func createNode(c *controllertest.Cluster, name string) {
	controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", name)})
}

// driverVolume is a volume of a driver that is bound to a claim.
func driverVolume(name string, claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	v := diskVolume(name)
	v.Spec.HostPath, v.Spec.CSI = nil, &corev1.CSIPersistentVolumeSource{Driver: "example.com", VolumeHandle: name}
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	return v
}

// attached reports whether there is an attachment of a volume.
func attached(c *controllertest.Cluster, volume string) bool {
	for _, a := range controllertest.List[*storagev1.VolumeAttachment](c, "") {
		if name := a.Spec.Source.PersistentVolumeName; name != nil && *name == volume {
			return true
		}
	}
	return false
}

// clusterWidths are the changes of controllers of storage, nodes, certificates and of what a cluster has.
var clusterWidths = []width{
	{controller: "namespace-controller", other: otherConfigMap,
		change: func(c *controllertest.Cluster, i int) {
			name := fmt.Sprint("web-", i)
			createNamespaces(c, name)
			controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name(name, "x")})
			controllertest.Delete[*corev1.Namespace](c, "", name)
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return readIn[corev1.Namespace](c, "", fmt.Sprint("web-", i)) == nil
		}},
	{controller: "persistentvolume-binder-controller", other: otherClaim,
		change: func(c *controllertest.Cluster, i int) {
			controllertest.Create(c, diskVolume(fmt.Sprint("disk-", i)))
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", fmt.Sprint("data-", i)), Spec: claimSpec()}
			claim.Spec.StorageClassName = new("disk")
			controllertest.Create(c, claim)
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return read[corev1.PersistentVolumeClaim](c, fmt.Sprint("data-", i)).Status.Phase == corev1.ClaimBound
		}},
	{controller: "persistentvolume-attach-detach-controller", other: otherClaim,
		before: func(c *controllertest.Cluster) {
			n := &corev1.Node{ObjectMeta: controllertest.Name("", "node-1")}
			n.Annotations = map[string]string{attachdetach.ManagedAnnotation: "true"}
			controllertest.Create(c, n)
		},
		change: func(c *controllertest.Cluster, i int) {
			disk, data := fmt.Sprint("disk-", i), fmt.Sprint("data-", i)
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", data), Spec: claimSpec()}
			claim.Spec.VolumeName = disk
			claim = controllertest.Create(c, claim)
			controllertest.Create(c, driverVolume(disk, claim))
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", fmt.Sprint("web-", i)), Spec: podTemplate().Spec}
			p.Spec.NodeName = "node-1"
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: data}}}}
			controllertest.Create(c, p)
		},
		followed: func(c *controllertest.Cluster, i int) bool { return attached(c, fmt.Sprint("disk-", i)) }},
	{controller: "persistentvolume-protection-controller",
		other: func(c *controllertest.Cluster, i int) { controllertest.Create(c, diskVolume(fmt.Sprint("other-", i))) },
		change: func(c *controllertest.Cluster, _ int) {
			controllertest.Create(c, diskVolume("web"))
			controllertest.Delete[*corev1.PersistentVolume](c, "", "web")
		},
		followed: func(c *controllertest.Cluster, _ int) bool {
			return readIn[corev1.PersistentVolume](c, "", "web") == nil
		}},
	{controller: "volumeattributesclass-protection-controller",
		other: func(c *controllertest.Cluster, i int) {
			spec := claimSpec()
			spec.VolumeAttributesClassName = new("used")
			controllertest.Create(c, &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i)), Spec: spec})
		},
		change: func(c *controllertest.Cluster, _ int) {
			controllertest.Create(c, &storagev1.VolumeAttributesClass{ObjectMeta: controllertest.Name("", "web"), DriverName: "example.com", Parameters: map[string]string{"iops": "100"}})
			controllertest.Delete[*storagev1.VolumeAttributesClass](c, "", "web")
		},
		followed: func(c *controllertest.Cluster, _ int) bool {
			return readIn[storagev1.VolumeAttributesClass](c, "", "web") == nil
		}},
	{controller: "node-ipam-controller", other: otherNode,
		change: func(c *controllertest.Cluster, i int) { createNode(c, fmt.Sprint("web-", i)) },
		followed: func(c *controllertest.Cluster, i int) bool {
			return len(readIn[corev1.Node](c, "", fmt.Sprint("web-", i)).Spec.PodCIDRs) == 1
		}},
	{controller: "ttl-controller", other: otherNode,
		change: func(c *controllertest.Cluster, i int) { createNode(c, fmt.Sprint("web-", i)) },
		followed: func(c *controllertest.Cluster, i int) bool {
			return len(readIn[corev1.Node](c, "", fmt.Sprint("web-", i)).Annotations) == 1
		}},
	{controller: "taint-eviction-controller",
		before: func(c *controllertest.Cluster) {
			createNode(c, "node-1")
			controllertest.Update(c, "", "node-1", func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoExecute}}
			})
		},
		change: func(c *controllertest.Cluster, i int) {
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", fmt.Sprint("web-", i)), Spec: podTemplate().Spec}
			p.Spec.NodeName = "node-1"
			controllertest.Create(c, p)
		},
		followed: func(c *controllertest.Cluster, i int) bool { return leaves[corev1.Pod](c, fmt.Sprint("web-", i)) }},
	{controller: "device-taint-eviction-controller", other: otherDeviceClaim,
		before: func(c *controllertest.Cluster) {
			r := &resourcev1beta2.DeviceTaintRule{ObjectMeta: controllertest.Name("", "broken")}
			r.Spec.DeviceSelector = &resourcev1beta2.DeviceTaintSelector{Driver: new("example.com"), Pool: new("a")}
			r.Spec.Taint = resourcev1.DeviceTaint{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoExecute}
			controllertest.Create(c, r)
		},
		change: func(c *controllertest.Cluster, i int) {
			createDeviceUser(c, fmt.Sprint("web-", i))
		},
		followed: func(c *controllertest.Cluster, i int) bool { return leaves[corev1.Pod](c, fmt.Sprint("web-", i)) }},
	{controller: "resourcepoolstatusrequest-controller", other: otherDeviceClaim,
		before: func(c *controllertest.Cluster) {
			s := &resourcev1.ResourceSlice{ObjectMeta: controllertest.Name("", "gpus")}
			s.Spec.Driver, s.Spec.AllNodes, s.Spec.Devices = "example.com", new(true), []resourcev1.Device{{Name: "gpu-0"}}
			s.Spec.Pool = resourcev1.ResourcePool{Name: "a", Generation: 1, ResourceSliceCount: 1}
			controllertest.Create(c, s)
		},
		change: func(c *controllertest.Cluster, i int) {
			controllertest.Create(c, &resourcev1alpha3.ResourcePoolStatusRequest{ObjectMeta: controllertest.Name("", fmt.Sprint("web-", i)), Spec: resourcev1alpha3.ResourcePoolStatusRequestSpec{Driver: "example.com"}})
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return readIn[resourcev1alpha3.ResourcePoolStatusRequest](c, "", fmt.Sprint("web-", i)).Status != nil
		}},
	{controller: "bootstrap-signer-controller", other: otherSecret,
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, bootstrapToken("aaaaaa", ""))
			controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("kube-public", "cluster-info")})
		},
		change: func(c *controllertest.Cluster, i int) {
			controllertest.Update(c, "kube-public", "cluster-info", func(m *corev1.ConfigMap) { m.Data = map[string]string{"kubeconfig": fmt.Sprint("text ", i)} })
		},
		followed: func(c *controllertest.Cluster, _ int) bool {
			return readIn[corev1.ConfigMap](c, "kube-public", "cluster-info").Data["jws-kubeconfig-aaaaaa"] != ""
		}},
	{controller: "token-cleaner-controller", other: otherSecret,
		change: func(c *controllertest.Cluster, _ int) {
			controllertest.Create(c, bootstrapToken("aaaaaa", "1999-01-01T00:00:00Z"))
		},
		followed: func(c *controllertest.Cluster, _ int) bool {
			return readIn[corev1.Secret](c, "kube-system", "bootstrap-token-aaaaaa") == nil
		}},
	{controller: "clusterrole-aggregation-controller",
		other: func(c *controllertest.Cluster, i int) {
			controllertest.Create(c, &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", fmt.Sprint("other-", i))})
		},
		before: func(c *controllertest.Cluster) {
			sum := &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", "sum")}
			sum.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"to": "sum"}}}}
			controllertest.Create(c, sum)
			part := &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", "part")}
			part.Labels = map[string]string{"to": "sum"}
			controllertest.Create(c, part)
		},
		change: func(c *controllertest.Cluster, i int) {
			controllertest.Update(c, "", "part", func(r *rbacv1.ClusterRole) {
				r.Rules = []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{fmt.Sprint("r", i)}}}
			})
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			rules := readIn[rbacv1.ClusterRole](c, "", "sum").Rules
			return len(rules) == 1 && rules[0].Resources[0] == fmt.Sprint("r", i)
		}},
	{controller: "service-cidr-controller", other: otherService,
		change: func(c *controllertest.Cluster, i int) {
			r := &networkingv1.ServiceCIDR{ObjectMeta: controllertest.Name("", fmt.Sprint("web-", i))}
			r.Spec.CIDRs = []string{fmt.Sprintf("10.250.%d.0/28", i%256)}
			controllertest.Create(c, r)
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return len(readIn[networkingv1.ServiceCIDR](c, "", fmt.Sprint("web-", i)).Status.Conditions) > 0
		}},
	{controller: "certificatesigningrequest-signing-controller",
		other: func(c *controllertest.Cluster, i int) { createKubeletRequest(c, fmt.Sprint("other-", i)) },
		change: func(c *controllertest.Cluster, i int) {
			createKubeletRequest(c, fmt.Sprint("web-", i))
			approve(c, fmt.Sprint("web-", i))
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return len(readIn[certificatesv1.CertificateSigningRequest](c, "", fmt.Sprint("web-", i)).Status.Certificate) > 0
		}},
	{controller: "certificatesigningrequest-approving-controller",
		change: func(c *controllertest.Cluster, i int) { createKubeletRequest(c, fmt.Sprint("web-", i)) },
		followed: func(c *controllertest.Cluster, i int) bool {
			return len(readIn[certificatesv1.CertificateSigningRequest](c, "", fmt.Sprint("web-", i)).Status.Conditions) > 0
		}},
	{controller: "kube-apiserver-serving-clustertrustbundle-publisher-controller",
		change: func(c *controllertest.Cluster, _ int) {
			b := &certificatesv1beta1.ClusterTrustBundle{ObjectMeta: controllertest.Name("", "kubernetes.io:kube-apiserver-serving:web")}
			b.Spec = certificatesv1beta1.ClusterTrustBundleSpec{SignerName: certificates.ServingSigner, TrustBundle: string(rootCA())}
			controllertest.Create(c, b)
		},
		followed: func(c *controllertest.Cluster, _ int) bool {
			for _, b := range controllertest.List[*certificatesv1beta1.ClusterTrustBundle](c, "") {
				if strings.HasSuffix(b.Name, ":web") {
					return false
				}
			}
			return true
		}},
	{controller: "validatingadmissionpolicy-status-controller",
		change: func(c *controllertest.Cluster, i int) {
			p := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: controllertest.Name("", fmt.Sprint("web-", i))}
			rule := admissionregistrationv1.NamedRuleWithOperations{}
			rule.Operations = []admissionregistrationv1.OperationType{"*"}
			rule.APIGroups, rule.APIVersions, rule.Resources = []string{"apps"}, []string{"v1"}, []string{"deployments"}
			p.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule}}
			p.Spec.Validations = []admissionregistrationv1.Validation{{Expression: "object.spec.replicas < 3"}}
			controllertest.Create(c, p)
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return readIn[admissionregistrationv1.ValidatingAdmissionPolicy](c, "", fmt.Sprint("web-", i)).Status.ObservedGeneration == 1
		}},
	{controller: "storageversion-garbage-collector-controller",
		change: func(c *controllertest.Cluster, i int) {
			name := fmt.Sprint("core.r", i)
			controllertest.Create(c, &apiserverinternalv1alpha1.StorageVersion{ObjectMeta: controllertest.Name("", name)})
			controllertest.UpdateStatus(c, "", name, func(v *apiserverinternalv1alpha1.StorageVersion) {
				v.Report(apiserverinternalv1alpha1.ServerStorageVersion{APIServerID: "ended", EncodingVersion: "v1", DecodableVersions: []string{"v1"}}, metav1.Now().Truncated())
			})
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			v := readIn[apiserverinternalv1alpha1.StorageVersion](c, "", fmt.Sprint("core.r", i))
			return v == nil || len(v.Status.StorageVersions) == 0
		}},
	{controller: "storage-version-migrator-controller", other: otherConfigMap,
		change: func(c *controllertest.Cluster, i int) {
			m := &storagemigrationv1beta1.StorageVersionMigration{ObjectMeta: controllertest.Name("", fmt.Sprint("web-", i))}
			m.Spec.Resource = metav1.GroupResource{Resource: "limitranges"}
			controllertest.Create(c, m)
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return readIn[storagemigrationv1beta1.StorageVersionMigration](c, "", fmt.Sprint("web-", i)).Is(storagemigrationv1beta1.MigrationSucceeded)
		}},
}
