package authz

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/authn"
)

// Bootstrap is the policy every cluster starts with: the roles of users and components, and their bindings.
// Objects that exist are reconciled by adding what they lack, unless annotated otherwise.
type Bootstrap struct {
	ClusterRoles        []*rbacv1.ClusterRole
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
	Roles               []*rbacv1.Role
	RoleBindings        []*rbacv1.RoleBinding
}

// Labels and annotations of bootstrap objects.
const (
	AutoUpdateAnnotation = "rbac.authorization.kubernetes.io/autoupdate"
	BootstrapLabel       = "kubernetes.io/bootstrapping"
	aggregateLabel       = "rbac.authorization.k8s.io/aggregate-to-"
)

var (
	read      = []string{"get", "list", "watch"}
	write     = []string{"create", "delete", "deletecollection", "patch", "update"}
	readWrite = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
)

// on returns a rule for resources, each written as the group, a colon and comma-separated resources:
// "apps:deployments,replicasets". The core group is written without a name: ":pods".
func on(verbs []string, resources ...string) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, r := range resources {
		group, list, _ := strings.Cut(r, ":")
		out = append(out, rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{group}, Resources: strings.Split(list, ",")})
	}
	return out
}

func verbs(list string) []string { return strings.Split(list, ",") }

// writeEvents lets components write events, in both of their groups.
func writeEvents() []rbacv1.PolicyRule {
	return on(verbs("create,patch,update"), ":events", "events.k8s.io:events")
}

func paths(urls ...string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: urls}}
}

func rules(sets ...[]rbacv1.PolicyRule) []rbacv1.PolicyRule { return slices.Concat(sets...) }

func named(set []rbacv1.PolicyRule, names ...string) []rbacv1.PolicyRule {
	for i := range set {
		set[i].ResourceNames = names
	}
	return set
}

func meta(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace,
		Labels:      map[string]string{BootstrapLabel: "rbac-defaults"},
		Annotations: map[string]string{AutoUpdateAnnotation: "true"}}
}

const rbacGroup = "rbac.authorization.k8s.io"

func (b *Bootstrap) role(name string, r []rbacv1.PolicyRule) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{ObjectMeta: meta(name, ""), Rules: r}
	b.ClusterRoles = append(b.ClusterRoles, role)
	return role
}

func (b *Bootstrap) bind(name string, subjects ...rbacv1.Subject) {
	b.ClusterRoleBindings = append(b.ClusterRoleBindings, &rbacv1.ClusterRoleBinding{ObjectMeta: meta(name, ""), Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacGroup, Kind: "ClusterRole", Name: name}})
}

// local adds a role in a namespace and a binding of the same name.
func (b *Bootstrap) local(namespace, name string, r []rbacv1.PolicyRule, subjects ...rbacv1.Subject) {
	b.Roles = append(b.Roles, &rbacv1.Role{ObjectMeta: meta(name, namespace), Rules: r})
	if len(subjects) > 0 {
		b.RoleBindings = append(b.RoleBindings, &rbacv1.RoleBinding{ObjectMeta: meta(name, namespace), Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacGroup, Kind: "Role", Name: name}})
	}
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "User", APIGroup: rbacGroup, Name: name}
}
func groupOf(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "Group", APIGroup: rbacGroup, Name: name}
}
func account(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "ServiceAccount", Name: name, Namespace: "kube-system"}
}

// BootstrapPolicy returns a new copy of the policy; the caller owns it.
func BootstrapPolicy() *Bootstrap {
	b := &Bootstrap{}
	b.userRoles()
	b.components()
	b.controllers()
	b.namespaced()
	return b
}

