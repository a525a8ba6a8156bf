package builtin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/columns"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

// Ship is a kind that is served by its Go type, with a rule, and the row in shipRow.
type Ship struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero" protobuf:"bytes,1,opt,name=metadata"`
	Spec              ShipSpec   `json:"spec,omitzero" protobuf:"bytes,2,opt,name=spec"`
	Status            ShipStatus `json:"status,omitzero" protobuf:"bytes,3,opt,name=status"`
}

type ShipSpec struct {
	Port string `json:"port,omitempty" protobuf:"bytes,1,opt,name=port"`
	Crew int32  `json:"crew,omitempty" protobuf:"varint,2,opt,name=crew"`
}

type ShipStatus struct {
	Docked bool `json:"docked,omitempty" protobuf:"varint,1,opt,name=docked"`
}

func shipRow(s *scheme.Scheme) registry.Definition {
	return registry.Definition{
		Info:       s.ForKind(schema.GroupVersionKind{Group: "fleet", Version: "v1", Kind: "Ship"}),
		Prefix:     "/vessels/ships/",
		Deprecated: "fleet/v1 Ship is deprecated",
		Table: columns.Of(func(s *Ship, _ time.Time) []any { return []any{s.Name, int64(s.Spec.Crew)} },
			columns.Name(), columns.Number("Crew", "Number of sailors.")),
		Strategy: registry.Strategy{
			Generation: registry.OnSpec, CreateOnUpdate: true,
			PrepareCreate: func(_ context.Context, obj metav1.Object) { obj.SetLabels(map[string]string{"new": "yes"}) },
		},
		Fields: registry.Fields{
			Names: []string{"spec.port"},
			Of: func(obj metav1.Object, add func(name, value string)) {
				add("spec.port", obj.(*Ship).Spec.Port)
			},
			Unknown: func(selector string) string { return "ships have no " + selector },
		},
		Scale: &registry.Scale{
			Replicas: []string{"spec", "crew"},
			Get: func(obj metav1.Object) (registry.Replicas, error) {
				return registry.Replicas{Desired: obj.(*Ship).Spec.Crew, Selector: "ship=" + obj.GetName()}, nil
			},
			Set: func(obj metav1.Object, n int32) error {
				obj.(*Ship).Spec.Crew = n
				return nil
			},
		},
		Subresources: map[string]registry.Subresource{
			"crew": {
				Edit: func(obj, old metav1.Object) {
					ship, before := obj.(*Ship), old.(*Ship)
					crew := ship.Spec.Crew
					ship.Spec, ship.Status = before.Spec, before.Status
					ship.Spec.Crew = crew
				},
				Validate:        func(_, _ metav1.Object) validation.ErrorList { return nil },
				KeepsGeneration: true,
			},
		},
	}
}

// shipKinds is the built-in kinds and Ship, with its rule.
func shipKinds(t *testing.T) *scheme.Scheme {
	kinds, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	change := []string{"get", "patch", "update"}
	require.NoError(t, scheme.Add[*Ship](kinds, schema.GroupVersion{Group: "fleet", Version: "v1"}, scheme.Kind{
		Resource: "ships", Namespaced: true,
		Subresources: []scheme.Subresource{{Name: "status", Kind: "Ship", Verbs: change}, {Name: "crew", Kind: "Ship", Verbs: change},
			{Name: "scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Verbs: change}},
	}))
	require.NoError(t, scheme.RulesFor[*Ship]{Validate: func(s *Ship) validation.ErrorList {
		if s.Spec.Crew > 0 {
			return nil
		}
		return validation.ErrorList{validation.Invalid(validation.NewPath("spec", "crew"), s.Spec.Crew, "must be positive")}
	}}.Attach(kinds))
	return kinds
}

// startShips runs a server of ships over st. The function it returns sends requests whose paths are below
// that of the ships of a namespace.
func startShips(t *testing.T, st *memory.Store) func(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	kinds := shipKinds(t)
	server, err := apiserver.New(apiserver.Options{Scheme: kinds, Kinds: []registry.Definition{shipRow(kinds)}, Store: st})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		_ = server.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = st.Close()
	})
	<-server.Ready()
	return func(method, path, body string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/apis/fleet/v1/namespaces/default/ships"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w
	}
}

