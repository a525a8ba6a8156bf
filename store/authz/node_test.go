package authz_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

func nodeUser(name string) *authn.User {
	return &authn.User{Name: "system:node:" + name, Groups: []string{authn.GroupNodes, authn.GroupAuthenticated}}
}

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// cluster is the model of a NodeGraph: the objects, searched for each answer.
type cluster map[string]metav1.Object

func (c cluster) set(o metav1.Object) { c[idOf(o)] = o }
func (c cluster) delete(o metav1.Object) {
	delete(c, idOf(o))
}

func idOf(o metav1.Object) string { return fmt.Sprintf("%T %v", o, metav1.KeyOf(o)) }

// needs searches for a way from the node to an object, as get of which it is allowed.
func (c cluster) needs(node, resource, namespace, name string) bool {
	for _, o := range c {
		switch o := o.(type) {
		case *storagev1.VolumeAttachment:
			if resource == "volumeattachments" && o.Name == name && o.Spec.NodeName == node {
				return true
			}
		case *resourcev1.ResourceSlice:
			if resource == "resourceslices" && o.Name == name && o.Spec.NodeName != nil && *o.Spec.NodeName == node {
				return true
			}
		case *corev1.PersistentVolume:
			ref := o.Spec.ClaimRef
			if resource != "persistentvolumes" && resource != "secrets" || ref == nil || !c.needs(node, "persistentvolumeclaims", ref.Namespace, ref.Name) {
				continue
			}
			if resource == "persistentvolumes" && o.Name == name {
				return true
			}
			if s := o.Spec.CSI; resource == "secrets" && s != nil && slices.ContainsFunc([]*corev1.SecretReference{s.NodeStageSecretRef, s.NodePublishSecretRef, s.NodeExpandSecretRef},
				func(r *corev1.SecretReference) bool { return r != nil && r.Namespace == namespace && r.Name == name }) {
				return true
			}
		case *corev1.Pod:
			if o.Spec.NodeName == node && o.Namespace == namespace && slices.Contains(references(o, resource), name) {
				return true
			}
		}
	}
	return false
}

// references are the objects of a resource that a pod refers to.
func references(p *corev1.Pod, resource string) (names []string) {
	if resource == "pods" {
		return []string{p.Name}
	}
	if p.Annotations[corev1.MirrorPodAnnotationKey] != "" {
		return nil
	}
	add := func(r, name string) {
		if r == resource && name != "" {
			names = append(names, name)
		}
	}
	add("serviceaccounts", p.Spec.ServiceAccountName)
	for _, s := range p.Spec.ImagePullSecrets {
		add("secrets", s.Name)
	}
	for _, c := range p.Spec.Containers {
		for _, e := range c.EnvFrom {
			if e.ConfigMapRef != nil {
				add("configmaps", e.ConfigMapRef.Name)
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom.SecretKeyRef != nil {
				add("secrets", e.ValueFrom.SecretKeyRef.Name)
			}
		}
	}
	for _, e := range p.Spec.EphemeralContainers {
		for _, f := range e.EnvFrom {
			add("secrets", f.SecretRef.Name)
		}
	}
	for _, v := range p.Spec.Volumes {
		switch {
		case v.Secret != nil:
			add("secrets", v.Secret.SecretName)
		case v.ConfigMap != nil:
			add("configmaps", v.ConfigMap.Name)
		case v.Projected != nil:
			add("secrets", v.Projected.Sources[0].Secret.Name)
			add("configmaps", v.Projected.Sources[1].ConfigMap.Name)
		case v.PersistentVolumeClaim != nil:
			add("persistentvolumeclaims", v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			add("persistentvolumeclaims", p.Name+"-"+v.Name)
		}
	}
	for _, c := range p.Spec.ResourceClaims {
		if c.ResourceClaimName != nil {
			add("resourceclaims", *c.ResourceClaimName)
		}
		for _, s := range p.Status.ResourceClaimStatuses {
			if c.ResourceClaimName == nil && s.Name == c.Name && s.ResourceClaimName != nil {
				add("resourceclaims", *s.ResourceClaimName)
			}
		}
	}
	return names
}

var (
	nodeNames  = []string{"n1", "n2", "n3"}
	otherNames = []string{"a", "b", "c", "p-v"}
)

// randomNodeObject makes an object of a few names, so that histories replace, move and delete.
func randomNodeObject(r *rand.Rand) metav1.Object {
	name := func() string { return anyOf(r, otherNames...) }
	switch r.IntN(8) {
	case 0:
		pv := &corev1.PersistentVolume{ObjectMeta: objectMeta("", name())}
		if r.IntN(5) > 0 {
			pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: anyOf(r, "ns1", "ns2"), Name: name()}
		}
		secret := func() *corev1.SecretReference {
			return &corev1.SecretReference{Namespace: anyOf(r, "ns1", "ns2"), Name: name()}
		}
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{NodeStageSecretRef: secret(), NodeExpandSecretRef: secret(), ControllerPublishSecretRef: secret()}
		return pv
	case 1:
		return &storagev1.VolumeAttachment{ObjectMeta: objectMeta("", name()), Spec: storagev1.VolumeAttachmentSpec{NodeName: anyOf(r, nodeNames...)}}
	case 2:
		slice := &resourcev1.ResourceSlice{ObjectMeta: objectMeta("", name())}
		if r.IntN(3) > 0 {
			slice.Spec.NodeName = new(anyOf(r, nodeNames...))
		}
		return slice
	}
	p := &corev1.Pod{ObjectMeta: objectMeta(anyOf(r, "ns1", "ns2"), anyOf(r, "p", "q", "r"))}
	p.Spec.NodeName, p.Spec.ServiceAccountName = anyOf(r, "", "n1", "n2", "n3"), name()
	if r.IntN(6) == 0 {
		p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	}
	for range r.IntN(5) {
		switch r.IntN(7) {
		case 0:
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name()}}})
		case 1:
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name()}}})
		case 2:
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}})
		case 3:
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name()}}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name()}}}}}}})
		case 4:
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
				EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name()}}}},
				Env:     []corev1.EnvVar{{ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name()}}}}}})
		case 5:
			p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "x", ResourceClaimName: new(name())}, corev1.PodResourceClaim{Name: "y"})
			if r.IntN(2) == 0 {
				p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "y", ResourceClaimName: new(name())}}
			}
		case 6:
			p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
				EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name()}}}}}})
		}
	}
	return p
}