// gated are the roles of the controllers of kinds that a server serves only if they are switched on, by group
// and resource.
var gated = map[string]struct {
	account string
	rules   []rbacv1.PolicyRule
}{
	certificateRequests: {"podcertificaterequestcleaner", on(verbs("delete,get,list,watch"), certificateRequests)},
	trustBundles: {"kube-apiserver-serving-clustertrustbundle-publisher", rules(named(on(verbs("attest"), "certificates.k8s.io:signers"), "kubernetes.io/kube-apiserver-serving"),
		on(verbs("create,update,delete,list,watch"), trustBundles))},
	"internal.apiserver.k8s.io:storageversions": {"storage-version-garbage-collector", rules(on(read, "coordination.k8s.io:leases"),
		on(verbs("delete,get,list,patch,update,watch"), "internal.apiserver.k8s.io:storageversions"), on(verbs("get,patch,update"), "internal.apiserver.k8s.io:storageversions/status"))},
	"resource.k8s.io:resourcepoolstatusrequests": {"resourcepoolstatusrequest-controller", rules(on(verbs("delete,get,list,watch"), "resource.k8s.io:resourcepoolstatusrequests"),
		on(verbs("patch,update"), "resource.k8s.io:resourcepoolstatusrequests/status"), on(read, "resource.k8s.io:resourceslices,resourceclaims"))},
	podGroups: {"podgroup-protection-controller", rules(on(verbs("get,list,update,watch"), podGroups), on(verbs("get,list,watch"), ":pods"))},
	// A migration rewrites any resource.
	"storagemigration.k8s.io:storageversionmigrations": {"storage-version-migrator-controller", rules(on(verbs("get,list,patch,watch"), "*:*"),
		on(verbs("patch,update"), "storagemigration.k8s.io:storageversionmigrations/status"), on(verbs("patch,update"), "apiextensions.k8s.io:customresourcedefinitions/status"))},
}

// trustBundles are what a node may read, as every service account may.
const trustBundles = "certificates.k8s.io:clustertrustbundles"

// certificateRequests are the certificates that nodes request for pods.
const certificateRequests = "certificates.k8s.io:podcertificaterequests"

const podGroups = "scheduling.k8s.io:podgroups"

// addTo adds rules to the cluster roles of these names.
func (b *Bootstrap) addTo(rules []rbacv1.PolicyRule, names ...string) {
	for _, r := range b.ClusterRoles {
		if slices.Contains(names, r.Name) {
			r.Rules = append(r.Rules, rules...)
		}
	}
}

func readTrustBundles() []rbacv1.PolicyRule { return on(read, trustBundles) }

// AddGated adds the roles about a resource that is not always served, if there are any, for a server that
// serves it.
func (b *Bootstrap) AddGated(group, resource string) {
	if c, ok := gated[group+":"+resource]; ok {
		b.controller(c.account, c.rules)
	}
	switch group + ":" + resource {
	case certificateRequests:
		b.addTo(on(verbs("create,get,list,watch"), certificateRequests), "system:node")
	case trustBundles:
		b.addTo(readTrustBundles(), "system:node")
		b.role("system:cluster-trust-bundle-discovery", readTrustBundles())
		b.bind("system:cluster-trust-bundle-discovery", groupOf("system:serviceaccounts"))
	case podGroups:
		const both = "scheduling.k8s.io:workloads,podgroups"
		b.addTo(on(read, both+",podgroups/status"), "system:aggregate-to-view", "view", "edit", "admin")
		b.addTo(on(write, both), "system:aggregate-to-edit", "edit", "admin")
		b.addTo(rules(on(read, podGroups), on(verbs("patch,update"), podGroups+"/status")), "system:kube-scheduler")
	}
}

