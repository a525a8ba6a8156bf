package apiserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/audit"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// auditTrail keeps events, and fails as the test sets it.
type auditTrail struct {
	mu     sync.Mutex
	events []*auditv1.Event
	fail   error
}

func (a *auditTrail) Record(_ context.Context, events ...*auditv1.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail != nil {
		return a.fail
	}
	a.events = append(a.events, events...)
	return nil
}

// of returns the events of a request.
func (a *auditTrail) of(id string) (out []*auditv1.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.events {
		if string(e.AuditID) == id {
			out = append(out, e)
		}
	}
	return out
}

func (a *auditTrail) stages(id string) (out []auditv1.Stage) {
	for _, e := range a.of(id) {
		out = append(out, e.Stage)
	}
	return out
}

func auditPolicy(t testing.TB, rules string) *audit.Policy {
	t.Helper()
	p, err := audit.ParsePolicy([]byte("apiVersion: audit.k8s.io/v1\nkind: Policy\n" + rules))
	require.NoError(t, err)
	return p
}

// callers authenticates by the header X-User, and authorizes all users but mallory.
func callers(o apiserver.Options) apiserver.Options {
	o.Authenticator = authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
		name := r.Header.Get("X-User")
		return &authn.Response{User: &authn.User{Name: name, UID: "u1", Groups: []string{"dev"}, Extra: map[string][]string{"k": {"v"}}}}, name != "", nil
	})
	o.Authorizer = authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
		switch a.User.Name {
		case "mallory":
			return authz.NoOpinion, "no grant", nil
		case "oops":
			return authz.NoOpinion, "", errors.New("no connection")
		}
		return authz.Allow, "by the test", nil
	})
	return o
}

const everythingAt = "rules: [{level: %s}]"