// TestNodeGraph: after any history of objects coming, changing, moving between nodes and going, each node may
// get what a search of all objects leads to, and nothing else.
func TestNodeGraph(t *testing.T) {
	groups := map[string]string{"volumeattachments": "storage.k8s.io", "resourceslices": "resource.k8s.io", "resourceclaims": "resource.k8s.io"}
	for _, seed := range seeds.Of(t, 60) {
		r := seeds.Stream(seed, 1)
		g, c := &authz.NodeGraph{}, cluster{}
		node := authz.NewNode(g, nil)
		for step := range 60 {
			switch o := randomNodeObject(r); r.IntN(12) {
			case 0, 1, 2:
				g.Delete(o)
				c.delete(o)
			case 3: // a watch begins again, and some objects have gone meanwhile
				g.Begin(o)
				for _, id := range slices.Sorted(maps.Keys(c)) {
					have := c[id]
					if fmt.Sprintf("%T", have) != fmt.Sprintf("%T", o) {
						continue
					}
					if r.IntN(2) == 0 {
						delete(c, id)
					} else {
						g.Set(have)
					}
				}
				g.End(o)
			default:
				g.Set(o)
				c.set(o)
			}
			for _, resourceName := range []string{"pods", "secrets", "configmaps", "serviceaccounts", "persistentvolumeclaims", "persistentvolumes", "resourceclaims", "volumeattachments", "resourceslices"} {
				for _, name := range append([]string{"p", "q", "r", "q-v"}, otherNames...) {
					namespace := anyOf(r, "ns1", "ns2")
					if resourceName == "persistentvolumes" || groups[resourceName] != "" && resourceName != "resourceclaims" {
						namespace = ""
					}
					n := anyOf(r, nodeNames...)
					d, _, err := node.Authorize(t.Context(), resource(nodeUser(n), "get", namespace, groups[resourceName], resourceName, "", name))
					require.NoError(t, err)
					require.Equal(t, c.needs(n, resourceName, namespace, name), d == authz.Allow, "seed %d step %d: %s gets %s %s/%s", seed, step, n, resourceName, namespace, name)
				}
			}
		}
		for _, o := range c {
			g.Delete(o)
		}
		require.Zero(t, g.Len(), "seed %d: an empty cluster leaves nothing behind", seed)
	}
}

