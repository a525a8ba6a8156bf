package admission_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/podsecurity"
)

// outcome is what a validating plugin did with a request.
type outcome struct {
	Error       string
	Warnings    []string
	Annotations map[string]string
}

func validate(t testing.TB, p admission.Plugin, a admission.Attributes) outcome {
	t.Helper()
	var got outcome
	a.Warn = func(text string) { got.Warnings = append(got.Warnings, text) }
	a.Annotate = func(key, value string) {
		if got.Annotations == nil {
			got.Annotations = map[string]string{}
		}
		require.NotContains(t, got.Annotations, key, "it is set once")
		got.Annotations[key] = value
	}
	if a.Object != nil && a.Name == "" {
		a.Name, a.Namespace = a.Object.GetName(), a.Object.GetNamespace()
	}
	if err := p.(admission.Validator).Validate(t.Context(), &a); err != nil {
		got.Error = err.Error()
	}
	return got
}

func namespace(name string, pairs ...string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for i := 0; i < len(pairs); i += 2 {
		ns.Labels["pod-security.kubernetes.io/"+pairs[i]] = pairs[i+1]
	}
	return ns
}

// securePod returns a pod that baseline allows unless it is privileged, and restricted forbids.
func securePod(ns, name string, privileged bool) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "c", Image: "x", SecurityContext: &corev1.SecurityContext{Privileged: &privileged,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}}}}
}

var (
	pods       = corev1.GroupVersion.WithResource("pods")
	namespaces = corev1.GroupVersion.WithResource("namespaces")
)

const (
	privilegedDetail = `privileged (container "c" must not set securityContext.privileged=true)`
	escalationDetail = `allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)`
	annotation       = "pod-security.kubernetes.io/"
)

