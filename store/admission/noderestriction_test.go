package admission_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
)

func nodeUser(name string) *authn.User {
	return &authn.User{Name: "system:node:" + name, Groups: []string{"system:nodes"}}
}

// parsed returns an object of type T from JSON.
func parsed[T metav1.Object](t testing.TB, obj T, text string) T {
	t.Helper()
	require.NoError(t, codec.Unmarshal([]byte(text), obj))
	return obj
}

// nodeWorld has the node mine, a pod on it and one on the node other.
func nodeWorld(t testing.TB) objects {
	claim := func(name, volume string) metav1.Object {
		return parsed(t, &corev1.PersistentVolumeClaim{}, `{"metadata":{"namespace":"ns","name":"`+name+`"},"spec":{"volumeName":"`+volume+`"}}`)
	}
	return objects{
		"nodes": {parsed(t, &corev1.Node{}, `{"metadata":{"name":"mine","uid":"node-uid"}}`)},
		"pods": {parsed(t, &corev1.Pod{}, `{"metadata":{"namespace":"ns","name":"here","uid":"here-uid"},"spec":{"nodeName":"mine","volumes":[
			{"name":"a","projected":{"sources":[{"serviceAccountToken":{"path":"t","audience":""}},{"serviceAccountToken":{"path":"v","audience":"vault"}}]}},
			{"name":"b","csi":{"driver":"csi.inline"}},{"name":"c","persistentVolumeClaim":{"claimName":"claim"}},{"name":"d","ephemeral":{"volumeClaimTemplate":{}}},
			{"name":"e","awsElasticBlockStore":{"volumeID":"v"}},{"name":"f","persistentVolumeClaim":{"claimName":"migrated"}}]}}`),
			parsed(t, &corev1.Pod{}, `{"metadata":{"namespace":"ns","name":"there","uid":"there-uid"},"spec":{"nodeName":"other"}}`),
			parsed(t, &corev1.Pod{}, `{"metadata":{"namespace":"ns","name":"lost","uid":"lost-uid"},"spec":{"nodeName":"mine","volumes":[{"name":"b","csi":{"driver":"unknown"}}]}}`)},
		"persistentvolumeclaims": {claim("claim", "volume"), claim("here-d", "other"), claim("migrated", "disk")},
		"persistentvolumes": {parsed(t, &corev1.PersistentVolume{}, `{"metadata":{"name":"volume"},"spec":{"csi":{"driver":"csi.claimed"}}}`),
			parsed(t, &corev1.PersistentVolume{}, `{"metadata":{"name":"other"},"spec":{"csi":{"driver":"csi.ephemeral"}}}`),
			parsed(t, &corev1.PersistentVolume{}, `{"metadata":{"name":"disk"},"spec":{"gcePersistentDisk":{"pdName":"d"}}}`)},
		"csidrivers": {csiDriver("csi.inline", "inline"), csiDriver("csi.claimed", "claimed"), csiDriver("csi.ephemeral", "ephemeral"), csiDriver("ebs.csi.aws.com", "aws"), csiDriver("pd.csi.storage.gke.io", "gce")},
	}
}

func csiDriver(name, audience string) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: audience}}}}
}

// nodeCase is a request of the node mine. Text is empty if it is allowed.
type nodeCase struct {
	name        string
	op          admission.Operation
	resource    schema.GroupVersionResource
	subresource string
	key         types.NamespacedName // empty: that of the object
	object, old metav1.Object
	text        string
}

func runNodeCases(t *testing.T, p admission.Plugin, cases []nodeCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := admission.Attributes{Operation: c.op, Resource: c.resource, Subresource: c.subresource, Namespace: c.key.Namespace, Name: c.key.Name, Object: c.object, Old: c.old, User: nodeUser("mine")}
			if named := c.object; a.Name == "" && named != nil {
				a.Namespace, a.Name = named.GetNamespace(), named.GetName()
			}
			err := p.(admission.Mutator).Admit(t.Context(), &a)
			if c.text == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.text)
			}
			a.User = &authn.User{Name: "system:node:mine", Groups: []string{"system:authenticated"}}
			require.NoError(t, p.(admission.Mutator).Admit(t.Context(), &a), "who is no node is not restricted")
			a.User = nodeUser("")
			require.ErrorContains(t, p.(admission.Mutator).Admit(t.Context(), &a), `could not determine node from user "system:node:"`)
		})
	}
}