// The events of requests of all kinds, with what upstream's have.
func TestAuditEvents(t *testing.T) {
	trail := &auditTrail{}
	s := start(t, callers(apiserver.Options{
		Audit:     audit.Options{Policy: auditPolicy(t, fmt.Sprintf(everythingAt, "RequestResponse")), Backend: trail},
		Admission: []admission.Plugin{noting{}},
	}))
	last := func(id string) object {
		events := trail.of(id)
		require.NotEmpty(t, events, id)
		var o object
		b, err := codec.Marshal(events[len(events)-1])
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &o))
		return o
	}
	s.do("POST", configMaps+"?fieldManager=m", configMap("a", "k", "v"), "X-User", "ann", "Audit-ID", "create", "X-Forwarded-For", "1.2.3.4, 5.6.7.8", "User-Agent", "go/1").ok(201)
	require.Equal(t, []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseComplete}, trail.stages("create"))
	require.Nil(t, trail.of("create")[0].ResponseStatus)
	require.Equal(t, trail.of("create")[0].RequestReceivedTimestamp, trail.of("create")[0].StageTimestamp)
	e := last("create")
	require.Equal(t, "Event", e.str("kind"))
	require.Equal(t, "audit.k8s.io/v1", e.str("apiVersion"))
	require.Equal(t, configMaps+"?fieldManager=m", e.str("requestURI"))
	require.Equal(t, "create", e.str("verb"))
	require.Equal(t, "go/1", e.str("userAgent"))
	require.Equal(t, []any{"1.2.3.4", "5.6.7.8"}, e.at("sourceIPs"))
	require.Equal(t, map[string]any{"username": "ann", "uid": "u1", "groups": []any{"dev"}, "extra": map[string]any{"k": []any{"v"}}}, e.at("user"))
	require.Equal(t, map[string]any{"resource": "configmaps", "namespace": "default", "name": "a", "apiVersion": "v1"}, e.at("objectRef"))
	require.Equal(t, map[string]any{"metadata": map[string]any{}, "code": 201.0}, e.at("responseStatus"))
	require.Equal(t, "v", e.str("requestObject.data.k"))
	require.Nil(t, e.at("requestObject.metadata.uid"))
	require.NotEmpty(t, e.str("responseObject.metadata.uid"))
	require.Equal(t, map[string]any{"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "by the test", "noting/key": "value"}, e.at("annotations"))

	s.do("PATCH", configMaps+"/a", `{"data":{"x":"y"}}`, "X-User", "ann", "Audit-ID", "patch", "Content-Type", "application/merge-patch+json").ok(200)
	e = last("patch")
	require.Equal(t, object{"data": map[string]any{"x": "y"}}, object(e.at("requestObject").(map[string]any)))
	require.Equal(t, "y", e.str("responseObject.data.x"))

	s.do("PATCH", configMaps+"/b?fieldManager=m", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n", "X-User", "ann", "Audit-ID", "apply", "Content-Type", "application/apply-patch+yaml").ok(201)
	require.Equal(t, "ConfigMap", last("apply").str("requestObject.kind"))

	s.do("GET", configMaps, nil, "X-User", "ann", "Audit-ID", "list", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").ok(200)
	require.Equal(t, "Table", last("list").str("responseObject.kind"))
	s.do("GET", configMaps, nil, "X-User", "ann", "Audit-ID", "protolist", "Accept", "application/vnd.kubernetes.protobuf")
	require.Len(t, last("protolist").at("responseObject.items"), 2)
	s.do("GET", configMaps+"/a", nil, "X-User", "ann", "Audit-ID", "proto", "Accept", "application/vnd.kubernetes.protobuf")
	require.Equal(t, "v", last("proto").str("responseObject.data.k"))
	require.Equal(t, "ConfigMap", last("proto").str("responseObject.kind"))

	s.do("DELETE", configMaps+"/a", `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}`, "X-User", "ann", "Audit-ID", "delete", "Impersonate-User", "bob").ok(200)
	e = last("delete")
	require.Equal(t, "Foreground", e.str("requestObject.propagationPolicy"))
	require.Equal(t, "ann", e.str("user.username"))
	require.Equal(t, "bob", e.str("impersonatedUser.username"))

	s.do("GET", configMaps+"/gone", nil, "X-User", "ann", "Audit-ID", "gone").ok(404)
	e = last("gone")
	require.Equal(t, "NotFound", e.str("responseStatus.reason"))
	require.Equal(t, "Failure", e.str("responseObject.status"))

	s.do("GET", configMaps, nil, "X-User", "mallory", "Audit-ID", "forbidden").ok(403)
	require.Equal(t, map[string]any{"authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": "no grant"}, last("forbidden").at("annotations"))
	s.do("GET", configMaps, nil, "X-User", "oops", "Audit-ID", "error").ok(500)
	require.Equal(t, map[string]any{"authorization.k8s.io/reason": "internal error"}, last("error").at("annotations"))

	s.do("GET", configMaps, nil, "Audit-ID", "unknown").ok(401)
	require.Equal(t, []auditv1.Stage{auditv1.StageResponseStarted}, trail.stages("unknown"))
	e = last("unknown")
	require.Equal(t, map[string]any{"metadata": map[string]any{}, "status": "Failure", "reason": "Unauthorized", "message": "Unauthorized", "code": 401.0}, e.at("responseStatus"))
	require.Equal(t, map[string]any{}, e.at("user"))
}

// noting is an admission plugin that adds an annotation.
type noting struct{}

func (noting) Name() string                        { return "noting" }
func (noting) Handles(op admission.Operation) bool { return op == admission.Create }
func (noting) Validate(_ context.Context, a *admission.Attributes) error {
	a.Annotate("noting/key", "value")
	return nil
}

// A watch has three events, also when its client vanishes; a panic has one of its own; a request without a
// response is complete.
func TestAuditStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trail := &auditTrail{}
		s := start(t, apiserver.Options{
			Audit: audit.Options{Policy: auditPolicy(t, fmt.Sprintf(everythingAt, "Metadata")), Backend: trail},
			Handlers: map[string]http.Handler{
				"/panic": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("bug") }),
				"/abort": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
				"/empty": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
			}})
		watch := s.open("GET", configMaps+"?watch=1", nil, "Audit-ID", "watch")
		synctest.Wait()
		require.Equal(t, []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseStarted}, trail.stages("watch"))
		require.NoError(t, watch.Body.Close())
		synctest.Wait()
		require.Equal(t, []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseStarted, auditv1.StageResponseComplete}, trail.stages("watch"))
		require.Equal(t, int32(200), trail.of("watch")[2].ResponseStatus.Code)

		s.do("GET", "/panic", nil, "Audit-ID", "panic").ok(500)
		require.Equal(t, []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StagePanic}, trail.stages("panic"))
		require.Equal(t, "APIServer panic'd: bug", trail.of("panic")[1].ResponseStatus.Message)
		r, err := http.NewRequest("POST", "http://server/abort", nil) // a GET would be sent again
		require.NoError(t, err)
		r.Header.Set("Audit-ID", "abort")
		_, err = s.client.Do(r)
		require.Error(t, err)
		synctest.Wait()
		require.Equal(t, []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StagePanic}, trail.stages("abort"))
		s.do("GET", "/empty", nil, "Audit-ID", "empty")
		require.Equal(t, "Connection closed early", trail.of("empty")[1].ResponseStatus.Message)

		// The body never arrives, and the client goes away.
		ctx, vanish := context.WithCancel(t.Context())
		in, out := io.Pipe()
		r, err = http.NewRequestWithContext(ctx, "POST", "http://server"+configMaps, in)
		require.NoError(t, err)
		r.Header.Set("Audit-ID", "vanished")
		go func() {
			resp, err := s.client.Do(r)
			if err == nil {
				_ = resp.Body.Close()
			}
		}()
		synctest.Wait()
		vanish()
		require.NoError(t, out.Close())
		synctest.Wait()
		require.Equal(t, []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseComplete}, trail.stages("vanished"))
	})
}

