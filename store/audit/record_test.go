package audit_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/store/audit"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

func begin(t *testing.T, policy string, headers ...string) (*audit.Record, *[]*auditv1.Event) {
	t.Helper()
	p, err := audit.ParsePolicy([]byte(policyHead + policy))
	require.NoError(t, err)
	var events []*auditv1.Event
	o := audit.Options{Policy: p, Backend: audit.Func(func(_ context.Context, e ...*auditv1.Event) error {
		events = append(events, e...)
		return nil
	})}
	r := httptest.NewRequest("GET", "/api/v1/pods?limit=1", nil)
	r.RemoteAddr = "[::ffff:10.0.0.1]:77"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return o.Begin(r, time.Now(), "id", &authz.Attributes{User: &authn.User{Name: "ann"}, Verb: "list", ResourceRequest: true, APIVersion: "v1", Resource: "pods"}), &events
}

// An event that was passed on does not change any more.
func TestEventsAreImmutable(t *testing.T) {
	rec, events := begin(t, "rules: [{level: Metadata}]")
	rec.Annotate("a", "1")
	require.NoError(t, rec.Received(t.Context()))
	rec.Annotate("a", "2")
	rec.Annotate("b", "2")
	rec.Responding(t.Context(), 200, true)
	rec.Annotate("c", "3")
	rec.Complete(t.Context(), true)
	rec.Annotate("d", "4")
	rec.Complete(t.Context(), true)
	require.Len(t, *events, 3)
	require.Equal(t, map[string]string{"a": "1"}, (*events)[0].Annotations)
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, (*events)[1].Annotations)
	require.Equal(t, map[string]string{"a": "1", "b": "2", "c": "3"}, (*events)[2].Annotations)
	require.Nil(t, (*events)[0].ResponseStatus)
}

func TestSourceAddresses(t *testing.T) {
	for _, c := range []struct {
		headers []string
		want    []string
	}{
		{nil, []string{"10.0.0.1"}},
		{[]string{"X-Forwarded-For", "1.1.1.1, bad,2.2.2.2"}, []string{"1.1.1.1", "2.2.2.2", "10.0.0.1"}},
		{[]string{"X-Forwarded-For", "1.1.1.1, 10.0.0.1"}, []string{"1.1.1.1", "10.0.0.1"}},
		{[]string{"X-Forwarded-For", "1.1.1.1", "X-Real-Ip", "1.1.1.1"}, []string{"1.1.1.1", "10.0.0.1"}},
		{[]string{"X-Real-Ip", "3.3.3.3"}, []string{"3.3.3.3", "10.0.0.1"}},
	} {
		rec, events := begin(t, "rules: [{level: Metadata}]", c.headers...)
		rec.Complete(t.Context(), false)
		require.Equal(t, c.want, (*events)[0].SourceIPs)
	}
	rec, events := begin(t, "rules: [{level: Metadata}]", "User-Agent", strings.Repeat("é", 1000))
	rec.Complete(t.Context(), false)
	require.Equal(t, strings.Repeat("é", 512)+"...TRUNCATED", (*events)[0].UserAgent)
}

func TestManagedFieldsAreOmitted(t *testing.T) {
	const item = `{"metadata":{"managedFields":[{"manager":"m"}],"name":"a"},"spec":{"managedFields":1}}`
	const bare = `{"metadata":{"name":"a"},"spec":{"managedFields":1}}`
	for body, want := range map[string]string{
		item:                            bare,
		`{"items":[` + item + `,null]}`: `{"items":[` + bare + `,null]}`,
		`{"rows":[{"cells":[1],"object":` + item + `},{"object":null}]}`:     `{"rows":[{"cells":[1],"object":` + bare + `},{"object":null}]}`,
		`{"managedFields":1,"metadata":7}`:                                   `{"managedFields":1,"metadata":7}`,
		`[{"op":"remove","path":"/metadata/managedFields"},"managedFields"]`: `[{"op":"remove","path":"/metadata/managedFields"},"managedFields"]`,
	} {
		rec, events := begin(t, "omitManagedFields: true\nrules: [{level: RequestResponse}]")
		rec.RequestBody([]byte(body))
		rec.ResponseBody([]byte(body))
		rec.Complete(t.Context(), false)
		require.JSONEq(t, want, string((*events)[0].RequestObject.Raw))
		require.JSONEq(t, want, string((*events)[0].ResponseObject.Raw))
	}
	rec, events := begin(t, "rules: [{level: Request}]")
	rec.RequestBody([]byte(item))
	rec.ResponseBody([]byte(item))
	rec.Complete(t.Context(), false)
	require.Equal(t, item, string((*events)[0].RequestObject.Raw))
	require.Nil(t, (*events)[0].ResponseObject)
}
