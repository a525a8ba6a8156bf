package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const disruptedAsAWhole = `{"spec":{"disruptionMode":"PodGroup"}}`

// groupPriorities are requests about the priority and the disruption of groups.
func groupPriorities() (out []step) {
	const (
		classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
		path    = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/"
		gang    = `"schedulingPolicy":{"gang":{"minCount":4}}`
	)
	n := 0
	group := func(fields string) {
		n++
		out = append(out, step{method: "POST", path: path + "podgroups", body: fmt.Sprintf(`{"metadata":{"name":"g%d"},"spec":{%s%s}}`, n, gang, fields), shown: []string{"spec"}})
	}
	workload := func(fields string) {
		n++
		out = append(out, step{method: "POST", path: path + "workloads", body: fmt.Sprintf(`{"metadata":{"name":"w%d"},"spec":{"podGroupTemplates":[{"name":"t",%s%s}]}}`, n, gang, fields), shown: []string{"spec"}})
	}
	class := func(name, fields string) {
		out = append(out, step{method: "POST", path: classes, body: fmt.Sprintf(`{"metadata":{"name":%q},%s}`, name, fields)})
	}
	class("high", `"value":1000`)
	every := func() {
		for _, fields := range []string{"", `,"priority":0`, `,"priority":7`, `,"priorityClassName":"high"`, `,"priorityClassName":"high","priority":1000`,
			`,"priorityClassName":"high","priority":5`, `,"priorityClassName":"none"`, `,"priorityClassName":"No_Name"`, `,"priorityClassName":"system-node-critical"`,
			`,"disruptionMode":"PodGroup"`, `,"disruptionMode":"Pod"`, `,"disruptionMode":"X"`, `,"disruptionMode":""`, `,"priority":1000000001`, `,"priority":-2147483648`} {
			group(fields)
			workload(fields)
		}
	}
	every()
	class("usual", `"value":5,"globalDefault":true`)
	every()
	for _, change := range []string{`{"spec":{"priority":9}}`, `{"spec":{"priority":null}}`, `{"spec":{"priorityClassName":"high"}}`, disruptedAsAWhole, `{"spec":{"disruptionMode":null}}`, `{"metadata":{"labels":{"a":"b"}}}`, `{"spec":{"schedulingPolicy":{"gang":{"minCount":3}}}}`,
		`{"spec":{"schedulingConstraints":{"topology":[{"key":"zone"}]}}}`, `{"spec":{"resourceClaims":[{"name":"a","resourceClaimName":"b"}]}}`, `{"spec":{"podGroupTemplateRef":{"workload":{"workloadName":"w","podGroupTemplateName":"t"}}}}`} {
		out = append(out, step{method: "PATCH", path: path + "podgroups/g1", body: change, contentType: "application/merge-patch+json", shown: []string{"spec"}})
	}
	for _, change := range []string{`{"spec":{"controllerRef":{"kind":"Job","name":"j"}}}`, `{"spec":{"podGroupTemplates":[{"name":"u","schedulingPolicy":{"basic":{}}}]}}`} {
		out = append(out, step{method: "PATCH", path: path + "workloads/w2", body: change, contentType: "application/merge-patch+json", shown: []string{"spec"}})
	}
	return out
}

// TestGroupPriorityBeside sends both servers the same requests with the feature WorkloadAwarePreemption and
// without it.
func TestGroupPriorityBeside(t *testing.T) {
	const gates = "--feature-gates=GenericWorkload=true,GangScheduling=true"
	for _, gate := range []string{gates + ",WorkloadAwarePreemption=true", gates} {
		theirs, ours := startUpstream(t, servesGroups, gate), startLive(t, servesGroups, gate)
		for _, l := range []*live{theirs, ours} {
			l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
		}
		for i, s := range groupPriorities() {
			if gate == gates && s.body == disruptedAsAWhole {
				// kube-apiserver says here that the field is forbidden.
				require.Equal(t, http.StatusUnprocessableEntity, ours.verdict(s.method, s.path, s.body, "Content-Type", s.contentType).Code)
				continue
			}
			compareStep(t, theirs, ours, i, s)
		}
	}
}
