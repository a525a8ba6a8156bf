package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/memory"
)

// groupServer serves requests about the kinds of groups until the test ends.
func groupServer(t *testing.T, args ...string) func(method, path, body string) (int, string) {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("secret,root,1,system:masters\n"), 0o600))
	o, err := parse(append(args, "--storage-backend=memory", "--authorization-mode=RBAC", "--token-auth-file="+tokens))
	require.NoError(t, err)
	st := memory.New(memory.Options{})
	cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cp.Run(ctx) }()
	<-cp.Ready()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, st.Close())
	})
	return func(method, path, body string) (int, string) {
		if !strings.HasPrefix(path, "/") {
			path = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/" + path
		}
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Set("Content-Type", "application/json")
		switch method {
		case http.MethodPatch:
			r.Header.Set("Content-Type", "application/merge-patch+json")
		case http.MethodGet:
			r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		}
		w := httptest.NewRecorder()
		cp.ServeHTTP(w, r)
		var failure struct{ Message string }
		if w.Code >= http.StatusBadRequest && json.Unmarshal(w.Body.Bytes(), &failure) == nil && failure.Message != "" {
			return w.Code, failure.Message
		}
		return w.Code, w.Body.String()
	}
}

const (
	servesGroups = "--runtime-config=scheduling.k8s.io/v1alpha2=true"
	pod          = `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"automountServiceAccountToken":false,"schedulingGroup":{"podGroupName":"g"}}}`
)