// userRoles adds the roles meant for users: cluster-admin, and admin, edit and view, which aggregate the
// roles labelled for that.
func (b *Bootstrap) userRoles() {
	star := []string{"*"}
	b.role("cluster-admin", []rbacv1.PolicyRule{{Verbs: star, APIGroups: star, Resources: star}, {Verbs: star, NonResourceURLs: star}})
	b.bind("cluster-admin", groupOf(authn.GroupMasters))

	b.role("system:discovery", paths("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"))
	b.bind("system:discovery", groupOf(authn.GroupAuthenticated))
	b.role("system:basic-user", rules(
		on([]string{"create"}, "authorization.k8s.io:selfsubjectaccessreviews,selfsubjectrulesreviews"),
		on([]string{"create"}, "authentication.k8s.io:selfsubjectreviews")))
	b.bind("system:basic-user", groupOf(authn.GroupAuthenticated))
	b.role("system:public-info-viewer", paths("/healthz", "/livez", "/readyz", "/version", "/version/"))
	b.bind("system:public-info-viewer", groupOf(authn.GroupAuthenticated), groupOf(authn.GroupUnauthenticated))
	b.role("system:monitoring", rules(paths("/flagz", "/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/metrics/slis", "/readyz", "/readyz/*", "/statusz"),
		on([]string{"get"}, ":nodes/metrics")))
	b.bind("system:monitoring", groupOf(authn.GroupMonitoring))

	view := rules(on(read,
		":configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,services/status",
		":bindings,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/status,resourcequotas,resourcequotas/status", ":namespaces",
		":events", "events.k8s.io:events",
		"extensions:daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,ingresses,ingresses/status,networkpolicies,replicasets,replicasets/scale,replicasets/status,replicationcontrollers/scale",
		"discovery.k8s.io:endpointslices",
		"apps:controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,replicasets,replicasets/scale,replicasets/status,statefulsets,statefulsets/scale,statefulsets/status",
		"autoscaling:horizontalpodautoscalers,horizontalpodautoscalers/status", "batch:cronjobs,cronjobs/status,jobs,jobs/status",
		"networking.k8s.io:ingresses,ingresses/status,networkpolicies", "policy:poddisruptionbudgets,poddisruptionbudgets/status",
		"resource.k8s.io:resourceclaims,resourceclaims/status,resourceclaimtemplates"))
	edit := rules(
		on(read, ":pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy"),
		on([]string{"impersonate"}, ":serviceaccounts"),
		on(write, ":pods,pods/attach,pods/exec,pods/portforward,pods/proxy", ":configmaps,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,secrets,serviceaccounts,services,services/proxy",
			":events", "events.k8s.io:events",
			"extensions:daemonsets,deployments,deployments/rollback,deployments/scale,ingresses,networkpolicies,replicasets,replicasets/scale,replicationcontrollers/scale",
			"apps:daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,replicasets/scale,statefulsets,statefulsets/scale",
			"autoscaling:horizontalpodautoscalers", "batch:cronjobs,jobs", "networking.k8s.io:ingresses,networkpolicies", "policy:poddisruptionbudgets",
			"resource.k8s.io:resourceclaims,resourceclaimtemplates"),
		on([]string{"create"}, ":pods/eviction", ":serviceaccounts/token"),
		on(readWrite, "coordination.k8s.io:leases"))
	admin := rules(on([]string{"create"}, "authorization.k8s.io:localsubjectaccessreviews"), on(readWrite, rbacGroup+":rolebindings,roles"))

	for _, part := range []struct {
		to    string
		rules []rbacv1.PolicyRule
	}{{"admin", admin}, {"edit", edit}, {"view", view}} {
		role := b.role("system:aggregate-to-"+part.to, part.rules)
		role.Labels[aggregateLabel+part.to] = "true"
	}
	aggregated := func(name string, r []rbacv1.PolicyRule, from ...string) *rbacv1.ClusterRole {
		role := b.role(name, r)
		role.AggregationRule = &rbacv1.AggregationRule{}
		for _, f := range from {
			role.AggregationRule.ClusterRoleSelectors = append(role.AggregationRule.ClusterRoleSelectors,
				metav1.LabelSelector{MatchLabels: map[string]string{aggregateLabel + f: "true"}})
		}
		return role
	}
	// The rules are set here as well, so that a server works without the aggregation controller.
	aggregated("admin", rules(admin, edit, view), "admin")
	aggregated("edit", rules(edit, view), "edit").Labels[aggregateLabel+"admin"] = "true"
	aggregated("view", view, "view").Labels[aggregateLabel+"edit"] = "true"
}

