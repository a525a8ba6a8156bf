package apimetrics_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

// The cost of the hooks of one request: all those of a GET and a POST, except admission plugins.
func BenchmarkHooks(b *testing.B) {
	h := apimetrics.New().Hooks()
	user, r := &authn.User{Name: "system:node:a"}, httptest.NewRequest("GET", configMaps, nil)
	get := apiserver.Measurement{Verb: "GET", Version: "v1", Resource: "configmaps", Scope: "resource", Code: 200, Elapsed: 50 * time.Microsecond, Bytes: 300}
	post := apiserver.Measurement{Verb: "POST", Version: "v1", Resource: "configmaps", Scope: "resource", Code: 201, Elapsed: 90 * time.Microsecond, BodyBytes: 300}
	around := func(m apiserver.Measurement) {
		h.Authenticated(r, user, nil, time.Microsecond)
		h.InFlight(m.Verb != "GET", 1)
		h.Flows.Started("system-nodes", "system", 1, 0)
		h.Flows.Executing("system-nodes", "system", 1, 1)
		h.Authorized(authz.Allow, nil, time.Microsecond)
		h.Flows.Executing("system-nodes", "system", -1, -1)
		h.Flows.Finished("system-nodes", "system", false, time.Microsecond)
		h.InFlight(m.Verb != "GET", -1)
		h.Request(m)
	}
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			around(get)
		}
	})
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h.Admission.Step(admission.Admitting, admission.Create, false, time.Microsecond)
			h.Admission.Step(admission.Validating, admission.Create, false, time.Microsecond)
			around(post)
		}
	})
	b.Run("plugin", func(b *testing.B) {
		b.ReportAllocs()
		step := h.Admission.Plugin("LimitRanger", admission.Validating)
		for b.Loop() {
			step(admission.Create, false, time.Microsecond)
		}
	})
	b.Run("event", func(b *testing.B) {
		b.ReportAllocs()
		sent := h.WatchEvents(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
		for b.Loop() {
			sent(300)
		}
	})
}

// The cost of measuring each request: the difference between a server with metrics and one without.
func BenchmarkMeasured(b *testing.B) {
	for _, measured := range []bool{false, true} {
		name := map[bool]string{false: "without", true: "with"}[measured]
		st := memory.New(memory.Options{})
		o := apiserver.Options{Store: st, StartHook: controlplane.Bookkeeping(controlplane.BookkeepingOptions{})}
		if measured {
			apimetrics.New().Measure(&o)
		}
		s, err := apiserver.New(o)
		require.NoError(b, err)
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan struct{})
		go func() { _ = s.Run(ctx); close(done) }()
		<-s.Ready()
		do := func(method, path, body string, code int) {
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			require.Equal(b, code, w.Code)
		}
		do("POST", configMaps, `{"metadata":{"name":"a"}}`, 201)
		b.Run("get/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do("GET", configMaps+"/a", "", 200)
			}
		})
		b.Run("list/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do("GET", configMaps+"?limit=1", "", 200)
			}
		})
		b.Run("delete/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do("DELETE", configMaps+"/none", "", 404)
			}
		})
		cancel()
		<-done
		require.NoError(b, st.Close())
	}
}
