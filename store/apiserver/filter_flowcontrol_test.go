package apiserver_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// named authenticates requests as the user and group that their headers name.
func named() authn.Authenticator {
	return authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
		u := &authn.User{Name: r.Header.Get("As-User"), Groups: r.Header.Values("As-Group")}
		return &authn.Response{User: u}, true, nil
	})
}

// blocking delays reads of secrets until block is closed, and sends on the channel for each.
func blocking(block chan struct{}) (authz.Authorizer, chan struct{}) {
	entered := make(chan struct{}, 100)
	return authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
		if a.Resource == "secrets" {
			entered <- struct{}{}
			<-block
		}
		return authz.Allow, "", nil
	}), entered
}

// dumpFlows reads one of the dumps of priority and fairness, as rows of cells.
func dumpFlows(s *server, what string) (rows [][]string) {
	got := s.do("GET", "/debug/api_priority_and_fairness/dump_"+what, nil, "As-User", "root", "As-Group", "system:masters")
	require.Equal(s.t, 200, got.code)
	for line := range strings.Lines(string(got.body)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

// A level that is full rejects; others, exempt users, probes and open watches go on.
func TestPriorityLevels(t *testing.T) {
	block := make(chan struct{})
	authorizer, entered := blocking(block)
	s := startCluster(t, apiserver.Options{MaxInFlight: 1, MaxMutatingInFlight: 1, Authenticator: named(), Authorizer: authorizer})
	levels := map[string]string{}
	for _, i := range s.do("GET", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", nil, "As-Group", "system:masters").ok(200).items() {
		levels[object(i.(map[string]any)).str("metadata.name")] = object(i.(map[string]any)).str("metadata.uid")
	}
	require.Len(t, levels, 8)
	open := s.watch(configMaps + "?watch=1&allowWatchBookmarks=true")
	require.Eventually(t, func() bool { // the objects have been read
		// It is refused while the watch above starts and holds the only seat.
		got := s.do("GET", configMaps, nil, "As-User", "nobody")
		return got.code == 200 && got.header.Get("X-Kubernetes-PF-PriorityLevel-UID") == levels["catch-all"]
	}, time.Minute, time.Millisecond)
	before := dumpFlows(s, "priority_levels")[1]
	done := make(chan struct{})
	go func() {
		defer close(done)
		resp := s.open("GET", "/api/v1/secrets", nil, "As-User", "nobody")
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}()
	<-entered
	got := s.do("GET", configMaps, nil, "As-User", "nobody")
	require.Equal(t, "TooManyRequests", got.ok(429).str("reason"))
	require.Equal(t, "1", got.header.Get("Retry-After"))
	got = s.do("GET", configMaps, nil, "As-User", "ann", "As-Group", "system:authenticated")
	got.ok(200)
	require.Equal(t, levels["global-default"], got.header.Get("X-Kubernetes-PF-PriorityLevel-UID"))
	got = s.do("POST", configMaps, configMap("a"), "As-User", "root", "As-Group", "system:masters")
	got.ok(201)
	require.Equal(t, levels["exempt"], got.header.Get("X-Kubernetes-PF-PriorityLevel-UID"))
	require.Equal(t, 200, s.do("GET", "/livez", nil, "As-Group", "system:unauthenticated").code)
	open.expect("BOOKMARK", "") // the end of the initial objects
	open.expect("ADDED", "a")
	require.Equal(t, []string{"PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests",
		"DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests"}, dumpFlows(s, "priority_levels")[0])
	row := dumpFlows(s, "priority_levels")[1]
	require.Equal(t, []string{"catch-all", "0", "false", "false", "0", "1"}, row[:6], "the read of secrets")
	rejected, err := strconv.Atoi(before[7])
	require.NoError(t, err)
	require.Equal(t, []string{strconv.Itoa(rejected + 1), "0", "0"}, row[7:], "one was rejected")
	requests := dumpFlows(s, "requests")
	require.Len(t, requests, 2, "%v", requests)
	require.Equal(t, []string{"catch-all", "catch-all", "-1", "-1", "nobody"}, requests[1][:5])
	queues := dumpFlows(s, "queues")
	require.Equal(t, []string{"global-default", "0", "0", "0", "0"}, queues[1][:5], "catch-all has no queues")
	close(block)
	<-done
}

// FlowSchema and PriorityLevelConfiguration objects take effect, and the status of a schema says whether its
// level exists.
func TestFlowsAreConfiguredByObjects(t *testing.T) {
	s := start(t, apiserver.Options{Authenticator: named()})
	const group = "/apis/flowcontrol.apiserver.k8s.io/v1/"
	root := []string{"As-User", "root", "As-Group", "system:masters"}
	flow := s.do("POST", group+"flowschemas", `{"metadata":{"name":"mine"},"spec":{"matchingPrecedence":5,"priorityLevelConfiguration":{"name":"mine"},
		"rules":[{"subjects":[{"kind":"User","user":{"name":"ann"}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"namespaces":["*"]}]}]}}`, root...).ok(201)
	w := s.watch(group+"flowschemas?watch=1&fieldSelector=metadata.name%3Dmine", root...)
	dangling := func() (status string) {
		for status == "" {
			if c, _ := w.next().at("object.status.conditions").([]any); len(c) > 0 {
				status = object(c[0].(map[string]any)).str("status")
			}
		}
		return status
	}
	require.Equal(t, "True", dangling())
	level := s.do("POST", group+"prioritylevelconfigurations", `{"metadata":{"name":"mine"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":1,"limitResponse":{"type":"Reject"}}}}`, root...).ok(201)
	require.Equal(t, "False", dangling())
	var got *answer
	require.Eventually(t, func() bool {
		got = s.do("GET", configMaps, nil, "As-User", "ann")
		return got.header.Get("X-Kubernetes-PF-PriorityLevel-UID") == level.str("metadata.uid")
	}, time.Minute, time.Millisecond)
	require.Equal(t, flow.str("metadata.uid"), got.header.Get("X-Kubernetes-PF-FlowSchema-UID"))
}

// The mandatory objects, which keep a server usable whatever else is configured, cannot be changed.
func TestMandatoryFlowsAreFixed(t *testing.T) {
	s := startCluster(t, apiserver.Options{})
	const base = "/apis/flowcontrol.apiserver.k8s.io/v1/"
	patch := func(path, body string) *answer {
		return s.do("PATCH", base+path, body, "Content-Type", "application/merge-patch+json")
	}
	for path, bad := range map[string]string{
		"flowschemas/exempt":                    `{"spec":{"rules":[]}}`,
		"flowschemas/catch-all":                 `{"spec":{"matchingPrecedence":100}}`,
		"prioritylevelconfigurations/catch-all": `{"spec":{"limited":{"nominalConcurrencyShares":50}}}`,
	} {
		require.Eventually(t, func() bool { return s.do("GET", base+path, nil).code == 200 }, time.Minute, 10*time.Millisecond)
		got := patch(path, bad).ok(422)
		require.Equal(t, "spec", cause(t, got).str("field"), path)
		require.Contains(t, got.str("message"), "must equal the fixed value")
		patch(path, `{"metadata":{"labels":{"a":"b"}}}`).ok(200)
	}
	patch("prioritylevelconfigurations/exempt", `{"spec":{"exempt":{"nominalConcurrencyShares":10}}}`).ok(200)
	patch("prioritylevelconfigurations/exempt", `{"spec":{"type":"Limited","exempt":null,"limited":{"limitResponse":{"type":"Reject"}}}}`).ok(422)
	patch("flowschemas/global-default", `{"spec":{"matchingPrecedence":9901}}`).ok(200)
}