// A backend that fails refuses requests at the stage RequestReceived; later its errors change nothing.
func TestAuditBackendFails(t *testing.T) {
	trail := &auditTrail{}
	rejected := 0
	o := audit.Options{Policy: auditPolicy(t, fmt.Sprintf(everythingAt, "Metadata")), Backend: trail, Metrics: audit.Metrics{Rejected: func() { rejected++ }}}
	s := start(t, apiserver.Options{Audit: o})
	trail.fail = errors.New("no space left on device")
	no := s.do("POST", configMaps, configMap("a"), "Audit-ID", "refused").ok(500)
	require.Contains(t, no.str("message"), "failed to store audit event")
	require.Equal(t, 1, rejected)
	trail.fail = nil
	s.do("GET", configMaps+"/a", nil).ok(404)
	require.Empty(t, trail.of("refused"))

	trail.fail = errors.New("no space left on device")
	o.Backend = audit.Lenient(trail)
	start(t, apiserver.Options{Audit: o}).do("POST", configMaps, configMap("a")).ok(201)
	o.Backend, o.Policy = trail, auditPolicy(t, "omitStages: [RequestReceived]\n"+fmt.Sprintf(everythingAt, "Metadata"))
	start(t, apiserver.Options{Audit: o}).do("POST", configMaps, configMap("a")).ok(201)
}