func TestPodSecurityOfPods(t *testing.T) {
	world := objects{"namespaces": {namespace("free"), namespace("base", "enforce", "baseline", "enforce-version", "v1.30"),
		namespace("strict", "enforce", "restricted"), namespace("soft", "audit", "baseline", "warn", "restricted", "warn-version", "v1.36"),
		namespace("broken", "enforce", "tight"), namespace("exempt", "enforce", "restricted")}}
	p := plugin(t, "PodSecurity", world, admission.Options{Configuration: admission.Configuration{PodSecurity: podsecurity.Configuration{
		Exemptions: podsecurity.Exemptions{Usernames: []string{"root"}, Namespaces: []string{"exempt"}, RuntimeClasses: []string{"vm"}}}}})
	require.True(t, p.Handles(admission.Create))
	require.True(t, p.Handles(admission.Update))
	require.False(t, p.Handles(admission.Delete))
	require.False(t, p.Handles(admission.Connect))
	inVM := func(pod *corev1.Pod) *corev1.Pod {
		pod.Spec.RuntimeClassName = new("vm")
		return pod
	}
	relabelled := func(pod *corev1.Pod) *corev1.Pod {
		pod.Labels = map[string]string{"a": "b"}
		return pod
	}
	debugged := securePod("base", "p", true)
	debugged.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e", Image: "y"}}}
	for name, c := range map[string]struct {
		pod, old    *corev1.Pod
		user        string
		subresource string
		want        outcome
	}{
		"no labels":            {pod: securePod("free", "p", true), want: outcome{Annotations: map[string]string{annotation + "enforce-policy": "privileged:latest"}}},
		"allowed":              {pod: securePod("base", "p", false), want: outcome{Annotations: map[string]string{annotation + "enforce-policy": "baseline:v1.30"}}},
		"refused":              {pod: securePod("base", "p", true), want: outcome{Error: `pods "p" is forbidden: violates PodSecurity "baseline:v1.30": ` + privilegedDetail, Annotations: map[string]string{annotation + "enforce-policy": "baseline:v1.30"}}},
		"restricted":           {pod: securePod("strict", "p", false), want: outcome{Error: `pods "p" is forbidden: violates PodSecurity "restricted:latest": ` + escalationDetail, Annotations: map[string]string{annotation + "enforce-policy": "restricted:latest"}}},
		"audit and warn":       {pod: securePod("soft", "p", true), want: outcome{Warnings: []string{`would violate PodSecurity "restricted:v1.36": ` + privilegedDetail + ", " + escalationDetail}, Annotations: map[string]string{annotation + "enforce-policy": "privileged:latest", annotation + "audit-violations": `would violate PodSecurity "baseline:latest": ` + privilegedDetail}}},
		"wrong labels":         {pod: securePod("broken", "p", false), want: outcome{Error: `pods "p" is forbidden: violates PodSecurity "restricted:latest": ` + escalationDetail, Annotations: map[string]string{annotation + "enforce-policy": "restricted:latest", annotation + "error": `Failed to parse policy: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "tight": must be one of privileged, baseline, restricted`}}},
		"no namespace":         {pod: securePod("nowhere", "p", false), want: outcome{Error: `Internal error occurred: failed to lookup namespace "nowhere"`, Annotations: map[string]string{annotation + "error": `Internal error occurred: failed to lookup namespace "nowhere": namespaces "nowhere" not found`}}},
		"exempt namespace":     {pod: securePod("exempt", "p", true), want: outcome{Annotations: map[string]string{annotation + "exempt": "namespace"}}},
		"exempt user":          {pod: securePod("strict", "p", true), user: "root", want: outcome{Annotations: map[string]string{annotation + "exempt": "user"}}},
		"exempt class":         {pod: inVM(securePod("strict", "p", true)), want: outcome{Annotations: map[string]string{annotation + "exempt": "runtimeClass"}}},
		"status":               {pod: securePod("base", "p", true), old: securePod("base", "p", true), subresource: "status"},
		"unchanged":            {pod: relabelled(securePod("base", "p", true)), old: securePod("base", "p", true)},
		"ephemeral containers": {pod: debugged, old: securePod("base", "p", true), subresource: "ephemeralcontainers", want: outcome{Error: `pods "p" is forbidden: violates PodSecurity "baseline:v1.30": ` + privilegedDetail, Annotations: map[string]string{annotation + "enforce-policy": "baseline:v1.30"}}},
		"the same ephemeral":   {pod: debugged, old: debugged, subresource: "ephemeralcontainers"},
	} {
		t.Run(name, func(t *testing.T) {
			a := admission.Attributes{Operation: admission.Create, Kind: corev1.GroupVersion.WithKind("Pod"), Resource: pods, Subresource: c.subresource, User: &authn.User{Name: c.user}, Object: c.pod}
			if c.old != nil {
				a.Operation, a.Old = admission.Update, c.old
			}
			require.Equal(t, c.want, validate(t, p, a))
		})
	}
	unknown := admission.Attributes{Operation: admission.Update, Resource: pods, Subresource: "future", Namespace: "strict", Name: "p", Object: namespace("x")}
	require.Equal(t, "failed to decode pod", validate(t, p, unknown).Error)
}

// The pods of workloads are evaluated when they are created; their templates lead to warnings.
func TestPodSecurityOfTemplates(t *testing.T) {
	world := objects{"namespaces": {namespace("free"), namespace("strict", "enforce", "baseline", "audit", "baseline"), namespace("exempt", "warn", "baseline")}}
	p := plugin(t, "PodSecurity", world, admission.Options{Configuration: admission.Configuration{PodSecurity: podsecurity.Configuration{Exemptions: podsecurity.Exemptions{Namespaces: []string{"exempt"}}}}})
	for _, resource := range []schema.GroupVersionResource{corev1.GroupVersion.WithResource("podtemplates"), corev1.GroupVersion.WithResource("replicationcontrollers"),
		appsv1.GroupVersion.WithResource("replicasets"), appsv1.GroupVersion.WithResource("deployments"), appsv1.GroupVersion.WithResource("statefulsets"), appsv1.GroupVersion.WithResource("daemonsets"),
		batchv1.GroupVersion.WithResource("jobs"), batchv1.GroupVersion.WithResource("cronjobs")} {
		for _, ns := range []string{"free", "strict", "exempt", "nowhere"} {
			meta := metav1.ObjectMeta{Namespace: ns, Name: "w"}
			template := corev1.PodTemplateSpec{Spec: securePod(ns, "", true).Spec}
			obj := map[string]metav1.Object{
				"podtemplates": &corev1.PodTemplate{ObjectMeta: meta, Template: template}, "replicationcontrollers": &corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Template: &template}},
				"replicasets": &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Template: template}}, "deployments": &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Template: template}},
				"statefulsets": &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Template: template}}, "daemonsets": &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Template: template}},
				"jobs": &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: template}}, "cronjobs": &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}}},
			}[resource.Resource]
			require.NotNil(t, obj)
			violation := `would violate PodSecurity "baseline:latest": ` + privilegedDetail
			want := map[string]outcome{
				"strict":  {Warnings: []string{violation}, Annotations: map[string]string{annotation + "audit-violations": violation}},
				"exempt":  {Annotations: map[string]string{annotation + "exempt": "namespace"}},
				"nowhere": {Annotations: map[string]string{annotation + "error": `failed to lookup namespace "nowhere": namespaces "nowhere" not found`}},
			}[ns]
			a := admission.Attributes{Operation: admission.Create, Resource: resource, User: &authn.User{}, Object: obj}
			require.Equal(t, want, validate(t, p, a), "%s in %s", resource.Resource, ns)
			a.Subresource = "status"
			require.Zero(t, validate(t, p, a), "%s in %s", resource.Resource, ns)
		}
	}
	without := admission.Attributes{Operation: admission.Create, Resource: corev1.GroupVersion.WithResource("replicationcontrollers"), User: &authn.User{},
		Object: &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Namespace: "strict", Name: "w"}}}
	require.Zero(t, validate(t, p, without))
}