// components adds the roles of nodes, scheduler, proxy, controller manager and add-ons.
func (b *Bootstrap) components() {
	events := writeEvents()
	reviews := rules(on([]string{"create"}, "authentication.k8s.io:tokenreviews"), on([]string{"create"}, "authorization.k8s.io:subjectaccessreviews"))

	b.role("system:auth-delegator", reviews)
	b.role("system:node", nodeRules())
	// The role lists all secrets and changes all nodes, so it has no subjects by default, as upstream: the
	// authorizer Node gives a node what it needs of these rights. Where RBAC alone authorizes, each node
	// needs rights of its own.
	b.bind("system:node")

	b.role("system:kubelet-api-admin", rules(on(read, ":nodes"), on([]string{"proxy"}, ":nodes"),
		on([]string{"*"}, ":nodes/configz,nodes/healthz,nodes/log,nodes/metrics,nodes/pods,nodes/proxy,nodes/stats")))
	b.role("system:node-bootstrapper", on(verbs("create,get,list,watch"), "certificates.k8s.io:certificatesigningrequests"))
	b.role("system:node-problem-detector", rules(on([]string{"get"}, ":nodes"), on([]string{"patch"}, ":nodes/status"), events))
	b.role("system:node-proxier", rules(on(read, ":services,endpoints,nodes", "discovery.k8s.io:endpointslices", "networking.k8s.io:servicecidrs"), events))
	b.bind("system:node-proxier", user(authn.ProxyUser))
	b.role("system:kube-dns", on(verbs("list,watch"), ":endpoints,services", "discovery.k8s.io:endpointslices"))
	b.bind("system:kube-dns", account("kube-dns"))
	b.role("system:heapster", rules(on(read, ":events,pods,nodes,namespaces", "extensions:deployments")))
	b.role("system:kube-aggregator", on(read, ":endpoints,services"))
	b.role("system:service-account-issuer-discovery", paths("/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks", "/openid/v1/jwks/"))
	b.bind("system:service-account-issuer-discovery", groupOf(authn.GroupServiceAccounts))
	b.role("system:persistent-volume-provisioner", rules(on(verbs("create,delete,get,list,watch"), ":persistentvolumes"),
		on(verbs("get,list,update,watch"), ":persistentvolumeclaims"), on(read, "storage.k8s.io:storageclasses"), on([]string{"watch"}, ":events"), events))
	for _, s := range []string{"kube-apiserver-client-approver", "kube-apiserver-client-kubelet-approver", "kubelet-serving-approver", "legacy-unknown-approver"} {
		signer := "kubernetes.io/" + strings.TrimSuffix(s, "-approver")
		b.role("system:certificates.k8s.io:"+s, named(on([]string{"approve"}, "certificates.k8s.io:signers"), signer))
	}
	b.role("system:certificates.k8s.io:certificatesigningrequests:nodeclient", on([]string{"create"}, "certificates.k8s.io:certificatesigningrequests/nodeclient"))
	b.role("system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", on([]string{"create"}, "certificates.k8s.io:certificatesigningrequests/selfnodeclient"))

	b.role("system:volume-scheduler", rules(on(verbs("get,list,patch,update,watch"), ":persistentvolumes"), on(read, "storage.k8s.io:storageclasses"),
		on(verbs("get,list,patch,update,watch"), ":persistentvolumeclaims")))
	b.bind("system:volume-scheduler", user(authn.SchedulerUser))
	b.role("system:kube-scheduler", rules(events, reviews,
		on([]string{"create"}, "coordination.k8s.io:leases"), named(on(verbs("get,list,update,watch"), "coordination.k8s.io:leases"), "kube-scheduler"),
		on(readWrite, "coordination.k8s.io:leasecandidates"), on([]string{"update"}, ":pods/finalizers"), on(read, ":nodes"), on(verbs("delete,get,list,watch"), ":pods"),
		on([]string{"create"}, ":bindings,pods/binding"), on(verbs("patch,update"), ":pods/status"), on(read, ":replicationcontrollers,services", "apps:replicasets,statefulsets", "extensions:replicasets",
			"policy:poddisruptionbudgets", ":persistentvolumeclaims,persistentvolumes,namespaces", "storage.k8s.io:csidrivers,csinodes,csistoragecapacities,volumeattachments",
			"resource.k8s.io:deviceclasses,resourceclaims,resourceclaims/status,resourceslices"), on(verbs("patch,update"), "resource.k8s.io:resourceclaims,resourceclaims/status,resourceclaims/binding"),
		on(verbs("create,delete"), "resource.k8s.io:resourceclaims")))
	b.bind("system:kube-scheduler", user(authn.SchedulerUser))
	b.role("system:kube-controller-manager", rules(events, reviews,
		on([]string{"create"}, "coordination.k8s.io:leases"), named(on(verbs("get,list,update,watch"), "coordination.k8s.io:leases"), "kube-controller-manager"),
		on(verbs("create,get,update"), ":secrets,serviceaccounts"), on([]string{"delete"}, ":secrets"), on([]string{"get"}, ":configmaps,namespaces"),
		on([]string{"create"}, ":serviceaccounts/token"), on(verbs("list,watch"), "*:*")))
	b.bind("system:kube-controller-manager", user(authn.ControllerManagerUser))
}