func at(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func TestNodeRestrictionOfNodes(t *testing.T) {
	nodes := corev1.GroupVersion.WithResource("nodes")
	node := func(name, rest string) *corev1.Node {
		return parsed(t, &corev1.Node{}, `{"metadata":{"name":"`+name+`"`+rest)
	}
	old := node("mine", `,"labels":{"node-restriction.kubernetes.io/a":"b","role":"x"},"ownerReferences":[{"name":"o"}]},"spec":{"taints":[{"key":"k","timeAdded":"2026-01-01T00:00:00Z"}],"configSource":{"configMap":{"name":"c"}}}}`)
	changed := func(change func(n *corev1.Node)) *corev1.Node {
		n := codec.DeepCopy(old)
		change(n)
		return n
	}
	labelled := func(pairs ...string) *corev1.Node {
		return changed(func(n *corev1.Node) {
			for i := 0; i < len(pairs); i += 2 {
				n.Labels[pairs[i]] = pairs[i+1]
			}
		})
	}
	runNodeCases(t, plugin(t, "NodeRestriction", nodeWorld(t), admission.Options{}), []nodeCase{
		{name: "create", op: admission.Create, resource: nodes, object: node("mine", `,"labels":{"kubernetes.io/hostname":"mine","node.kubernetes.io/instance-type":"a","x.node.kubernetes.io/a":"b","kubelet.kubernetes.io/a":"b","example.com/a":"b","plain":"c","topology.kubernetes.io/zone":"z"}},"spec":{"taints":[{"key":"k"}]}}`)},
		{name: "create another", op: admission.Create, resource: nodes, object: node("other", `}}`), text: `nodes "other" is forbidden: node "mine" is not allowed to modify node "other"`},
		{name: "create without a name", op: admission.Create, resource: nodes, object: node("", `,"generateName":"m"}}`), text: `node "mine" is not allowed to modify node ""`},
		{name: "create with a configuration source", op: admission.Create, resource: nodes, object: node("mine", `},"spec":{"configSource":{}}}`), text: "is not allowed to create pods with a non-nil configSource"},
		{name: "create with forbidden labels", op: admission.Create, resource: nodes, object: node("mine", `,"labels":{"node-restriction.kubernetes.io/a":"b","x.node-restriction.kubernetes.io/a":"b","node-role.kubernetes.io/control-plane":"","k8s.io/a":"b","x.k8s.io/a":"b","kubernetes.io/role":"r"}}}`),
			text: `node "mine" is not allowed to set the following labels: k8s.io/a, kubernetes.io/role, node-restriction.kubernetes.io/a, node-role.kubernetes.io/control-plane, x.k8s.io/a, x.node-restriction.kubernetes.io/a`},
		{name: "update", op: admission.Update, resource: nodes, old: old, object: labelled("role", "y")},
		{name: "update another", op: admission.Update, resource: nodes, old: node("other", `}}`), object: node("other", `}}`), text: `is not allowed to modify node "other"`},
		{name: "status of another", op: admission.Update, resource: nodes, subresource: "status", old: node("other", `}}`), object: node("other", `}}`), text: `is not allowed to modify node "other"`},
		{name: "status", op: admission.Update, resource: nodes, subresource: "status", old: old, object: changed(func(n *corev1.Node) { n.Status.Phase = "Running" })},
		{name: "the configuration source is dropped", op: admission.Update, resource: nodes, old: old, object: changed(func(n *corev1.Node) { n.Spec.ConfigSource = nil })},
		{name: "the configuration source changes", op: admission.Update, resource: nodes, old: old, object: changed(func(n *corev1.Node) { n.Spec.ConfigSource.ConfigMap.Name = "d" }), text: "is not allowed to update configSource to a new non-nil configSource"},
		{name: "taints", op: admission.Update, resource: nodes, old: old, object: changed(func(n *corev1.Node) { n.Spec.Taints = nil }), text: "is not allowed to modify taints"},
		{name: "owners", op: admission.Update, resource: nodes, old: old, object: changed(func(n *corev1.Node) { n.OwnerReferences = nil }), text: "is not allowed to modify ownerReferences"},
		{name: "no owners before", op: admission.Update, resource: nodes, old: node("mine", `}}`), object: node("mine", `,"ownerReferences":[]}}`)},
		{name: "a label is set", op: admission.Update, resource: nodes, old: old, object: labelled("node-role.kubernetes.io/a", "b", "node-restriction.kubernetes.io/a", "c"), text: "is not allowed to modify labels: node-restriction.kubernetes.io/a, node-role.kubernetes.io/a"},
		{name: "a label is removed", op: admission.Update, resource: nodes, old: old, object: changed(func(n *corev1.Node) { n.Labels = nil }), text: "is not allowed to modify labels: node-restriction.kubernetes.io/a"},
		{name: "delete", op: admission.Delete, resource: nodes, key: at("", "mine"), old: old},
		{name: "delete another", op: admission.Delete, resource: nodes, key: at("", "other"), text: `is not allowed to modify node "other"`},
	})
}

func TestNodeRestrictionOfPods(t *testing.T) {
	const head = `{"metadata":{"namespace":"ns","name":"m","annotations":{"kubernetes.io/config.mirror":"x"},"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"mine","uid":"node-uid","controller":true}]},"spec":{"nodeName":"mine"`
	mirror := func(rest string, replace ...string) *corev1.Pod {
		return parsed(t, &corev1.Pod{}, strings.NewReplacer(replace...).Replace(head+rest))
	}
	world := nodeWorld(t)
	here, there := world["pods"][0].(*corev1.Pod), world["pods"][1].(*corev1.Pod)
	changed := func(change func(p *corev1.Pod)) *corev1.Pod {
		p := codec.DeepCopy(here)
		change(p)
		return p
	}
	cases := []nodeCase{
		{name: "mirror pod", op: admission.Create, resource: pods, object: mirror(`,"volumes":[{"name":"h","hostPath":{"path":"/"}},{"name":"d","projected":{"sources":[{"downwardAPI":{}}]}}]}}`)},
		{name: "ordinary pod", op: admission.Create, resource: pods, object: mirror(`}}`, "config.mirror", "config.hash"), text: `pods "m" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "mine" can only create mirror pods`},
		{name: "of another node", op: admission.Create, resource: pods, object: mirror(`}}`, `"nodeName":"mine"`, `"nodeName":"other"`), text: "can only create pods with spec.nodeName set to itself"},
		{name: "without an owner", op: admission.Create, resource: pods, object: mirror(`}}`, "ownerReferences", "ignored"), text: "can only create pods with an owner reference set to itself"},
		{name: "with two owners", op: admission.Create, resource: pods, object: mirror(`}}`, `"controller":true}`, `"controller":true},{}`), text: "can only create pods with a single owner reference set to itself"},
		{name: "another node's", op: admission.Create, resource: pods, object: mirror(`}}`, `"name":"mine"`, `"name":"other"`), text: "can only create pods with an owner reference set to itself"},
		{name: "another kind's", op: admission.Create, resource: pods, object: mirror(`}}`, `"kind":"Node"`, `"kind":"Lease"`), text: "can only create pods with an owner reference set to itself"},
		{name: "not controlled", op: admission.Create, resource: pods, object: mirror(`}}`, `"controller":true`, `"controller":false`), text: "can only create pods with a controller owner reference set to itself"},
		{name: "blocks the deletion", op: admission.Create, resource: pods, object: mirror(`}}`, `"controller":true`, `"controller":true,"blockOwnerDeletion":true`), text: "must not set blockOwnerDeletion on an owner reference"},
		{name: "another incarnation's", op: admission.Create, resource: pods, object: mirror(`}}`, "node-uid", "other-uid"), text: "node mine UID mismatch: expected other-uid got node-uid"},
		{name: "update", op: admission.Update, resource: pods, object: here, old: here, text: `unexpected operation "UPDATE", node "mine" can only create and delete mirror pods`},
		{name: "delete", op: admission.Delete, resource: pods, key: at("ns", "here"), old: here},
		{name: "delete another's", op: admission.Delete, resource: pods, key: at("ns", "there"), old: there, text: `node "mine" can only delete pods with spec.nodeName set to itself`},
		{name: "delete a missing one", op: admission.Delete, resource: pods, key: at("ns", "none"), text: `pods "none" not found`},
		{name: "status", op: admission.Update, resource: pods, subresource: "status", old: here, object: changed(func(p *corev1.Pod) { p.Status.Phase = "Running" })},
		{name: "another's status", op: admission.Update, resource: pods, subresource: "status", old: there, object: there, text: "can only update pod status for pods with spec.nodeName set to itself"},
		{name: "status with labels", op: admission.Update, resource: pods, subresource: "status", old: here, object: changed(func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }), text: "cannot update labels through pod status"},
		{name: "status with claims", op: admission.Update, resource: pods, subresource: "status", old: here, object: changed(func(p *corev1.Pod) {
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "a", ResourceClaimName: new("b")}}
		}), text: "cannot update resource claim statues"},
		{name: "status with an extended claim", op: admission.Update, resource: pods, subresource: "status", old: here, object: changed(func(p *corev1.Pod) { p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{} }), text: "cannot update extended resource claim status"},
		{name: "create of status", op: admission.Create, resource: pods, subresource: "status", object: here, text: `unexpected operation "CREATE"`},
		{name: "evict", op: admission.Create, resource: pods, subresource: "eviction", key: at("ns", "here"), object: &policyv1.Eviction{}},
		{name: "evict another's", op: admission.Create, resource: pods, subresource: "eviction", key: at("ns", "there"), object: &policyv1.Eviction{}, text: "node mine can only evict pods with spec.nodeName set to itself"},
		{name: "evict a missing one", op: admission.Create, resource: pods, subresource: "eviction", key: at("ns", "none"), object: &policyv1.Eviction{}, text: `pods "none" not found`},
		{name: "evict nothing", op: admission.Create, resource: pods, subresource: "eviction", object: &policyv1.Eviction{}, text: "could not determine pod from request data"},
		{name: "bind", op: admission.Create, resource: pods, subresource: "binding", key: at("ns", "here"), text: `unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`},
		{name: "debug", op: admission.Update, resource: pods, subresource: "ephemeralcontainers", object: here, old: here, text: `unexpected pod subresource "ephemeralcontainers"`},
	}
	for spec, resource := range map[string]string{
		`"serviceAccountName":"a"`: "serviceaccounts", `"imagePullSecrets":[{"name":"a"}]`: "secrets", `"resourceClaims":[{"name":"a"}]`: "resourceclaims",
		`"initContainers":[{"envFrom":[{"secretRef":{"name":"a"}}]}]`:                        "secrets",
		`"containers":[{"env":[{"name":"a","valueFrom":{"secretKeyRef":{"name":"a"}}}]}]`:    "secrets",
		`"containers":[{"env":[{"name":"a","valueFrom":{"configMapKeyRef":{"name":"a"}}}]}]`: "configmaps",
		`"containers":[{"envFrom":[{"configMapRef":{"name":"a"}}]}]`:                         "configmaps",
	} {
		cases = append(cases, nodeCase{name: "with " + spec, op: admission.Create, resource: pods, object: mirror("," + spec + "}}"), text: `node "mine" can not create pods that reference ` + resource})
	}
	for volume, text := range map[string]string{
		`"configMap":{}`: "configmaps (via configmap volumes)", `"secret":{}`: "secrets (via secret volumes)", `"csi":{"driver":"d"}`: "csidrivers (via CSI volumes)",
		`"glusterfs":{}`: "endpoints (via glusterFS volumes)", `"persistentVolumeClaim":{}`: "persistentvolumeclaims", `"ephemeral":{}`: "persistentvolumeclaims (via ephemeral volumes)",
		`"azureFile":{}`: "secrets (via azureFile volumes)", `"projected":{"sources":[{"downwardAPI":{}},{"configMap":{}}]}`: "configmaps (via projected volumes)", `"projected":{"sources":[{"secret":{}}]}`: "secrets (via projected volumes)",
		`"projected":{"sources":[{"serviceAccountToken":{}}]}`: "serviceaccounts (via projected volumes)", `"projected":{"sources":[{"clusterTrustBundle":{}}]}`: "clustertrustbundles",
		`"projected":{"sources":[{"podCertificate":{}}]}`: "podcertificates",
	} {
		cases = append(cases, nodeCase{name: "with " + volume, op: admission.Create, resource: pods, object: mirror(`,"volumes":[{"name":"v",` + volume + `}]}}`), text: `node "mine" can not create pods that reference ` + text})
	}
	cases = append(cases,
		nodeCase{name: "with an unknown volume", op: admission.Create, resource: pods, object: mirror(`,"volumes":[{"name":"v"}]}}`), text: `error checking mirror pod for API references: unknown volume type for volume "v"`},
		nodeCase{name: "with an unknown projection", op: admission.Create, resource: pods, object: mirror(`,"volumes":[{"name":"v","projected":{"sources":[{}]}}]}}`), text: `unknown source for projected volume "v"`})
	runNodeCases(t, plugin(t, "NodeRestriction", world, admission.Options{}), cases)
}