func TestPodSecurityOfNamespaces(t *testing.T) {
	world := objects{}
	add := func(name, controller, class string, privileged bool) {
		pod := securePod("ns", name, privileged)
		if controller != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", UID: "uid-of-" + "x", Controller: new(true)}}
		}
		if class != "" {
			pod.Spec.RuntimeClassName = &class
		}
		world["pods"] = append(world["pods"], pod)
	}
	add("z", "", "", true)
	add("b", "x", "", true)
	add("a", "x", "", true)
	add("vm", "", "vm", true)
	add("quiet", "", "", false)
	p := plugin(t, "PodSecurity", world, admission.Options{Configuration: admission.Configuration{PodSecurity: podsecurity.Configuration{Defaults: podsecurity.Defaults{Audit: "baseline"},
		Exemptions: podsecurity.Exemptions{Namespaces: []string{"exempt"}, RuntimeClasses: []string{"vm"}}}}})
	invalid := `Namespace "ns" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce-version]: Invalid value: "1.30": must be "latest" or "v1.x", metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: "none": must be one of privileged, baseline, restricted]`
	three := []string{`existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"`, "a (and 2 other pods): privileged"}
	for name, c := range map[string]struct {
		ns, old *corev1.Namespace
		want    outcome
	}{
		"new":                  {ns: namespace("ns", "enforce", "restricted")},
		"new, wrong":           {ns: namespace("ns", "enforce-version", "1.30", "warn", "none"), want: outcome{Error: invalid}},
		"made wrong":           {ns: namespace("ns", "enforce-version", "1.30", "warn", "none"), old: namespace("ns", "warn", "none"), want: outcome{Error: invalid}},
		"wrong before":         {ns: namespace("ns", "warn", "none"), old: namespace("ns", "warn", "none")},
		"stricter":             {ns: namespace("ns", "enforce", "baseline"), old: namespace("ns"), want: outcome{Warnings: three}},
		"stricter, two alike":  {ns: namespace("ns", "enforce", "restricted", "enforce-version", "v1.7"), old: namespace("ns", "enforce", "baseline"), want: outcome{Warnings: []string{`existing pods in namespace "ns" violate the new PodSecurity enforce level "restricted:v1.7"`, "a (and 2 other pods): privileged"}}},
		"other version":        {ns: namespace("ns", "enforce", "baseline"), old: namespace("ns", "enforce", "restricted", "enforce-version", "v1.20"), want: outcome{Warnings: three}},
		"less strict":          {ns: namespace("ns", "enforce", "baseline"), old: namespace("ns", "enforce", "restricted")},
		"privileged":           {ns: namespace("ns", "enforce", "privileged", "enforce-version", "v1.3"), old: namespace("ns", "enforce", "restricted")},
		"other namespace":      {ns: namespace("empty", "enforce", "restricted"), old: namespace("empty")},
		"exempt":               {ns: namespace("exempt", "enforce", "restricted", "warn", "baseline", "warn-version", "v1.9"), old: namespace("exempt"), want: outcome{Warnings: []string{`namespace "exempt" is exempt from Pod Security, and the policy (enforce=restricted:latest, warn=baseline:v1.9) will be ignored`}}},
		"exempt, new":          {ns: namespace("exempt", "audit", "restricted"), want: outcome{Warnings: []string{`namespace "exempt" is exempt from Pod Security, and the policy (audit=restricted:latest) will be ignored`}}},
		"exempt, the defaults": {ns: namespace("exempt", "audit", "baseline")},
	} {
		t.Run(name, func(t *testing.T) {
			a := admission.Attributes{Operation: admission.Create, Kind: corev1.GroupVersion.WithKind("Namespace"), Resource: namespaces, Object: c.ns}
			if c.old != nil {
				a.Operation, a.Old = admission.Update, c.old
			}
			require.Equal(t, c.want, validate(t, p, a))
		})
	}
	for i := range 3000 {
		add(fmt.Sprint("more-", i), "", "", false)
	}
	a := admission.Attributes{Operation: admission.Update, Resource: namespaces, Object: namespace("ns", "enforce", "baseline"), Old: namespace("ns")}
	got := validate(t, p, a).Warnings
	require.Equal(t, "new PodSecurity enforce level only checked against the first 3000 of 3004 existing pods", got[0])
	require.Equal(t, "b (and 1 other pod): privileged", got[2], "one of a controller's pods comes last")
}