// nodeRules are what nodes may do. The Node authorizer narrows those for objects that other nodes have too.
func nodeRules() []rbacv1.PolicyRule {
	reviews := rules(on([]string{"create"}, "authentication.k8s.io:tokenreviews"), on([]string{"create"}, "authorization.k8s.io:subjectaccessreviews"))
	events := writeEvents()
	return rules(reviews, on([]string{"create"}, "authorization.k8s.io:localsubjectaccessreviews"),
		on(read, ":services"), on(verbs("create,get,list,watch"), ":nodes"), on(verbs("patch,update"), ":nodes,nodes/status"),
		events, on(read, ":pods"), on(verbs("create,delete"), ":pods"), on(verbs("patch,update"), ":pods/status"),
		on([]string{"create"}, ":pods/eviction", ":serviceaccounts/token"), on(read, ":configmaps,secrets"),
		on([]string{"get"}, ":persistentvolumeclaims,persistentvolumes,endpoints,serviceaccounts"), on(verbs("get,patch,update"), ":persistentvolumeclaims/status"),
		on(verbs("create,get,list,watch"), "certificates.k8s.io:certificatesigningrequests"),
		on(verbs("create,delete,get,patch,update"), "coordination.k8s.io:leases"), on([]string{"get"}, "storage.k8s.io:volumeattachments"),
		on(read, "storage.k8s.io:csidrivers", "node.k8s.io:runtimeclasses"), on(verbs("create,delete,get,patch,update"), "storage.k8s.io:csinodes"),
		on([]string{"get"}, "resource.k8s.io:resourceclaims"), on([]string{"deletecollection"}, "resource.k8s.io:resourceslices"))
}