func TestNodeRestrictionOfTokens(t *testing.T) {
	accounts := corev1.GroupVersion.WithResource("serviceaccounts")
	request := func(pod, uid string, audiences ...string) *authenticationv1.TokenRequest {
		return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences,
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID(uid)}}}
	}
	secret := request("here", "here-uid")
	secret.Spec.BoundObjectRef.Kind = "Secret"
	token := func(name string, object metav1.Object, text string) nodeCase {
		return nodeCase{name: name, op: admission.Create, resource: accounts, subresource: "token", key: at("ns", "account"), object: object, text: text}
	}
	authorize := func(_ context.Context, u *authn.User, c cel.Check) cel.Decision {
		require.Equal(t, "system:node:mine", u.Name)
		require.Equal(t, cel.Check{Verb: "request-serviceaccounts-token-audience", Namespace: "ns", Resource: c.Resource, Name: "account"}, c)
		switch c.Resource {
		case "granted":
			return cel.Decision{Allowed: true}
		case "broken":
			return cel.Decision{Err: errors.New("down")}
		}
		return cel.Decision{}
	}
	runNodeCases(t, plugin(t, "NodeRestriction", nodeWorld(t), admission.Options{Authorize: authorize}), []nodeCase{
		token("default audience", request("here", "here-uid"), ""),
		token("projected", request("here", "here-uid", "vault"), ""),
		token("inline driver", request("here", "here-uid", "inline"), ""),
		token("driver of a claim", request("here", "here-uid", "claimed"), ""),
		token("driver of an ephemeral claim", request("here", "here-uid", "ephemeral"), ""),
		token("migrated volume", request("here", "here-uid", "aws"), ""),
		token("migrated volume of a claim", request("here", "here-uid", "gce"), ""),
		token("granted", request("here", "here-uid", "granted"), ""),
		token("other audience", request("here", "here-uid", "other"), `audience "other" not found in pod spec volume, system:node:mine is not authorized to request tokens for this audience`),
		token("authorizer fails", request("here", "here-uid", "broken"), `audience "broken" not found in pod spec volume, error authorizing system:node:mine to request tokens for this audience: down`),
		token("two audiences", request("here", "here-uid", "vault", "inline"), "node may only request 0 or 1 audiences"),
		token("unknown driver", request("lost", "lost-uid", "vault"), `error validating audience "vault": csidrivers.storage.k8s.io "unknown" not found`),
		token("not bound", &authenticationv1.TokenRequest{}, `serviceaccounts "account" is forbidden: node requested token not bound to a pod`),
		token("bound to a secret", secret, "node requested token not bound to a pod"),
		token("without a uid", request("here", ""), "node requested token with a pod binding without a uid"),
		token("other uid", request("here", "x"), "the UID in the bound object reference (x) does not match the UID in record."),
		token("pod of another node", request("there", "there-uid"), "node requested token bound to a pod scheduled on a different node"),
		token("missing pod", request("none", "x"), `pods "none" not found`),
		{name: "account", op: admission.Create, resource: accounts, object: &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}},
	})
}