// With the example policy no byte of a secret is in an event, whatever is done to secrets.
func TestAuditExamplePolicyHidesSecrets(t *testing.T) {
	text, err := os.ReadFile("../../docs/audit-policy.yaml")
	require.NoError(t, err)
	policy, err := audit.ParsePolicy(text)
	require.NoError(t, err)
	var log strings.Builder
	s := start(t, apiserver.Options{Audit: audit.Options{Policy: policy, Backend: audit.NewLog(&log, audit.LogOptions{})}})
	const secrets = "/api/v1/namespaces/default/secrets"
	const value = "cGFzc3dvcmQtMTIzNA==" // password-1234
	secret := object{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": value}}
	s.do("POST", secrets, secret).ok(201)
	s.do("POST", secrets, secret).ok(409)
	s.do("GET", secrets, nil).ok(200)
	s.do("PATCH", secrets+"/a", `{"stringData":{"k":"password-1234"}}`, "Content-Type", "application/merge-patch+json").ok(200)
	s.do("PATCH", secrets+"/a", `{"stringData":{"k":["password-1234"]}}`, "Content-Type", "application/merge-patch+json").ok(422)
	s.do("PATCH", secrets+"/a", `{"data":{"k":"password-1234!"}}`, "Content-Type", "application/strategic-merge-patch+json").ok(422)
	s.do("PATCH", secrets+"/a?fieldManager=m&force=1", "apiVersion: v1\nkind: Secret\nstringData: {k: password-1234}\n", "Content-Type", "application/apply-patch+yaml").ok(200)
	s.do("PATCH", secrets+"/a", `[{"op":"test","path":"/data/k","value":"`+value+`x"}]`, "Content-Type", "application/json-patch+json")
	s.do("PUT", secrets+"/a", strings.Replace(`{"metadata":{"name":"a"},"data":{"k":1}}`, "1", `"password-1234!"`, 1)).ok(400)
	s.do("PUT", secrets+"/a?dryRun=All", secret).ok(200)
	s.do("DELETE", secrets, nil).ok(200)
	require.Equal(t, 11, strings.Count(log.String(), "\n"))
	require.NotContains(t, log.String(), "password")
	require.NotContains(t, log.String(), value)
	require.Contains(t, log.String(), `"level":"Metadata"`)
	// The objects of other writes are recorded, without their managed fields.
	log.Reset()
	s.do("POST", pods, pod("p")).ok(201)
	require.Contains(t, log.String(), `"image":"app:1"`)
	require.NotContains(t, log.String(), "managedFields")
}

// An event has what the authenticator notes about the credential, accepted or refused, and, if the request
// was slow, what took it; the client is warned.
func TestAuditOfCredentialsAndTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trail := &auditTrail{}
		s := start(t, apiserver.Options{
			Audit: audit.Options{Policy: auditPolicy(t, fmt.Sprintf(everythingAt, "Metadata")), Backend: trail},
			Authenticator: authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
				switch r.Header.Get("X-User") {
				case "slow":
					time.Sleep(300 * time.Millisecond)
				case "refused":
					return nil, false, &authn.Refusal{Err: errors.New("of yesterday"), Note: authn.Note{Key: "a.test/refused", Value: "why"}}
				}
				return &authn.Response{User: &authn.User{Name: "ann"}, Notes: []authn.Note{{Key: "a.test/note", Value: "old"}}, Warnings: []string{"replace it"}}, true, nil
			}),
			Authorizer: authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
				time.Sleep(250 * time.Millisecond)
				return authz.Allow, "", nil
			}),
		})
		for _, path := range []string{"/version", configMaps} {
			for _, user := range []string{"slow", "fast"} {
				id := user + path
				a := s.do("GET", path, nil, "X-User", user, "Audit-ID", id)
				a.ok(200)
				require.Equal(t, `299 - "replace it"`, a.header.Get("Warning"), id)
				events := trail.of(id)
				require.Equal(t, map[string]string{"a.test/note": "old"}, events[0].Annotations)
				got := events[len(events)-1].Annotations
				require.Equal(t, "old", got["a.test/note"])
				const took = "apiserver.latency.k8s.io/"
				if user == "fast" {
					require.NotContains(t, got, took+"total")
					continue
				}
				require.Equal(t, []string{"550ms", "300ms", "250ms", ""}, []string{got[took+"total"], got[took+"authentication"], got[took+"authorization"], got[took+"apf-queue-wait"]})
			}
		}
		s.do("GET", "/version", nil, "X-User", "refused", "Audit-ID", "refused").ok(401)
		require.Equal(t, map[string]string{"a.test/refused": "why"}, trail.of("refused")[0].Annotations)
	})
}
