package namespace

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client/discovery"
)

func TestStages(t *testing.T) {
	served := func(group, resource string, namespaced bool, verbs ...string) discovery.Resource {
		r := discovery.Resource{GVR: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}}
		r.Namespaced, r.Verbs = namespaced, verbs
		return r
	}
	got := stages([]discovery.Resource{
		served("", "configmaps", true, "list", "delete"), served("", "pods", true, "list", "delete", "deletecollection"), served("", "nodes", false, "list", "delete"),
		served("metrics.k8s.io", "pods", true, "list", "get"), served("example.com", "pods", true, "list", "delete"), served("", "bindings", true, "create"),
	})
	names := func(list []discovery.Resource) (out []string) {
		for _, r := range list {
			out = append(out, r.GVR.GroupResource().String())
		}
		return out
	}
	require.Equal(t, []string{"pods"}, names(got[0]))
	require.Equal(t, []string{"configmaps", "pods.example.com"}, names(got[1]))
}

func TestDecide(t *testing.T) {
	broken := errors.New("broken")
	require.Equal(t, plan{finalize: true}, decide(&content{}))
	require.Equal(t, plan{again: true}, decide(&content{remaining: map[string]int{"pods.": 1}, discovery: broken}))
	require.Equal(t, plan{again: true}, decide(unknown(broken)))
	require.ErrorIs(t, decide(&content{discovery: broken}).err, broken)
	require.ErrorIs(t, decide(&content{deletion: []error{broken}}).err, broken)
}

// A status has conditions from the first bad one on, whose times are those of their changes.
func TestStatusOf(t *testing.T) {
	at := func(seconds int) time.Time { return time.Date(2030, 1, 1, 0, 0, seconds, 0, time.UTC) }
	ns := &corev1.Namespace{}
	ns.Status.Phase = corev1.NamespaceTerminating
	require.Equal(t, ns.Status, statusOf(ns, &content{}, at(0)))

	left := &content{remaining: map[string]int{}, finalizers: map[string]int{}, deletion: []error{errors.New("b"), errors.New("a")}}
	held := &metav1.PartialObjectMetadata{}
	held.Finalizers = []string{"example.com/hold"}
	ending := &metav1.PartialObjectMetadata{}
	ending.DeletionTimestamp = &metav1.Time{Time: at(40)}
	left.count(schema.GroupResource{Group: "apps", Resource: "deployments"}, []*metav1.PartialObjectMetadata{held, ending}, at(10))
	require.Equal(t, 30*time.Second, left.grace)
	texts := func() map[corev1.NamespaceConditionType]string {
		out := map[corev1.NamespaceConditionType]string{}
		for _, c := range ns.Status.Conditions {
			out[c.Type] = string(c.Status) + " " + c.Reason + " " + c.LastTransitionTime.UTC().Format("05") + " " + c.Message
		}
		return out
	}
	ns.Status = statusOf(ns, left, at(10))
	require.Equal(t, map[corev1.NamespaceConditionType]string{
		"NamespaceDeletionDiscoveryFailure":           "False ResourcesDiscovered 10 All resources successfully discovered",
		"NamespaceDeletionGroupVersionParsingFailure": "False ParsedGroupVersions 10 All legacy kube types successfully parsed",
		"NamespaceDeletionContentFailure":             "True ContentDeletionFailed 10 Failed to delete all resource types, 2 remaining: a, b",
		"NamespaceContentRemaining":                   "True SomeResourcesRemain 10 Some resources are remaining: deployments.apps has 2 resource instances",
		"NamespaceFinalizersRemaining":                "True SomeFinalizersRemain 10 Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
	}, texts())
	require.Equal(t, corev1.NamespaceTerminating, ns.Status.Phase)

	left.deletion = nil
	ns.Status = statusOf(ns, left, at(20))
	require.Equal(t, "False ContentDeleted 20 All content successfully deleted, may be waiting on finalization", texts()["NamespaceDeletionContentFailure"])
	require.Contains(t, texts()["NamespaceContentRemaining"], "True SomeResourcesRemain 10")
	require.Equal(t, ns.Status, statusOf(ns, left, at(30)))
}