// A node requests certificates for the pods that run on it only, and for what they are.
func TestNodeRestrictionOfPodCertificates(t *testing.T) {
	requests := certificatesv1beta1.GroupVersion.WithResource("podcertificaterequests")
	named := func(namespace, name, uid string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}
	}
	running := func(name, node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: named("ns", name, name+"-uid"), Spec: corev1.PodSpec{NodeName: node, ServiceAccountName: "account"}}
	}
	mirror := running("mirror", "mine")
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: ""}
	orphan := running("orphan", "mine")
	orphan.Spec.ServiceAccountName = "gone"
	world := objects{"nodes": {&corev1.Node{ObjectMeta: named("", "mine", "node-uid")}},
		"pods":            {running("here", "mine"), running("there", "other"), mirror, orphan},
		"serviceaccounts": {&corev1.ServiceAccount{ObjectMeta: named("ns", "account", "account-uid")}}}
	request := func(change func(s *certificatesv1beta1.PodCertificateRequestSpec)) *certificatesv1beta1.PodCertificateRequest {
		r := &certificatesv1beta1.PodCertificateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r"}, Spec: certificatesv1beta1.PodCertificateRequestSpec{
			NodeName: "mine", NodeUID: "node-uid", PodName: "here", PodUID: "here-uid", ServiceAccountName: "account", ServiceAccountUID: "account-uid"}}
		change(&r.Spec)
		return r
	}
	type spec = certificatesv1beta1.PodCertificateRequestSpec
	of := func(name, text string, change func(s *spec)) nodeCase {
		return nodeCase{name: name, op: admission.Create, resource: requests, key: at("ns", "r"), object: request(change), text: text}
	}
	plain := request(func(*spec) {})
	runNodeCases(t, plugin(t, "NodeRestriction", world, admission.Options{}), []nodeCase{
		of("own pod", "", func(*spec) {}),
		of("other node", `PodCertificateRequest.Spec.NodeName="other", which is not the requesting node "mine"`, func(s *spec) { s.NodeName = "other" }),
		of("other node uid", `names node UID "x", inconsistent with the running node ("node-uid")`, func(s *spec) { s.NodeUID = "x" }),
		of("missing pod", `while retrieving pod "ns/none" named in the PodCertificateRequest`, func(s *spec) { s.PodName = "none" }),
		of("other pod uid", `contains pod UID ("x") which differs from running pod "here-uid"`, func(s *spec) { s.PodUID = "x" }),
		of("pod of another node", `pod "ns/there" is not running on node "mine"`, func(s *spec) { s.PodName, s.PodUID = "there", "there-uid" }),
		of("mirror pod", `pod "ns/mirror" is a mirror pod`, func(s *spec) { s.PodName, s.PodUID = "mirror", "mirror-uid" }),
		of("other account", `contains serviceAccountName ("x") that differs from running pod ("account")`, func(s *spec) { s.ServiceAccountName = "x" }),
		of("missing account", `while retrieving service account "ns/gone"`, func(s *spec) { s.PodName, s.PodUID, s.ServiceAccountName = "orphan", "orphan-uid", "gone" }),
		of("other account uid", `names service account UID "x", which differs from the running service account ("account-uid")`, func(s *spec) { s.ServiceAccountUID = "x" }),
		{name: "update", op: admission.Update, resource: requests, key: at("ns", "r"), object: plain, old: plain, text: "unexpected operation UPDATE"},
		{name: "subresource", op: admission.Create, resource: requests, subresource: "status", key: at("ns", "r"), object: plain, text: "unexpected subresource status"},
	})
}

