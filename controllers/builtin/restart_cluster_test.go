package builtin_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/api/storagemigrationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// clusterRestarts are the histories of the controllers that keep a cluster in order: accounts, certificates,
// policies, nodes, and what is no longer needed.
var clusterRestarts = []restart{
	{controller: "serviceaccount-controller",
		before: func(c *controllertest.Cluster) { createNamespaces(c, "a", "b") },
		after:  func(c *controllertest.Cluster) { controllertest.Delete[*corev1.ServiceAccount](c, "a", "default") },
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "a", func(*corev1.ServiceAccount) any { return "a" }), list(c, "b", func(*corev1.ServiceAccount) any { return "b" })...)
		}},
	{controller: "root-ca-certificate-publisher-controller",
		before: func(c *controllertest.Cluster) { createNamespaces(c, "a", "b") },
		after: func(c *controllertest.Cluster) {
			controllertest.Update(c, "a", "kube-root-ca.crt", func(m *corev1.ConfigMap) { m.Data = nil })
		},
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "a", func(m *corev1.ConfigMap) any { return len(m.Data) }), list(c, "b", func(m *corev1.ConfigMap) any { return len(m.Data) })...)
		}},
	{controller: "legacy-serviceaccount-token-cleaner-controller", long: true,
		before: func(c *controllertest.Cluster) {
			robot := &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "robot")}
			for _, name := range []string{"a", "b"} {
				robot.Secrets = append(robot.Secrets, corev1.ObjectReference{Name: name})
			}
			robot = controllertest.Create(c, robot)
			for _, name := range []string{"a", "b", "of-a-user"} {
				s := &corev1.Secret{ObjectMeta: controllertest.Name("default", name), Type: corev1.SecretTypeServiceAccountToken}
				s.Annotations = map[string]string{corev1.ServiceAccountNameKey: "robot", corev1.ServiceAccountUIDKey: string(robot.UID)}
				s.Data = map[string][]byte{"token": []byte("text")}
				controllertest.Create(c, s)
			}
			c.Sleep(50 * time.Hour)
		},
		after: func(c *controllertest.Cluster) { c.Sleep(50 * time.Hour) },
		state: func(c *controllertest.Cluster) []string {
			return list(c, "default", func(s *corev1.Secret) any { return len(s.Labels) })
		}},
	{controller: "clusterrole-aggregation-controller",
		before: func(c *controllertest.Cluster) {
			sum := &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", "sum")}
			sum.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"to": "sum"}}}}
			controllertest.Create(c, sum)
			for _, resource := range []string{"pods", "nodes"} {
				part := &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", resource)}
				part.Labels = map[string]string{"to": "sum"}
				part.Rules = []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{resource}}}
				controllertest.Create(c, part)
			}
		},
		after: func(c *controllertest.Cluster) { controllertest.Delete[*rbacv1.ClusterRole](c, "", "nodes") },
		state: func(c *controllertest.Cluster) []string {
			return []string{fmt.Sprint(controllertest.Get[*rbacv1.ClusterRole](c, "", "sum").Rules)}
		}},
	{controller: "certificatesigningrequest-approving-controller",
		before: func(c *controllertest.Cluster) { createKubeletRequest(c, "a"); createKubeletRequest(c, "b") },
		state:  requestState},
	{controller: "certificatesigningrequest-signing-controller",
		before: func(c *controllertest.Cluster) {
			for _, name := range []string{"a", "b"} {
				createKubeletRequest(c, name)
				approve(c, name)
			}
		},
		state: requestState},
	{controller: "certificatesigningrequest-cleaner-controller",
		before: func(c *controllertest.Cluster) {
			for _, name := range []string{"a", "b"} {
				createKubeletRequest(c, name)
				approve(c, name)
			}
			createKubeletRequest(c, "pending")
			c.Sleep(time.Hour)
		},
		state: requestState},
	{controller: "validatingadmissionpolicy-status-controller",
		before: func(c *controllertest.Cluster) {
			for name, expression := range map[string]string{"fine": "object.spec.replicas < 3", "wrong": "object.spec.replcas < 3"} {
				p := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: controllertest.Name("", name)}
				rule := admissionregistrationv1.NamedRuleWithOperations{}
				rule.Operations = []admissionregistrationv1.OperationType{"*"}
				rule.APIGroups, rule.APIVersions, rule.Resources = []string{"apps"}, []string{"v1"}, []string{"deployments"}
				p.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule}}
				p.Spec.Validations = []admissionregistrationv1.Validation{{Expression: expression}}
				controllertest.Create(c, p)
			}
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "", func(p *admissionregistrationv1.ValidatingAdmissionPolicy) any {
				return fmt.Sprint(p.Status.ObservedGeneration, len(p.Status.TypeChecking.ExpressionWarnings))
			})
		}},
	{controller: "service-cidr-controller",
		before: func(c *controllertest.Cluster) {
			for name, cidr := range map[string]string{"more": "10.250.0.0/28", "used": "10.251.0.0/28"} {
				controllertest.Create(c, &networkingv1.ServiceCIDR{ObjectMeta: controllertest.Name("", name), Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{cidr}}})
			}
		},
		after: func(c *controllertest.Cluster) {
			s := webService(nil)
			s.Spec.ClusterIP = "10.251.0.3"
			controllertest.Create(c, s)
			controllertest.Delete[*networkingv1.ServiceCIDR](c, "", "more")
			controllertest.Delete[*networkingv1.ServiceCIDR](c, "", "used")
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "", func(r *networkingv1.ServiceCIDR) any { return r.Status.Conditions[0].Status })
		}},
	{controller: "resourcequota-controller",
		before: func(c *controllertest.Cluster) {
			for _, name := range []string{"a", "b"} {
				q := &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", name)}
				q.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3"), "count/configmaps": resource.MustParse("3")}
				controllertest.Create(c, q)
			}
			runningPod(c, "web", "10.0.0.1")
		},
		after: func(c *controllertest.Cluster) { controllertest.Delete[*corev1.Pod](c, "default", "web") },
		state: func(c *controllertest.Cluster) []string {
			return list(c, "default", func(q *corev1.ResourceQuota) any {
				used := q.Status.Used[corev1.ResourcePods]
				return fmt.Sprint(used.String(), len(q.Status.Used), len(q.Status.Hard))
			})
		}},
	{controller: "disruption-controller",
		before: func(c *controllertest.Cluster) {
			b := &policyv1.PodDisruptionBudget{ObjectMeta: controllertest.Name("default", "web")}
			b.Spec.MinAvailable, b.Spec.Selector = new(intstr.FromInt32(1)), &metav1.LabelSelector{MatchLabels: podTemplate().Labels}
			controllertest.Create(c, b)
			runningPod(c, "a", "10.0.0.1")
		},
		after: func(c *controllertest.Cluster) { runningPod(c, "b", "10.0.0.2") },
		state: func(c *controllertest.Cluster) []string {
			return list(c, "default", func(b *policyv1.PodDisruptionBudget) any {
				return fmt.Sprint(b.Status.CurrentHealthy, b.Status.DesiredHealthy, b.Status.DisruptionsAllowed, b.Status.ExpectedPods)
			})
		}},
	{controller: "namespace-controller",
		before: func(c *controllertest.Cluster) {
			createNamespaces(c, "a", "b")
			controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("a", "x")})
			held := &corev1.Secret{ObjectMeta: controllertest.Name("b", "held")}
			held.Finalizers = []string{"example.com/held"}
			controllertest.Create(c, held)
		},
		after: func(c *controllertest.Cluster) {
			controllertest.Delete[*corev1.Namespace](c, "", "a")
			controllertest.Delete[*corev1.Namespace](c, "", "b")
		},
		state: func(c *controllertest.Cluster) []string {
			out := list(c, "", func(n *corev1.Namespace) any { return len(n.Status.Conditions) })
			return append(append(out, list(c, "a", func(*corev1.ConfigMap) any { return "" })...), list(c, "b", func(s *corev1.Secret) any { return s.Finalizers })...)
		}},
	{controller: "garbage-collector-controller",
		before: func(c *controllertest.Cluster) {
			for _, owner := range []string{"background", "foreground", "orphan"} {
				o := controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", owner)})
				m := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", owner+"-1")}
				m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner, UID: o.UID, BlockOwnerDeletion: new(true)}}
				controllertest.Create(c, m)
			}
		},
		after: func(c *controllertest.Cluster) {
			for name, policy := range map[string]metav1.DeletionPropagation{"background": metav1.DeletePropagationBackground, "foreground": metav1.DeletePropagationForeground, "orphan": metav1.DeletePropagationOrphan} {
				controllertest.Delete[*corev1.ConfigMap](c, "default", name, client.DeleteOptions{PropagationPolicy: policy})
			}
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "default", func(m *corev1.ConfigMap) any { return m.Finalizers })
		}},
	{controller: "pod-garbage-collector-controller",
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "node-1")})
			for name, node := range map[string]string{"a": "gone", "b": "gone", "stays": "node-1"} {
				p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name), Spec: podTemplate().Spec}
				p.Spec.NodeName = node
				controllertest.Create(c, p)
			}
			c.Sleep(time.Minute)
		},
		after: func(c *controllertest.Cluster) { c.Sleep(2 * time.Minute) },
		state: func(c *controllertest.Cluster) []string { return list(c, "default", podState) }},
	{controller: "node-lifecycle-controller",
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "node-1")})
			controllertest.UpdateStatus(c, "", "node-1", func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
			})
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "web"), Spec: podTemplate().Spec}
			p.Spec.NodeName = "node-1"
			controllertest.Create(c, p)
			controllertest.UpdateStatus(c, "default", "web", func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			})
		},
		after: func(c *controllertest.Cluster) { c.Sleep(2 * time.Minute) },
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "", func(n *corev1.Node) any {
				var out []string
				for _, t := range n.Spec.Taints {
					out = append(out, t.Key+":"+string(t.Effect))
				}
				slices.Sort(out)
				for i := range n.Status.Conditions {
					out = append(out, string(n.Status.Conditions[i].Type)+"="+string(n.Status.Conditions[i].Status))
				}
				return out
			}), list(c, "default", func(p *corev1.Pod) any { return p.Status.Conditions[0].Status })...)
		}},
	{controller: "taint-eviction-controller",
		before: func(c *controllertest.Cluster) {
			n := &corev1.Node{ObjectMeta: controllertest.Name("", "node-1")}
			controllertest.Create(c, n)
			for i, seconds := range []*int64{nil, new(int64(30)), new(int64(3600))} {
				p := &corev1.Pod{ObjectMeta: controllertest.Name("default", fmt.Sprint("web-", i)), Spec: podTemplate().Spec}
				p.Spec.NodeName = "node-1"
				if seconds != nil {
					p.Spec.Tolerations = []corev1.Toleration{{Key: "broken", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds}}
				}
				controllertest.Create(c, p)
			}
		},
		after: func(c *controllertest.Cluster) {
			controllertest.Update(c, "", "node-1", func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoExecute}}
			})
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "default", func(p *corev1.Pod) any { return len(p.Status.Conditions) })
		}},
	{controller: "storage-version-migrator-controller",
		before: func(c *controllertest.Cluster) {
			for _, name := range []string{"a", "b"} {
				m := &storagemigrationv1beta1.StorageVersionMigration{ObjectMeta: controllertest.Name("", name)}
				m.Spec.Resource = metav1.GroupResource{Resource: "configmaps"}
				controllertest.Create(c, m)
			}
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "", func(m *storagemigrationv1beta1.StorageVersionMigration) any {
				return fmt.Sprint(m.Is(storagemigrationv1beta1.MigrationSucceeded), m.Is(storagemigrationv1beta1.MigrationRunning), m.Is(storagemigrationv1beta1.MigrationFailed))
			})
		}},
	{controller: "podgroup-protection-controller",
		before: func(c *controllertest.Cluster) {
			for _, name := range []string{"free", "used"} {
				createGroup(c, name)
			}
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "web"), Spec: podTemplate().Spec}
			p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("used")}
			controllertest.Create(c, p)
		},
		after: func(c *controllertest.Cluster) {
			controllertest.Delete[*schedulingv1alpha2.PodGroup](c, "default", "free")
			controllertest.Delete[*schedulingv1alpha2.PodGroup](c, "default", "used")
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "default", func(g *schedulingv1alpha2.PodGroup) any { return g.Finalizers })
		}},
	{controller: "persistentvolumeclaim-protection-controller",
		before: func(c *controllertest.Cluster) {
			for _, name := range []string{"free", "used"} {
				controllertest.Create(c, &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", name), Spec: claimSpec()})
				controllertest.Update(c, "default", name, func(p *corev1.PersistentVolumeClaim) { p.Finalizers = nil })
			}
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "web"), Spec: podTemplate().Spec}
			p.Spec.NodeName = "node-1"
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "used"}}}}
			controllertest.Create(c, p)
		},
		after: func(c *controllertest.Cluster) {
			controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", "free")
			controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", "used")
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "default", func(p *corev1.PersistentVolumeClaim) any { return p.Finalizers })
		}},
	{controller: "persistentvolume-protection-controller",
		before: func(c *controllertest.Cluster) {
			for _, name := range []string{"free", "used"} {
				controllertest.Create(c, diskVolume(name))
				controllertest.Update(c, "", name, func(v *corev1.PersistentVolume) { v.Finalizers = nil })
			}
			controllertest.UpdateStatus(c, "", "used", func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeBound })
		},
		after: func(c *controllertest.Cluster) {
			controllertest.Delete[*corev1.PersistentVolume](c, "", "free")
			controllertest.Delete[*corev1.PersistentVolume](c, "", "used")
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "", func(v *corev1.PersistentVolume) any { return v.Finalizers })
		}},
	{controller: "volumeattributesclass-protection-controller",
		before: func(c *controllertest.Cluster) {
			for _, name := range []string{"free", "used"} {
				controllertest.Create(c, &storagev1.VolumeAttributesClass{ObjectMeta: controllertest.Name("", name), DriverName: "example.com", Parameters: map[string]string{"iops": "100"}})
				controllertest.Update(c, "", name, func(v *storagev1.VolumeAttributesClass) { v.Finalizers = nil })
			}
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "data"), Spec: claimSpec()}
			claim.Spec.VolumeAttributesClassName = new("used")
			controllertest.Create(c, claim)
		},
		after: func(c *controllertest.Cluster) {
			controllertest.Delete[*storagev1.VolumeAttributesClass](c, "", "free")
			controllertest.Delete[*storagev1.VolumeAttributesClass](c, "", "used")
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "", func(v *storagev1.VolumeAttributesClass) any { return v.Finalizers })
		}},
}

func createNamespaces(c *controllertest.Cluster, names ...string) {
	for _, name := range names {
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", name)})
	}
}

// createKubeletRequest requests a client certificate for a kubelet.
func createKubeletRequest(c *controllertest.Cluster, name string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		panic(err)
	}
	r := &certificatesv1.CertificateSigningRequest{ObjectMeta: controllertest.Name("", name)}
	r.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	r.Spec.SignerName = certificatesv1.KubeAPIServerClientKubeletSignerName
	r.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	controllertest.Create(c, r)
}

// approve does what kubectl certificate approve does.
func approve(c *controllertest.Cluster, name string) {
	r := controllertest.Get[*certificatesv1.CertificateSigningRequest](c, "", name)
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"})
	api := client.Subresource[*certificatesv1.CertificateSigningRequest](client.For[*certificatesv1.CertificateSigningRequest](c.Admin()), "approval")
	if _, err := api.Update(context.Background(), r.Key(), r); err != nil {
		panic(err)
	}
}

func requestState(c *controllertest.Cluster) []string {
	return list(c, "", func(r *certificatesv1.CertificateSigningRequest) any {
		return fmt.Sprint(len(r.Status.Conditions), len(r.Status.Certificate) > 0)
	})
}