// controllers adds one role per built-in controller, bound to its service account in kube-system.
func (b *Bootstrap) controllers() {
	for _, c := range []struct {
		name  string
		rules []rbacv1.PolicyRule
	}{
		{"attachdetach-controller", rules(on(verbs("list,watch"), ":persistentvolumeclaims,persistentvolumes"), on(read, ":nodes,pods", "storage.k8s.io:csidrivers,csinodes"),
			on(verbs("patch,update"), ":nodes/status"), on(verbs("create,delete,get,list,watch"), "storage.k8s.io:volumeattachments"))},
		{"certificate-controller", rules(on(verbs("delete,get,list,watch"), "certificates.k8s.io:certificatesigningrequests"),
			on([]string{"update"}, "certificates.k8s.io:certificatesigningrequests/approval,certificatesigningrequests/status"),
			named(on([]string{"approve"}, "certificates.k8s.io:signers"), "kubernetes.io/kube-apiserver-client-kubelet"),
			named(on([]string{"sign"}, "certificates.k8s.io:signers"), "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet",
				"kubernetes.io/kubelet-serving", "kubernetes.io/legacy-unknown"), on([]string{"create"}, "authorization.k8s.io:subjectaccessreviews"))},
		{"clusterrole-aggregation-controller", on(verbs("escalate,get,list,patch,update,watch"), rbacGroup+":clusterroles")},
		{"cronjob-controller", rules(on(verbs("get,list,update,watch"), "batch:cronjobs"), on(verbs("create,delete,get,list,patch,update,watch"), "batch:jobs"),
			on([]string{"update"}, "batch:cronjobs/finalizers,cronjobs/status"), on(verbs("delete,list,watch"), ":pods"))},
		{"daemon-set-controller", rules(on(read, "apps:daemonsets", "extensions:daemonsets"), on([]string{"update"}, "apps:daemonsets/finalizers,daemonsets/status", "extensions:daemonsets/finalizers,daemonsets/status"), on(verbs("list,watch"), ":nodes"),
			on(verbs("create,delete,list,patch,watch"), ":pods"), on([]string{"create"}, ":pods/binding"), on(verbs("create,delete,get,list,patch,update,watch"), "apps:controllerrevisions"))},
		{"deployment-controller", rules(on(verbs("get,list,update,watch"), "apps:deployments", "extensions:deployments"),
			on([]string{"update"}, "apps:deployments/finalizers,deployments/status", "extensions:deployments/finalizers,deployments/status"),
			on(verbs("create,delete,get,list,patch,update,watch"), "apps:replicasets", "extensions:replicasets"), on(verbs("get,list,update,watch"), ":pods"))},
		{"device-taint-eviction-controller", rules(on(verbs("delete,get,list,watch"), ":pods"), on(verbs("patch,update"), ":pods/status"),
			on(read, "resource.k8s.io:resourceclaims,resourceslices,deviceclasses,devicetaintrules"), on(verbs("patch,update"), "resource.k8s.io:devicetaintrules/status"))},
		{"disruption-controller", rules(on(read, "apps:deployments,replicasets,statefulsets", "extensions:deployments,replicasets", ":replicationcontrollers,pods", "policy:poddisruptionbudgets"),
			on([]string{"update"}, "policy:poddisruptionbudgets/status", ":pods/status"), on([]string{"patch"}, ":pods/status"), on([]string{"get"}, "*:*/scale"))},
		{"endpoint-controller", rules(on(read, ":pods,services"), on(verbs("create,delete,get,list,update,watch"), ":endpoints"), on([]string{"create"}, ":endpoints/restricted"))},
		{"endpointslice-controller", rules(on(read, ":nodes,pods,services"), on([]string{"update"}, ":services/finalizers"),
			on(verbs("create,delete,get,list,update,watch"), "discovery.k8s.io:endpointslices"), on([]string{"create"}, "discovery.k8s.io:endpointslices/restricted"))},
		{"endpointslicemirroring-controller", rules(on(read, ":endpoints,services"), on([]string{"update"}, ":endpoints/finalizers,services/finalizers"),
			on(verbs("create,delete,get,list,update,watch"), "discovery.k8s.io:endpointslices"), on([]string{"create"}, "discovery.k8s.io:endpointslices/restricted"))},
		{"ephemeral-volume-controller", rules(on(read, ":pods"), on([]string{"update"}, ":pods/finalizers"), on(verbs("create,get,list,watch"), ":persistentvolumeclaims"))},
		{"expand-controller", rules(on(verbs("get,list,patch,update,watch"), ":persistentvolumes"), on(verbs("patch,update"), ":persistentvolumeclaims/status"), on(read, ":persistentvolumeclaims", "storage.k8s.io:storageclasses"))},
		{"generic-garbage-collector", on(verbs("delete,get,list,patch,update,watch"), "*:*")},
		{"horizontal-pod-autoscaler", rules(on(read, "autoscaling:horizontalpodautoscalers"), on([]string{"update"}, "autoscaling:horizontalpodautoscalers/status"),
			on(verbs("get,update"), "*:*/scale"), on(verbs("list,watch"), ":pods", "metrics.k8s.io:pods"), on(read, "custom.metrics.k8s.io:*", "external.metrics.k8s.io:*"))},
		{"job-controller", rules(on(verbs("get,list,patch,update,watch"), "batch:jobs"), on([]string{"update"}, "batch:jobs/finalizers,jobs/status"),
			on(verbs("create,delete,list,patch,watch"), ":pods"), on([]string{"patch"}, ":pods/finalizers"))},
		{"legacy-service-account-token-cleaner", rules(named(on([]string{"get"}, ":configmaps"), corev1.TokenTrackingName), on(verbs("delete,patch"), ":secrets"))},
		{"namespace-controller", rules(on(verbs("delete,get,list,watch"), ":namespaces"), on([]string{"update"}, ":namespaces/finalize,namespaces/status"), on(verbs("delete,deletecollection,get,list,watch"), "*:*"))},
		{"node-controller", rules(on(verbs("delete,get,list,patch,update,watch"), ":nodes"), on(verbs("patch,update"), ":nodes/status"), on(verbs("patch,update"), ":pods/status"),
			on(verbs("delete,get,list,watch"), ":pods"), on(read, "coordination.k8s.io:leases"))},
		{"persistent-volume-binder", rules(on(verbs("create,delete,get,list,update,watch"), ":persistentvolumes"), on([]string{"update"}, ":persistentvolumeclaims/status,persistentvolumes/status"),
			on(verbs("get,list,update,watch"), ":persistentvolumeclaims"), on(verbs("create,delete,get,list,watch"), ":pods"), on(read, "storage.k8s.io:storageclasses", ":nodes"), on([]string{"watch"}, ":events"))},
		{"pod-garbage-collector", rules(on(verbs("delete,list,watch"), ":pods"), on(verbs("get,list,watch"), ":nodes"), on([]string{"patch"}, ":pods/status"))},
		{"pv-protection-controller", on(verbs("get,list,update,watch"), ":persistentvolumes")},
		{"pvc-protection-controller", rules(on(verbs("get,list,update,watch"), ":persistentvolumeclaims"), on([]string{"update"}, ":persistentvolumeclaims/status"), on(read, ":pods"))},
		{"replicaset-controller", rules(on(verbs("get,list,update,watch"), "apps:replicasets", "extensions:replicasets"),
			on([]string{"update"}, "apps:replicasets/finalizers,replicasets/status", "extensions:replicasets/finalizers,replicasets/status"), on(verbs("create,delete,list,patch,watch"), ":pods"))},
		{"replication-controller", rules(on(verbs("get,list,update,watch"), ":replicationcontrollers"), on([]string{"update"}, ":replicationcontrollers/finalizers,replicationcontrollers/status"), on(verbs("create,delete,list,patch,watch"), ":pods"))},
		{"resource-claim-controller", rules(on(read, ":pods"), on([]string{"update"}, ":pods/finalizers"), on(verbs("create,delete,get,list,patch,update,watch"), "resource.k8s.io:resourceclaims"),
			on(verbs("patch,update"), "resource.k8s.io:resourceclaims/status", "resource.k8s.io:resourceclaims/binding", ":pods/status"))},
		{"resourcequota-controller", rules(on(verbs("list,watch"), "*:*"), on([]string{"update"}, ":resourcequotas/status"))},
		{"root-ca-cert-publisher", on(verbs("create,update"), ":configmaps")},
		{"route-controller", rules(on(verbs("list,watch"), ":nodes"), on([]string{"patch"}, ":nodes/status"))},
		{"service-controller", rules(on(read, ":services"), on(verbs("patch,update"), ":services/status"), on(verbs("list,watch"), ":nodes"))},
		{"selinux-warning-controller", on(read, ":persistentvolumeclaims,persistentvolumes,pods", "storage.k8s.io:csidrivers")},
		{"service-account-controller", on([]string{"create"}, ":serviceaccounts")},
		{"selinux-warning-controller", on(read, ":persistentvolumes,persistentvolumeclaims,pods", "storage.k8s.io:csidrivers")},
		{"statefulset-controller", rules(on(verbs("list,watch"), ":pods"), on([]string{"update"}, ":pods/finalizers"), on(read, "apps:statefulsets"), on([]string{"update"}, "apps:statefulsets/finalizers,statefulsets/status"),
			on(verbs("create,delete,get,patch,update"), ":pods"), on(verbs("create,delete,get,list,patch,update,watch"), "apps:controllerrevisions"), on(verbs("create,delete,get,list,update,watch"), ":persistentvolumeclaims"))},
		{"ttl-after-finished-controller", on(verbs("delete,get,list,watch"), "batch:jobs")},
		{"ttl-controller", rules(on(read, ":nodes"), on(verbs("patch,update"), ":nodes"))},
		{"volumeattributesclass-protection-controller", rules(on(read, ":persistentvolumeclaims,persistentvolumes"), on(verbs("get,list,update,watch"), "storage.k8s.io:volumeattributesclasses"))},
		{"validatingadmissionpolicy-status-controller", rules(on(read, "admissionregistration.k8s.io:validatingadmissionpolicies"), on(verbs("get,patch,update"), "admissionregistration.k8s.io:validatingadmissionpolicies/status"))},
		{"service-cidrs-controller", rules(on(verbs("get,list,patch,update,watch"), "networking.k8s.io:servicecidrs"), on(verbs("patch,update"), "networking.k8s.io:servicecidrs/finalizers,servicecidrs/status"), on(read, "networking.k8s.io:ipaddresses"))},
	} {
		b.controller(c.name, c.rules)
	}
}