// nodeRules are the verbs that the node n1 may use, as Kubernetes decides.
var nodeRules = []struct {
	group, resource, sub, namespace, name string
	allowed                               []string
	selector                              string
	why                                   string // of a refused get
}{
	{"", "secrets", "", "ns", "pull", []string{"get", "list", "watch"}, "", ""},
	{"", "secrets", "", "ns", "other", nil, "", "no relationship found between node 'n1' and this object"},
	{"", "secrets", "", "ns", "", nil, "", "No Object name found"},
	{"", "secrets", "", "", "pull", nil, "", "can only read namespaced object of this type"},
	{"", "serviceaccounts", "", "ns", "robot", []string{"get"}, "", ""},
	{"", "serviceaccounts", "token", "ns", "robot", []string{"create"}, "", "can only create tokens for individual service accounts"},
	{"", "serviceaccounts", "token", "ns", "other", nil, "", "can only create tokens for individual service accounts"},
	{"", "persistentvolumeclaims", "", "ns", "data", []string{"get"}, "", ""},
	{"", "persistentvolumeclaims", "status", "ns", "data", []string{"update", "patch"}, "", "can only get/update/patch this type"},
	{"", "pods", "", "ns", "mine", []string{"get", "list", "watch", "create", "delete"}, "", ""},
	{"", "pods", "", "ns", "other", []string{"create", "delete"}, "", "no relationship found between node 'n1' and this object"},
	{"", "pods", "", "", "", []string{"create", "delete", "list", "watch"}, "spec.nodeName=n1", "No Object name found"},
	{"", "pods", "", "", "", []string{"create", "delete"}, "spec.nodeName!=n1", "No Object name found"},
	{"", "pods", "", "", "", []string{"create", "delete"}, "spec.nodeName=n2", "No Object name found"},
	{"", "pods", "", "", "", []string{"create", "delete"}, "spec.nodeName=n1=", "No Object name found"},
	{"", "pods", "status", "ns", "mine", []string{"update", "patch"}, "", ""},
	{"", "pods", "eviction", "ns", "mine", []string{"create"}, "", ""},
	{"", "pods", "exec", "ns", "mine", nil, "", ""},
	{"", "pods", "ephemeralcontainers", "ns", "mine", nil, "", ""},
	{"", "nodes", "", "", "n1", []string{"get", "list", "watch", "create", "update", "patch"}, "", ""},
	{"", "nodes", "", "", "n2", []string{"create", "update", "patch"}, "", "node 'n1' cannot read 'n2', only its own Node object"},
	{"", "nodes", "", "", "", []string{"create", "update", "patch"}, "", "node 'n1' cannot read all nodes, only its own Node object"},
	{"", "nodes", "status", "", "n1", []string{"update", "patch"}, "", ""},
	{"", "nodes", "proxy", "", "n1", nil, "", ""},
	{"coordination.k8s.io", "leases", "", "kube-node-lease", "n1", []string{"get", "create", "update", "patch", "delete"}, "", ""},
	{"coordination.k8s.io", "leases", "", "kube-node-lease", "n2", []string{"create"}, "", "can only access node lease with the same name as the requesting node"},
	{"coordination.k8s.io", "leases", "", "kube-system", "n1", nil, "", `can only access leases in the "kube-node-lease" system namespace`},
	{"storage.k8s.io", "csinodes", "", "", "n1", []string{"get", "create", "update", "patch", "delete"}, "", ""},
	{"storage.k8s.io", "csinodes", "", "", "n2", []string{"create"}, "", "can only access CSINode with the same name as the requesting node"},
	{"storage.k8s.io", "csinodes", "status", "", "n1", nil, "", "cannot authorize CSINode subresources"},
	{"storage.k8s.io", "csidrivers", "", "", "d", []string{"get", "list", "watch"}, "", ""},
	{"resource.k8s.io", "resourceslices", "", "", "slice", []string{"get", "create", "update", "patch", "delete"}, "", ""},
	{"resource.k8s.io", "resourceslices", "", "", "", []string{"create", "list", "watch", "deletecollection"}, "spec.nodeName=n1", "No Object name found"},
	{"resource.k8s.io", "resourceslices", "", "", "", []string{"create"}, "spec.nodeName=n2", "No Object name found"},
	{"", "configmaps", "", "ns", "c", nil, "", "no relationship found between node 'n1' and this object"},
	{"", "services", "", "", "", []string{"get", "list", "watch"}, "", ""},
	{"", "events", "", "ns", "e", []string{"create", "update", "patch"}, "", ""},
	{"certificates.k8s.io", "certificatesigningrequests", "", "", "c", []string{"get", "list", "watch", "create"}, "", ""},
	{"authentication.k8s.io", "tokenreviews", "", "", "", []string{"create"}, "", ""},
	{"apps", "deployments", "", "ns", "d", nil, "", ""},
	{"apps", "secrets", "", "ns", "pull", nil, "", ""},
}

