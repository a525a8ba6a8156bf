package apiserver_test

import (
	"fmt"
	"testing"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/stretchr/testify/require"
)

func TestBindingOnce(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.do("POST", pods, pod("p")).ok(201)
	body := `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"n1"}}`
	s.do("POST", pods+"/p/binding", body).ok(201)
	o := s.do("GET", pods+"/p", nil).ok(200)
	require.Equal(t, "n1", o.str("spec.nodeName"))
	require.Contains(t, fmt.Sprint(o.at("status.conditions")), "PodScheduled")
	require.EqualValues(t, 1, o.at("metadata.generation"))
	require.Equal(t, "Conflict", s.do("POST", pods+"/p/binding", body).ok(409).str("reason"))
	require.Equal(t, []string{"p"}, s.do("GET", pods+"?fieldSelector=spec.nodeName%3Dn1", nil).ok(200).names())
}