// controller adds the role of a controller with rules r and the permission of all controllers to write
// events.
func (b *Bootstrap) controller(name string, r []rbacv1.PolicyRule) {
	role := "system:controller:" + name
	b.role(role, rules(r, writeEvents()))
	b.bind(role, account(name))
}

func (b *Bootstrap) namespaced() {
	b.local("kube-system", "extension-apiserver-authentication-reader", named(on(read, ":configmaps"), "extension-apiserver-authentication"),
		user(authn.ControllerManagerUser), user(authn.SchedulerUser))
	b.RoleBindings[0].Name = "system::extension-apiserver-authentication-reader" // as upstream
	lock := on(verbs("create,get,list,update,watch"), "coordination.k8s.io:leases,leasecandidates")
	b.local("kube-system", "system::leader-locking-kube-controller-manager", lock,
		user(authn.ControllerManagerUser), account("kube-controller-manager"), account("leader-election-controller"))
	b.local("kube-system", "system::leader-locking-kube-scheduler", lock, user(authn.SchedulerUser), account("kube-scheduler"))
	b.local("kube-system", "system:controller:cloud-provider", on(verbs("create,get,list,watch"), ":configmaps"), account("cloud-provider"))
	b.local("kube-system", "system:controller:bootstrap-signer", on(read, ":secrets"), account("bootstrap-signer"))
	b.local("kube-system", "system:controller:token-cleaner", rules(on(verbs("delete,get,list,watch"), ":secrets"), writeEvents()), account("token-cleaner"))
	b.local("kube-public", "system:controller:bootstrap-signer", rules(on(read, ":configmaps"), named(on([]string{"update"}, ":configmaps"), "cluster-info"), writeEvents()), account("bootstrap-signer"))
}