// Changes of the graph are reported, but not objects that say the same as before or relate to no node.
func TestNodeGraphChanges(t *testing.T) {
	var seen []string
	g := &authz.NodeGraph{Changed: func(change string, took time.Duration) {
		require.GreaterOrEqual(t, took, time.Duration(0))
		seen = append(seen, change)
	}}
	pod := &corev1.Pod{ObjectMeta: objectMeta("ns1", "p")}
	g.Set(pod)
	pod.Spec.NodeName = "n1"
	g.Set(pod)
	g.Set(pod)
	volume := &corev1.PersistentVolume{ObjectMeta: objectMeta("", "v")}
	g.Set(volume)
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns1", Name: "c"}
	g.Set(volume)
	g.Set(&storagev1.VolumeAttachment{ObjectMeta: objectMeta("", "a"), Spec: storagev1.VolumeAttachmentSpec{NodeName: "n1"}})
	g.Set(&resourcev1.ResourceSlice{ObjectMeta: objectMeta("", "s"), Spec: resourcev1.ResourceSliceSpec{NodeName: new("n1")}})
	g.Delete(pod)
	g.Delete(pod)
	g.Delete(volume)
	require.Equal(t, []string{"AddPod", "AddPV", "AddVolumeAttachment", "AddResourceSlice", "DeletePod", "DeletePV"}, seen)
}

// Requests for certificates are of one node each, where they are served.
func TestNodeRulesOfCertificateRequests(t *testing.T) {
	g := &authz.NodeGraph{}
	for name, node := range map[string]string{"mine": "n1", "other": "n2"} {
		g.Set(&certificatesv1beta1.PodCertificateRequest{ObjectMeta: objectMeta("ns", name), Spec: certificatesv1beta1.PodCertificateRequestSpec{NodeName: node}})
	}
	n := authz.NewNode(g, nil)
	decide := func(verb, name, subresource, selector string) string {
		a := authz.Attributes{User: nodeUser("n1"), ResourceRequest: true, Verb: verb, APIGroup: "certificates.k8s.io",
			APIVersion: "v1beta1", Resource: "podcertificaterequests", Namespace: "ns", Name: name, Subresource: subresource, FieldSelector: selector}
		d, why, err := n.Authorize(t.Context(), a)
		require.NoError(t, err)
		if d == authz.Allow {
			return "allowed"
		}
		require.Equal(t, authz.NoOpinion, d)
		return why
	}
	require.Empty(t, decide("get", "mine", "", ""), "they are not served")
	n.AddGated("certificates.k8s.io", "podcertificaterequests")
	for _, c := range [][5]string{
		{"create", "", "", "", "allowed"},
		{"get", "mine", "", "", "allowed"},
		{"get", "other", "", "", "no relationship found between node 'n1' and this object"},
		{"list", "", "", "spec.nodeName=n1", "allowed"},
		{"watch", "", "", "spec.nodeName=n1", "allowed"},
		{"watch", "", "", "spec.nodeName=n2", "can only list/watch podcertificaterequests with nodeName field selector"},
		{"list", "", "", "", "can only list/watch podcertificaterequests with nodeName field selector"},
		{"update", "mine", "status", "", "nodes may not access the status subresource of PodCertificateRequests"},
		{"delete", "mine", "", "", "nodes may not delete podcertificaterequests"},
	} {
		require.Equal(t, c[4], decide(c[0], c[1], c[2], c[3]), "%v", c)
	}
	g.Delete(&certificatesv1beta1.PodCertificateRequest{ObjectMeta: objectMeta("ns", "mine")})
	require.Contains(t, decide("get", "mine", "", ""), "no relationship")
}