// A kind is added to the server by a Go type and a row.
func TestAddedKind(t *testing.T) {
	st := memory.New(memory.Options{})
	do := startShips(t, st)
	t.Run("served", func(t *testing.T) {
		require.Equal(t, http.StatusUnprocessableEntity, do("POST", "", `{"metadata":{"name":"argo"}}`).Code)
		made := do("POST", "", `{"metadata":{"name":"argo"},"spec":{"port":"Iolcus","crew":50},"status":{"docked":true}}`)
		require.Equal(t, http.StatusCreated, made.Code, made.Body)
		require.Contains(t, made.Body.String(), `"generation":1`)
		require.Contains(t, made.Body.String(), `"new":"yes"`)
		require.NotContains(t, made.Body.String(), "docked")
		require.Equal(t, `299 - "fleet/v1 Ship is deprecated"`, made.Header().Get("Warning"))
		require.Equal(t, http.StatusCreated, do("PUT", "/beagle", `{"metadata":{"name":"beagle"},"spec":{"port":"Plymouth","crew":74}}`).Code)
	})
	t.Run("stored under its prefix", func(t *testing.T) {
		kv, _, err := st.Get(t.Context(), "/vessels/ships/default/argo")
		require.NoError(t, err)
		var ship Ship
		version, kind, err := codec.UnmarshalEnvelope(kv.Value, &ship)
		require.NoError(t, err)
		require.Equal(t, "fleet/v1 Ship", version+" "+kind)
		require.Equal(t, ShipSpec{Port: "Iolcus", Crew: 50}, ship.Spec)
	})
	t.Run("selected by field", func(t *testing.T) {
		list := do("GET", "?fieldSelector=spec.port%3DPlymouth", "").Body.String()
		require.Contains(t, list, "beagle")
		require.NotContains(t, list, "argo")
		unknown := do("GET", "?fieldSelector=spec.crew%3D1", "")
		require.Equal(t, http.StatusBadRequest, unknown.Code)
		require.Contains(t, unknown.Body.String(), "ships have no spec.crew")
	})
	t.Run("printed as a Table", func(t *testing.T) {
		table := do("GET", "/argo", "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Body.String()
		require.Contains(t, table, `"cells":["argo",50]`)
		require.Contains(t, table, "Number of sailors.")
	})
	t.Run("scaled", func(t *testing.T) {
		shown := do("GET", "/beagle/scale", "").Body.String()
		require.Contains(t, shown, `"kind":"Scale"`)
		require.Contains(t, shown, `"spec":{"replicas":74},"status":{"replicas":0,"selector":"ship=beagle"}`)
		require.Equal(t, http.StatusUnprocessableEntity, do("PATCH", "/beagle/scale", `{"spec":{"replicas":-1}}`, "Content-Type", "application/merge-patch+json").Code)
		scaled := do("PATCH", "/beagle/scale?fieldManager=admiralty", `{"spec":{"replicas":70}}`, "Content-Type", "application/merge-patch+json")
		require.Equal(t, http.StatusOK, scaled.Code, scaled.Body)
		ship := do("GET", "/beagle", "").Body.String()
		require.Contains(t, ship, `"spec":{"port":"Plymouth","crew":70}`)
		require.Contains(t, ship, `"manager":"admiralty"`)
	})
	t.Run("written through a subresource", func(t *testing.T) {
		got := do("PATCH", "/argo/crew", `{"spec":{"port":"Colchis","crew":49}}`, "Content-Type", "application/merge-patch+json").Body.String()
		require.Contains(t, got, `"spec":{"port":"Iolcus","crew":49}`)
		require.Contains(t, got, `"generation":1`)
	})
}