// PodGroups and Workloads are served if their version and the feature GenericWorkload are enabled. Where they
// are not, no pod is in a group.
func TestPodGroupsAreServedIfEnabled(t *testing.T) {
	const gate = "--feature-gates=GenericWorkload=true"
	for _, c := range []struct {
		args   []string
		served bool
	}{
		{nil, false}, {[]string{gate}, false}, {[]string{servesGroups}, false}, {[]string{gate, servesGroups}, true}, {[]string{gate, "--runtime-config=api/alpha=true"}, true},
	} {
		do := groupServer(t, c.args...)
		status, body := do(http.MethodPost, "podgroups", `{"metadata":{"name":"g"},"spec":{"schedulingPolicy":{"basic":{}}}}`)
		require.Equal(t, c.served, status == http.StatusCreated, body)
		_, body = do(http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"default"}}`)
		status, made := do(http.MethodPost, "/api/v1/namespaces/default/pods", pod)
		require.Equal(t, http.StatusCreated, status, "%s %s", body, made)
		require.Equal(t, c.served, strings.Contains(made, `"schedulingGroup"`), made)
		status, job := do(http.MethodPost, "/apis/batch/v1/namespaces/default/jobs", `{"metadata":{"name":"j"},"spec":{"template":`+strings.Replace(pod, `"spec":{`, `"spec":{"restartPolicy":"Never",`, 1)+`}}`)
		require.Equal(t, http.StatusCreated, status, job)
		require.Equal(t, c.served, strings.Contains(job, `"schedulingGroup"`), job)
		template := `{"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}},"metadata":{"name":"r"}}`
		status, rc := do(http.MethodPost, "/api/v1/namespaces/default/replicationcontrollers", template)
		require.Equal(t, http.StatusCreated, status, rc)
		status, rc = do(http.MethodPatch, "/api/v1/namespaces/default/replicationcontrollers/r", `{"spec":{"template":{"spec":{"schedulingGroup":{"podGroupName":"g"}}}}}`)
		require.Equal(t, http.StatusOK, status, rc)
		require.Equal(t, c.served, strings.Contains(rc, `"schedulingGroup"`), rc)
		_, role := do(http.MethodPatch, "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:kube-scheduler", `{}`)
		require.Equal(t, c.served, strings.Contains(role, `"podgroups/status"`), role)
	}
	for _, dependent := range []string{"GangScheduling", "TopologyAwareWorkloadScheduling"} {
		_, err := parse([]string{"--storage-backend=memory", "--feature-gates=" + dependent + "=true"})
		require.ErrorContains(t, err, dependent+" is enabled, but depends on features that are disabled: [GenericWorkload]")
	}
}

// The responses are those of kube-apiserver 1.36.3 for the same requests with the same features.
func TestPodGroupRules(t *testing.T) {
	const (
		gang  = `"schedulingPolicy":{"gang":{"minCount":4}}`
		which = "must specify one of: `basic`, `gang`"
	)
	do := groupServer(t, servesGroups, "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true")
	workload := func(spec string) string { return `{"metadata":{"name":"w"},"spec":{` + spec + `}}` }
	group := func(spec string) string { return `{"metadata":{"name":"g"},"spec":{` + spec + `}}` }
	from := func(workload, template string) string {
		return group(gang + `,"podGroupTemplateRef":{"workload":{"workloadName":"` + workload + `","podGroupTemplateName":"` + template + `"}}`)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		want               []string
	}{
		{"POST", "workloads", workload(``), 422, []string{"spec.podGroupTemplates: Required value"}},
		{"POST", "workloads", workload(`"podGroupTemplates":[{}]`), 422, []string{"[0].name: Required value", `[0].schedulingPolicy: Invalid value: "": ` + which}},
		{"POST", "workloads", workload(`"podGroupTemplates":[` + strings.Repeat(`{},`, 8) + `{}]`), 422, []string{"spec.podGroupTemplates: Too many: 9: must have at most 8 items"}},
		{"POST", "workloads", workload(`"controllerRef":{"apiGroup":"A_","kind":"a/b","name":".."},"podGroupTemplates":[{"name":"T_","schedulingPolicy":{"gang":{"minCount":-1},"basic":{}}},{"name":"a",` + gang + `},{"name":"a","schedulingPolicy":{"gang":{}},"schedulingConstraints":{"topology":[{}]}}]`), 422, []string{
			`apiGroup: Invalid value: "A_"`, `kind: Invalid value: "a/b": may not contain '/'`, `name: Invalid value: "..": may not be '..'`, "spec.podGroupTemplates[2]: Duplicate value",
			`[0].name: Invalid value: "T_"`, "[0].schedulingPolicy: Invalid value: \"{basic, gang}\": must specify exactly one of: `basic`, `gang`", "[0].schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1",
			"[2].schedulingPolicy.gang.minCount: Required value", "[2].schedulingConstraints.topology[0].key: Required value"}},
		{"POST", "workloads", workload(`"controllerRef":{},"podGroupTemplates":[{"name":"a",` + gang + `,"schedulingConstraints":{"topology":[{"key":"a/b/c"}]}},{"name":"b",` + gang + `,"schedulingConstraints":{"topology":[{"key":"a"},{"key":"b"}]}}]`), 422,
			[]string{"controllerRef.kind: Required", "controllerRef.name: Required", `[0].schedulingConstraints.topology[0].key: Invalid value: "a/b/c"`, "[1].schedulingConstraints.topology: Too many: 2: must have at most 1 item"}},
		{"POST", "workloads", workload(`"podGroupTemplates":[{"name":"t",` + gang + `,"disruptionMode":"X","priority":5,"priorityClassName":"x","resourceClaims":[{"name":"a"}]}]`), 201,
			[]string{`{"name":"t","schedulingPolicy":{"gang":{"minCount":4}},"schedulingConstraints":null}`}},
		{"PATCH", "workloads/w", `{"spec":{"podGroupTemplates":[{"name":"u",` + gang + `}]}}`, 422, []string{"spec.podGroupTemplates: Invalid value", "field is immutable"}},
		{"PATCH", "workloads/w", `{"spec":{"controllerRef":{"kind":"Job","name":"j"}}}`, 422, []string{"spec.controllerRef: Invalid value", "field is immutable"}},

		{"POST", "podgroups", group(``), 422, []string{`spec.schedulingPolicy: Invalid value: "": ` + which}},
		{"POST", "podgroups", group(gang + `,"podGroupTemplateRef":{}`), 422, []string{"spec.podGroupTemplateRef: Invalid value: \"\": must specify one of: `workload`"}},
		{"POST", "podgroups", from("", ""), 422, []string{"workload.workloadName: Required value", "workload.podGroupTemplateName: Required value"}},
		{"POST", "podgroups", from("W_", "t"), 422, []string{`workload.workloadName: Invalid value: "W_"`}},
		{"POST", "podgroups", from("v", "t"), 403, []string{`podgroups.scheduling.k8s.io "g" is forbidden: PodGroup rejected: Workload "v" not found`}},
		{"POST", "podgroups", from("w", "u"), 403, []string{`PodGroup rejected: PodGroupTemplate "u" not found in Workload "w"`}},
		{"PUT", "podgroups/g", group(gang), 404, nil},
		{"POST", "podgroups", from("w", "t"), 201, []string{`"finalizers":["scheduling.k8s.io/podgroup-protection"]`, `"disruptionMode":"Pod"`}},
		{"POST", "podgroups?dryRun=All", `{"metadata":{"name":"h"},"spec":{` + gang + `,"disruptionMode":"PodGroup","priority":5,"schedulingConstraints":{"topology":[{"key":"zone"}]}}}`, 201,
			[]string{`"schedulingConstraints":{"topology":[{"key":"zone"}]},"disruptionMode":"Pod"}`}},
		{"PATCH", "podgroups/g", `{"spec":{"schedulingPolicy":{"gang":{"minCount":3}}}}`, 422, []string{"spec.schedulingPolicy: Invalid value", "field is immutable"}},
		{"PATCH", "podgroups/g", `{"spec":{"schedulingConstraints":{"topology":[{"key":"zone"}]}}}`, 422, []string{"spec.schedulingConstraints: Invalid value"}},
		{"PATCH", "podgroups/g", `{"spec":{"podGroupTemplateRef":null}}`, 422, []string{"spec.podGroupTemplateRef: Invalid value"}},
		{"PATCH", "podgroups/g", `{"metadata":{"labels":{"a":"b"}},"status":{"conditions":[{"type":"X"}]}}`, 200, []string{`"a":"b"`, `"status":{}`}},
		{"PATCH", "podgroups/g/status", `{"status":{"conditions":[{"type":"PodGroupScheduled","status":"","reason":"a b"}]}}`, 422, []string{"status.conditions[0].status: Unsupported value", "lastTransitionTime: Required", "reason: Invalid value"}},
		{"PATCH", "podgroups/g/status", `{"status":{"resourceClaimStatuses":[{"name":"x"}]}}`, 422, []string{"must match the name of an entry in `spec.resourceClaims`"}},
		{"GET", "podgroups", "", 200, []string{`["g","Gang","w","Pending","`}},
		{"PATCH", "podgroups/g/status", `{"status":{"conditions":[{"type":"PodGroupScheduled","status":"False","reason":"Unschedulable","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, 200, nil},
		{"GET", "podgroups", "", 200, []string{`["g","Gang","w","Unschedulable","`}},
		{"GET", "workloads", "", 200, []string{`["w","`}},
		{"DELETE", "podgroups/g", "", 200, []string{`"deletionTimestamp"`}},
	} {
		status, body := do(c.method, c.path, c.body)
		require.Equal(t, c.status, status, "%s %s: %s", c.path, c.body, body)
		for _, want := range c.want {
			require.Contains(t, body, want, "%s %s", c.path, c.body)
		}
	}

	do = groupServer(t, servesGroups, "--feature-gates=GenericWorkload=true")
	_, body := do(http.MethodPost, "podgroups", group(gang+`,"schedulingConstraints":{"topology":[{"key":"zone"}]}`))
	require.NotContains(t, body, `"schedulingConstraints"`)
	_, body = do(http.MethodPost, "workloads", workload(`"podGroupTemplates":[{"name":"t",`+gang+`,"schedulingConstraints":{"topology":[{"key":"zone"}]}}]`))
	require.NotContains(t, body, `"topology"`)
}

// With the feature WorkloadAwarePreemption a PodGroup has a mode of disruption, and a priority, which is that
// of its class.
func TestGroupPriority(t *testing.T) {
	const gang = `"schedulingPolicy":{"gang":{"minCount":4}}`
	do := groupServer(t, servesGroups, "--feature-gates=GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true")
	group := func(fields string) string { return `{"metadata":{"generateName":"g"},"spec":{` + gang + fields + `}}` }
	status, body := do(http.MethodPost, "/apis/scheduling.k8s.io/v1/priorityclasses", `{"metadata":{"name":"high"},"value":1000}`)
	require.Equal(t, http.StatusCreated, status, body)
	for _, c := range []struct {
		fields string
		status int
		want   string
	}{
		{``, 201, `"disruptionMode":"Pod","priority":0}`},
		{`,"priorityClassName":"high","disruptionMode":"PodGroup"`, 201, `"disruptionMode":"PodGroup","priorityClassName":"high","priority":1000}`},
		{`,"priorityClassName":"high","priority":5`, 403, "priority set in the pod group (5) must match the priority computed (1000) based on the priority class set in the spec"},
		{`,"priorityClassName":"none"`, 403, "no PriorityClass with name none was found"},
		{`,"disruptionMode":"X"`, 422, `spec.disruptionMode: Unsupported value: "X": supported values: "Pod", "PodGroup"`},
		{`,"priorityClassName":"system-node-critical"`, 422, "spec.priority: Invalid value: 2000001000: must be less than or equal to 1000000000"},
	} {
		status, body := do(http.MethodPost, "podgroups", group(c.fields))
		require.Equal(t, c.status, status, "%s: %s", c.fields, body)
		require.Contains(t, body, c.want)
	}
	_, err := parse([]string{"--storage-backend=memory", "--feature-gates=GenericWorkload=true,WorkloadAwarePreemption=true"})
	require.ErrorContains(t, err, "depends on features that are disabled: [GangScheduling]")
}

// The parallelism of a Job whose pods are a gang does not change; without the kinds of groups there are no
// gangs.
func TestParallelismOfGangs(t *testing.T) {
	const jobs = "/apis/batch/v1/namespaces/default/jobs"
	job := func(name, of string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"parallelism":2,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"x"}]` + of + `}}}}`
	}
	for _, served := range []bool{true, false} {
		var flags []string
		if served {
			flags = []string{servesGroups, "--feature-gates=GenericWorkload=true"}
		}
		do := groupServer(t, flags...)
		made := func(path, body string) string {
			t.Helper()
			status, text := do(http.MethodPost, path, body)
			require.Equal(t, http.StatusCreated, status, text)
			var o struct{ Metadata struct{ UID string } }
			require.NoError(t, json.Unmarshal([]byte(text), &o))
			return o.Metadata.UID
		}
		made(jobs, job("named", `,"schedulingGroup":{"podGroupName":"gang"}`))
		uid := made(jobs, job("owner", ""))
		made(jobs, job("other", `,"schedulingGroup":{"podGroupName":"basic"}`))
		if served {
			made("podgroups", `{"metadata":{"name":"gang"},"spec":{"schedulingPolicy":{"gang":{"minCount":2}}}}`)
			made("podgroups", `{"metadata":{"name":"basic"},"spec":{"schedulingPolicy":{"basic":{}}}}`)
			made("podgroups", `{"metadata":{"name":"owned","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"owner","uid":"`+uid+`","controller":true}]},"spec":{"schedulingPolicy":{"gang":{"minCount":2}}}}`)
		}
		for name, group := range map[string]string{"named": "gang", "owner": "owned", "other": ""} {
			status, text := do(http.MethodPatch, jobs+"/"+name, `{"spec":{"suspend":true,"parallelism":2}}`)
			require.Equal(t, http.StatusOK, status, text)
			status, text = do(http.MethodPatch, jobs+"/"+name, `{"spec":{"parallelism":3}}`)
			if !served || group == "" {
				require.Equal(t, http.StatusOK, status, text)
				continue
			}
			require.Equal(t, http.StatusForbidden, status, text)
			require.Contains(t, text, `cannot change parallelism for a Job referencing gang-scheduled PodGroup "`+group+`"`)
		}
	}
}
