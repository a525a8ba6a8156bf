package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/columns"
	"github.com/keelson-dev/keelson/store/registry"
)

// Ship has a spec that people write and a status that a controller reports.
type Ship struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Crew int64 `json:"crew"`
	} `json:"spec"`
	Status struct {
		Port string `json:"port,omitempty"`
	} `json:"status,omitempty"`
}

// Tide is computed on request; no object of it is stored.
type Tide struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	High              bool `json:"high"`
}

// inspector is an admission plugin.
type inspector struct{}

func (inspector) Name() string                        { return "Inspector" }
func (inspector) Handles(op admission.Operation) bool { return op == admission.Create }
func (inspector) Validate(_ context.Context, a *admission.Attributes) error {
	if s, ok := a.Object.(*Ship); ok && s.Labels["flag"] == "" {
		return errors.New("a ship needs a flag")
	}
	return nil
}

// harbour is the API server: a stored kind with validation, status, watch and columns, a computed one, and
// policy of its own.
func harbour() (*apiserver.Server, error) {
	kinds, gv := scheme.New(), schema.GroupVersion{Group: "harbour.example.com", Version: "v1"}
	err := errors.Join(
		scheme.Add[*Ship](kinds, gv, scheme.Kind{Resource: "ships", Namespaced: true,
			Subresources: []scheme.Subresource{{Name: "status", Kind: "Ship", Verbs: []string{"get", "patch", "update"}}}}),
		scheme.Add[*Tide](kinds, gv, scheme.Kind{Resource: "tides", Verbs: []string{"get", "list", "watch"}}),
		scheme.RulesFor[*Ship]{Validate: func(s *Ship) (errs validation.ErrorList) {
			if s.Spec.Crew < 1 {
				errs = append(errs, validation.Invalid(validation.NewPath("spec", "crew"), s.Spec.Crew, "must be at least 1"))
			}
			return errs
		}}.Attach(kinds))
	if err != nil {
		return nil, err
	}
	tokens, err := authn.TokenFile(strings.NewReader("secret,ann,1,sailors\n"))
	if err != nil {
		return nil, err
	}
	ships := registry.Define(kinds.ForResource(gv.WithResource("ships")))
	ships.Table = columns.Of(
		func(s *Ship, _ time.Time) []any { return []any{s.Name, s.Spec.Crew, s.Status.Port} },
		columns.Name(), columns.Number("Crew", "Number of sailors."), columns.Text("Port", "Port the ship is in."))
	return apiserver.New(apiserver.Options{
		Scheme: kinds, Kinds: []registry.Definition{ships},
		Authenticator: authn.Bearer(tokens),
		Authorizer: authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
			if a.Verb == "delete" {
				return authz.Deny, "ships are scrapped in the office", nil
			}
			return authz.Allow, "", nil
		}),
		Admission: []admission.Plugin{inspector{}},
		Computed: []apiserver.Computed{{Info: kinds.ForResource(gv.WithResource("tides")), List: func(context.Context, string) ([]metav1.Object, error) {
			return []metav1.Object{&Tide{ObjectMeta: metav1.ObjectMeta{Name: "today"}, High: true}}, nil
		}, Watch: func(ctx context.Context, _ string, send func(string, metav1.Object) error) error {
			err := send("ADDED", &Tide{ObjectMeta: metav1.ObjectMeta{Name: "today"}, High: true})
			if err == nil {
				err = send("MODIFIED", &Tide{ObjectMeta: metav1.ObjectMeta{Name: "today"}})
			}
			if err == nil {
				<-ctx.Done() // the tide turns once
			}
			return err
		}}},
	})
}

// An API server for custom kinds, stored and computed, with custom policy. kubectl and client-go use it like
// any other once it is served over TLS (see [apiserver.Server.Serve]): over plain text they do not send
// tokens.
func Example_ownKinds() {
	server, err := harbour()
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Run(ctx) }()
	front := httptest.NewServer(server)
	ask := func(method, path, body string, headers ...string) string {
		r, err := http.NewRequest(method, front.URL+"/apis/harbour.example.com/v1/"+path, strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			panic(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			panic(err)
		}
		return resp.Status + " " + string(b)
	}
	const ships = "namespaces/default/ships"
	say := func(what, answer, holds string) { fmt.Println(what, answer[:3], strings.Contains(answer, holds)) }
	say("invalid:", ask("POST", ships, `{"metadata":{"name":"argo","labels":{"flag":"gr"}}}`), "spec.crew")
	say("refused:", ask("POST", ships, `{"metadata":{"name":"argo"},"spec":{"crew":50}}`), "a ship needs a flag")
	say("created:", ask("POST", ships, `{"metadata":{"name":"argo","labels":{"flag":"gr"}},"spec":{"crew":50},"status":{"port":"set later"}}`), `"generation":1`)
	say("status:", ask("PATCH", ships+"/argo/status", `{"status":{"port":"Iolcus"},"spec":{"crew":1}}`, "Content-Type", "application/merge-patch+json"), `"crew":50`)
	say("table:", ask("GET", ships, "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"), `"cells":["argo",50,"Iolcus"]`)
	say("watch:", ask("GET", ships+"?watch=1&timeoutSeconds=1", ""), `{"type":"ADDED"`)
	say("computed:", ask("GET", "tides", ""), `"high":true`)
	say("followed:", ask("GET", "tides?watch=1&timeoutSeconds=1", ""), `{"type":"MODIFIED"`)
	say("denied:", ask("DELETE", ships+"/argo", ""), "scrapped in the office")
	front.Close()
	cancel()
	fmt.Println(<-done)
	// Output:
	// invalid: 422 true
	// refused: 403 true
	// created: 201 true
	// status: 200 true
	// table: 200 true
	// watch: 200 true
	// computed: 200 true
	// followed: 200 true
	// denied: 403 true
	// <nil>
}
