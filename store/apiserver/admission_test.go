package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/stretchr/testify/require"
)

// plugin labels objects, refuses some, and counts its calls.
type plugin struct {
	mu   sync.Mutex
	seen []string
}

func (*plugin) Name() string { return "Test" }

func (*plugin) Handles(admission.Operation) bool { return true }

func (p *plugin) Admit(_ context.Context, a *admission.Attributes) error {
	if a.Object != nil && a.Operation == admission.Create && a.Resource.Resource == "configmaps" {
		a.Object.SetLabels(map[string]string{"touched": "yes"})
		a.Warn("touched")
	}
	return nil
}

func (p *plugin) Validate(_ context.Context, a *admission.Attributes) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, fmt.Sprintf("%s %s/%s", a.Operation, a.Resource.Resource, a.Name))
	if a.Name == "refused" {
		return errors.New("refused by the test plugin")
	}
	return nil
}

func TestAdmission(t *testing.T) {
	p := &plugin{}
	s := start(t, apiserver.Options{Admission: []admission.Plugin{p}})
	got := s.do("POST", configMaps, configMap("a", "k", "v"))
	require.Equal(t, "yes", got.ok(201).str("metadata.labels.touched"))
	require.Equal(t, `299 - "touched"`, got.header.Get("Warning"))
	require.Len(t, got.ok(201).at("metadata.managedFields"), 1)
	require.NotContains(t, string(got.body), "f:touched", "fields that admission adds have no owner")
	no := s.do("POST", configMaps, configMap("refused")).ok(403)
	require.Contains(t, no.str("message"), "refused by the test plugin")
	s.do("GET", configMaps+"/refused", nil).ok(404)
	s.do("PUT", configMaps+"/a", configMap("a")).ok(200)
	s.do("DELETE", configMaps+"/a", nil).ok(200)
	require.Equal(t, []string{"CREATE configmaps/a", "CREATE configmaps/refused", "UPDATE configmaps/a", "DELETE configmaps/a"}, p.seen)
}
