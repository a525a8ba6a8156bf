package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
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

// groupAdmissions are requests that the plugins PodGroupWorkloadExists and PodGroupProtection are about.
func groupAdmissions() (out []step) {
	const (
		path  = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/"
		basic = `"schedulingPolicy":{"basic":{}}`
	)
	shown := []string{"metadata.finalizers", "spec.podGroupTemplateRef"}
	group := func(query, meta, workload, template string) {
		ref := fmt.Sprintf(`,"podGroupTemplateRef":{"workload":{"workloadName":%q,"podGroupTemplateName":%q}}`, workload, template)
		if workload == "" {
			ref = ""
		}
		out = append(out, step{method: "POST", path: path + "podgroups" + query, body: `{"metadata":{` + meta + `},"spec":{` + basic + ref + `}}`, shown: shown})
	}
	change := func(resource, body string) {
		out = append(out, step{method: "PATCH", path: path + resource, body: body, contentType: "application/merge-patch+json", shown: shown})
	}
	workload := func(name, meta string) {
		out = append(out, step{method: "POST", path: path + "workloads", body: fmt.Sprintf(`{"metadata":{"name":%q%s},"spec":{"podGroupTemplates":[{"name":"t",%s},{"name":"u",%[3]s}]}}`, name, meta, basic)})
	}
	group("", `"name":"early"`, "w", "t")
	workload("w", "")
	workload("going", `,"finalizers":["a.test/stay"]`)
	out = append(out, step{method: "DELETE", path: path + "workloads/going"})
	for i, to := range [][2]string{{"", ""}, {"w", "t"}, {"w", "u"}, {"w", "v"}, {"W", "t"}, {"none", "t"}, {"going", "t"}, {"going", "v"}} {
		for _, query := range []string{"?dryRun=All", ""} {
			group(query, fmt.Sprintf(`"name":"g%d"`, i), to[0], to[1])
		}
	}
	group("", `"generateName":"n-"`, "w", "t")
	group("", `"name":"own","finalizers":["a.test/stay"]`, "w", "t")
	group("", `"name":"both","finalizers":["scheduling.k8s.io/podgroup-protection","a.test/stay"]`, "", "")
	group("", `"name":"wrong","finalizers":["a b"]`, "none", "t")
	out = append(out, step{method: "DELETE", path: path + "workloads/w"})
	group("", `"name":"late"`, "w", "t")
	change("podgroups/g1", `{"metadata":{"labels":{"a":"b"}}}`)
	change("podgroups/g1", `{"metadata":{"finalizers":["a.test/stay"]}}`)
	change("podgroups/g1", `{"metadata":{"finalizers":null}}`)
	change("podgroups/g1/status", `{"metadata":{"finalizers":["a.test/more"]}}`)
	out = append(out, step{method: "DELETE", path: path + "podgroups/g1"}, step{method: "GET", path: path + "podgroups/g1"}, step{method: "DELETE", path: path + "podgroups/g2"}, step{method: "GET", path: path + "podgroups/g2", shown: shown})
	change("podgroups/g2", `{"metadata":{"finalizers":["scheduling.k8s.io/podgroup-protection","a.test/later"]}}`)
	change("podgroups/g2", `{"metadata":{"finalizers":null}}`)
	return append(out, step{method: "GET", path: path + "podgroups/g2"})
}

// gangJobs are changes of Jobs whose pods are in groups of all kinds, which the plugin JobValidation is
// about.
func gangJobs(uid func(job string) string) (out []step) {
	const (
		groups = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
		jobs   = "/apis/batch/v1/namespaces/default/jobs"
	)
	group := func(name, policy, meta string) {
		out = append(out, step{method: "POST", path: groups, body: fmt.Sprintf(`{"metadata":{"name":%q%s},"spec":{"schedulingPolicy":{%s}}}`, name, meta, policy)})
	}
	if uid == nil {
		group("gang", `"gang":{"minCount":2}`, "")
		group("basic", `"basic":{}`, "")
		for name, of := range map[string]string{"in-gang": "gang", "in-basic": "basic", "in-none": "none", "owner": "", "owner-of-basic": "", "alone": ""} {
			spec := ""
			if of != "" {
				spec = `,"schedulingGroup":{"podGroupName":"` + of + `"}`
			}
			out = append(out, step{method: "POST", path: jobs, body: fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"parallelism":2,"completions":4,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"x"}]%s}}}}`, name, spec), shown: []string{"spec.template.spec.schedulingGroup"}})
		}
		return out
	}
	owned := func(job string, controller bool) string {
		return fmt.Sprintf(`,"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":%q,"uid":%q,"controller":%t}]`, job, uid(job), controller)
	}
	group("of-owner", `"gang":{"minCount":2}`, owned("owner", true))
	group("of-owner-basic", `"basic":{}`, owned("owner-of-basic", true))
	group("not-controlled", `"gang":{"minCount":2}`, owned("alone", false))
	for _, name := range []string{"in-gang", "in-basic", "in-none", "owner", "owner-of-basic", "alone"} {
		for _, change := range []string{`{"spec":{"parallelism":2,"suspend":true}}`, `{"spec":{"parallelism":3}}`, `{"spec":{"parallelism":null}}`, `{"spec":{"activeDeadlineSeconds":9}}`, `{"metadata":{"labels":{"a":"b"}}}`} {
			out = append(out, step{method: "PATCH", path: jobs + "/" + name, body: change, contentType: "application/merge-patch+json", shown: []string{"spec.parallelism"}})
		}
	}
	return out
}

// TestGangJobsBeside changes the parallelism of Jobs on both servers.
func TestGangJobsBeside(t *testing.T) {
	flags := []string{servesGroups, "--feature-gates=GenericWorkload=true"}
	theirs, ours := startUpstream(t, flags...), startLive(t, flags...)
	for _, l := range []*live{theirs, ours} {
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
	}
	n := 0
	for _, s := range gangJobs(nil) {
		n++
		compareStep(t, theirs, ours, n, s)
	}
	changes := make([][]step, 2)
	for i, l := range []*live{theirs, ours} { // UIDs differ
		changes[i] = gangJobs(func(job string) string {
			var o struct{ Metadata struct{ UID string } }
			require.NoError(t, json.Unmarshal([]byte(l.must(http.StatusOK, "GET", "/apis/batch/v1/namespaces/default/jobs/"+job, "").body), &o))
			return o.Metadata.UID
		})
	}
	refusals := 0
	for i := range changes[0] {
		want, wantShown := theirs.do(changes[0][i])
		got, gotShown := ours.do(changes[1][i])
		require.Equal(t, want, got, changes[1][i].body)
		require.Equal(t, wantShown, gotShown, changes[1][i].body)
		if strings.Contains(got.Message, "cannot change parallelism") {
			refusals++
		}
	}
	require.Equal(t, 4, refusals)
}

// TestGroupAdmissionBeside creates, changes and deletes groups on both servers, whose workloads and templates
// exist, do not, or go, with the plugins that protect them and without.
func TestGroupAdmissionBeside(t *testing.T) {
	for _, disabled := range []string{"", "PodGroupWorkloadExists,PodGroupProtection"} {
		flags := []string{servesGroups, "--feature-gates=GenericWorkload=true", "--disable-admission-plugins=" + disabled}
		theirs, ours := startUpstream(t, flags...), startLive(t, flags...)
		for _, l := range []*live{theirs, ours} {
			l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
		}
		for i, s := range groupAdmissions() {
			compareStep(t, theirs, ours, i, s)
		}
	}
}