func TestPodSecurityWrongOptions(t *testing.T) {
	_, err := tryPlugin(t, "PodSecurity", objects{}, admission.Options{Configuration: admission.Configuration{PodSecurity: podsecurity.Configuration{Defaults: podsecurity.Defaults{Warn: "high"}}}})
	require.EqualError(t, err, `podsecurity: PodSecurityConfiguration: defaults.warn: Invalid value: "high": must be one of privileged, baseline, restricted`)
}

// BenchmarkPodSecurity is what the plugin adds to a create of a pod with three containers, by what the labels
// of its namespace make of it.
func BenchmarkPodSecurity(b *testing.B) {
	world := objects{"namespaces": {namespace("free"), namespace("strict", "enforce", "restricted"),
		namespace("modes", "enforce", "baseline", "audit", "restricted", "audit-version", "v1.30", "warn", "restricted")}}
	p := plugin(b, "PodSecurity", world, admission.Options{}).(admission.Validator)
	plain := corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "x"}, {Name: "log", Image: "x"}, {Name: "proxy", Image: "x"}}}
	secure := securePod("strict", "p", false)
	secure.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(false)
	secure.Spec.Containers = []corev1.Container{secure.Spec.Containers[0], secure.Spec.Containers[0], secure.Spec.Containers[0]}
	hostile := corev1.PodSpec{HostNetwork: true, HostPID: true, Containers: slices.Clone(plain.Containers)}
	hostile.Volumes = []corev1.Volume{{Name: "root", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
	for i := range hostile.Containers {
		c := &hostile.Containers[i]
		c.Ports = []corev1.ContainerPort{{HostPort: 80}}
		c.SecurityContext = &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(0)), Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}}
	}
	for _, c := range []struct {
		name, namespace string
		spec            corev1.PodSpec
		refused         bool
	}{
		{"privileged", "free", hostile, false},
		{"allowed", "strict", secure.Spec, false},
		{"allowed in all modes", "modes", secure.Spec, false},
		{"warned and recorded", "modes", plain, false},
		{"refused", "strict", plain, true},
		{"refused for all reasons", "strict", hostile, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "p"}, Spec: c.spec}
			a := admission.Attributes{Operation: admission.Create, Kind: corev1.GroupVersion.WithKind("Pod"), Resource: pods, Namespace: c.namespace, Name: "p",
				User: &authn.User{Name: "ann"}, Object: pod, Annotate: func(string, string) {}, Warn: func(string) {}}
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Validate(b.Context(), &a); (err != nil) != c.refused {
					b.Fatal(err)
				}
			}
		})
	}
}