func TestNodeRestrictionOfOtherObjects(t *testing.T) {
	leases, csiNodes := coordinationv1.GroupVersion.WithResource("leases"), storagev1.GroupVersion.WithResource("csinodes")
	slices, requests := resourcev1.GroupVersion.WithResource("resourceslices"), certificatesv1.GroupVersion.WithResource("certificatesigningrequests")
	claims := corev1.GroupVersion.WithResource("persistentvolumeclaims")
	lease := func(namespace, name string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	csiNode := func(name string) *storagev1.CSINode {
		return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	slice := func(node *string) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{NodeName: node}}
	}
	csr := func(signer, name string) *certificatesv1.CertificateSigningRequest {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
		require.NoError(t, err)
		return &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: signer,
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})}}
	}
	garbled := csr("kubernetes.io/kubelet-serving", "x")
	garbled.Spec.Request = []byte("garbled")
	claim := parsed(t, &corev1.PersistentVolumeClaim{}, `{"metadata":{"namespace":"ns","name":"c","resourceVersion":"1"},"spec":{"volumeName":"v"},"status":{"phase":"Bound"}}`)
	resized := parsed(t, &corev1.PersistentVolumeClaim{}, `{"metadata":{"namespace":"ns","name":"c","managedFields":[{"manager":"m"}]},"spec":{"volumeName":"v"},"status":{"phase":"Bound","capacity":{"storage":"2Gi"},
		"conditions":[{"type":"FileSystemResizePending"}],"allocatedResources":{"storage":"2Gi"},"allocatedResourceStatuses":{"storage":"NodeResizePending"}}}`)
	relabelled := codec.DeepCopy(claim)
	relabelled.Labels = map[string]string{"a": "b"}
	lost := codec.DeepCopy(claim)
	lost.Status.Phase = "Lost"
	runNodeCases(t, plugin(t, "NodeRestriction", nodeWorld(t), admission.Options{}), []nodeCase{
		{name: "lease", op: admission.Create, resource: leases, object: lease("kube-node-lease", "mine")},
		{name: "another's lease", op: admission.Update, resource: leases, object: lease("kube-node-lease", "other"), old: lease("kube-node-lease", "other"), text: "can only access node lease with the same name as the requesting node"},
		{name: "deletion of another's lease", op: admission.Delete, resource: leases, key: at("kube-node-lease", "other"), text: "can only access node lease with the same name as the requesting node"},
		{name: "lease elsewhere", op: admission.Create, resource: leases, object: lease("kube-system", "mine"), text: `can only access leases in the "kube-node-lease" system namespace`},
		{name: "CSINode", op: admission.Create, resource: csiNodes, object: csiNode("mine")},
		{name: "another's CSINode", op: admission.Create, resource: csiNodes, object: csiNode("other"), text: "can only access CSINode with the same name as the requesting node"},
		{name: "deletion of another's CSINode", op: admission.Delete, resource: csiNodes, key: at("", "other"), text: "can only access CSINode with the same name as the requesting node"},
		{name: "slice", op: admission.Create, resource: slices, object: slice(new("mine"))},
		{name: "slice of no node", op: admission.Create, resource: slices, object: slice(nil), text: "can only create ResourceSlice with the same NodeName as the requesting node"},
		{name: "slice of another", op: admission.Create, resource: slices, object: slice(new("other")), text: "can only create ResourceSlice with the same NodeName as the requesting node"},
		{name: "update of a slice", op: admission.Update, resource: slices, object: slice(new("other")), old: slice(new("other"))},
		{name: "deletion of a slice", op: admission.Delete, resource: slices, key: at("", "s"), old: slice(new("mine"))},
		{name: "deletion of another's slice", op: admission.Delete, resource: slices, key: at("", "s"), old: slice(new("other")), text: "can only delete ResourceSlice with the same NodeName as the requesting node"},
		{name: "request", op: admission.Create, resource: requests, object: csr("kubernetes.io/kubelet-serving", "system:node:mine")},
		{name: "request for another", op: admission.Create, resource: requests, object: csr("kubernetes.io/kube-apiserver-client-kubelet", "system:node:other"), text: "can only create a node CSR with CN=system:node:mine"},
		{name: "request to another signer", op: admission.Create, resource: requests, object: csr("example.com/signer", "anyone")},
		{name: "garbled request", op: admission.Create, resource: requests, object: garbled, text: "unable to parse csr: PEM block type must be CERTIFICATE REQUEST"},
		{name: "update of a request", op: admission.Update, resource: requests, object: garbled, old: garbled},
		{name: "claim", op: admission.Update, resource: claims, object: claim, old: claim, text: "may only update PVC status"},
		{name: "resized claim", op: admission.Update, resource: claims, subresource: "status", object: resized, old: claim},
		{name: "relabelled claim", op: admission.Update, resource: claims, subresource: "status", object: relabelled, old: claim, text: `node "mine" is not allowed to update fields other than status.quantity and status.conditions`},
		{name: "lost claim", op: admission.Update, resource: claims, subresource: "status", object: lost, old: claim, text: "is not allowed to update fields other than"},
	})
}