// nodeOne returns the authorizer of a cluster in which a pod on the node n1 refers to some objects. loaded is
// whether its graph is.
func nodeOne(loaded bool) *authz.Node {
	g := &authz.NodeGraph{}
	p := &corev1.Pod{ObjectMeta: objectMeta("ns", "mine")}
	p.Spec.NodeName, p.Spec.ServiceAccountName = "n1", "robot"
	p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	g.Set(p)
	g.Set(&resourcev1.ResourceSlice{ObjectMeta: objectMeta("", "slice"), Spec: resourcev1.ResourceSliceSpec{NodeName: new("n1")}})
	return authz.NewNode(g, func() bool { return loaded })
}

// TestNodeRules: each verb on each resource that nodes use.
func TestNodeRules(t *testing.T) {
	node := nodeOne(true)
	notNodes := []*authn.User{{Name: "n1", Groups: []string{authn.GroupNodes}}, {Name: "system:node:n1"}, {Name: "system:node:", Groups: []string{authn.GroupNodes}}, nil}
	for _, c := range nodeRules {
		name := strings.Join([]string{c.group, c.resource, c.sub, c.namespace, c.name, c.selector}, "|")
		t.Run(name, func(t *testing.T) {
			var allowed []string
			for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
				a := resource(nodeUser("n1"), verb, c.namespace, c.group, c.resource, c.sub, c.name)
				a.FieldSelector = c.selector
				d, why, err := node.Authorize(t.Context(), a)
				require.NoError(t, err)
				if d == authz.Allow {
					allowed = append(allowed, verb)
				} else if verb == "get" {
					require.Equal(t, c.why, why)
				}
				require.NotEqual(t, authz.Deny, d)
				for _, u := range notNodes {
					a.User = u
					d, _, err := node.Authorize(t.Context(), a)
					require.NoError(t, err)
					require.Equal(t, authz.NoOpinion, d, "%v is no node", u)
				}
			}
			require.ElementsMatch(t, c.allowed, allowed)
		})
	}
}

func TestNodeRulesBeforeTheGraphIsLoaded(t *testing.T) {
	node := nodeOne(false)
	d, why, _ := node.Authorize(t.Context(), resource(nodeUser("n1"), "get", "ns", "", "secrets", "", "pull"))
	require.Equal(t, authz.NoOpinion, d)
	require.Contains(t, why, "not loaded yet")
	_, _, incomplete, err := node.RulesFor(t.Context(), nodeUser("n1"), "ns")
	require.True(t, incomplete)
	require.Error(t, err)
	_, _, incomplete, err = node.RulesFor(t.Context(), &authn.User{Name: "ann"}, "ns")
	require.False(t, incomplete)
	require.NoError(t, err)
}

// BenchmarkNode: an answer, and the cost of a status update and of a pod that comes and goes, in a cluster of
// 5,000 nodes with 30 pods each that share one config map.
func BenchmarkNode(b *testing.B) {
	g := &authz.NodeGraph{}
	pods := make([]*corev1.Pod, 150_000)
	for i := range pods {
		p := &corev1.Pod{ObjectMeta: objectMeta("ns", fmt.Sprintf("pod-%d", i))}
		p.Spec.NodeName, p.Spec.ServiceAccountName = fmt.Sprintf("node-%d", i%5000), "default"
		p.Spec.Volumes = []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}}},
			{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: fmt.Sprintf("secret-%d", i)}}},
			{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("claim-%d", i)}}}}
		g.Set(p)
		pods[i] = p
		g.Set(&corev1.PersistentVolume{ObjectMeta: objectMeta("", fmt.Sprintf("pv-%d", i)), Spec: corev1.PersistentVolumeSpec{
			ClaimRef:               &corev1.ObjectReference{Namespace: "ns", Name: fmt.Sprintf("claim-%d", i)},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{NodeStageSecretRef: &corev1.SecretReference{Namespace: "storage", Name: "shared"}}}}})
	}
	node := authz.NewNode(g, nil)
	for _, key := range []types.NamespacedName{{Namespace: "ns", Name: "secret-7"}, {Namespace: "storage", Name: "shared"}} {
		a := resource(nodeUser("node-7"), "get", key.Namespace, "", "secrets", "", key.Name)
		b.Run("get/"+key.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d, _, _ := node.Authorize(b.Context(), a); d != authz.Allow {
					b.Fatal(d)
				}
			}
		})
	}
	b.Run("update", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			g.Set(pods[i%len(pods)])
		}
	})
	b.Run("delete and create", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			g.Delete(pods[i%len(pods)])
			g.Set(pods[i%len(pods)])
		}
	})
}
