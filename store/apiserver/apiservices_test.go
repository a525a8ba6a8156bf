package apiserver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// Every version has an APIService from the start, and those of custom resources come and go with their
// definitions.
func TestAPIServices(t *testing.T) {
	s := start(t, apiserver.Options{})
	const path = "/apis/apiregistration.k8s.io/v1/apiservices"
	names := s.do("GET", path, nil).ok(200).names()
	require.Contains(t, names, "v1.")
	require.Contains(t, names, "v2.autoscaling")
	require.NotContains(t, names, "v1.apiregistration.k8s.io")
	apps := s.do("GET", path+"/v1.apps", nil).ok(200)
	require.EqualValues(t, 17800, apps.at("spec.groupPriorityMinimum"))
	require.Equal(t, "Local", object(apps.at("status.conditions").([]any)[0].(map[string]any)).str("reason"))

	s.do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"boats.harbour.example.com"},"spec":{
		"group":"harbour.example.com","scope":"Namespaced","names":{"plural":"boats","kind":"Boat"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`).ok(201)
	code := func(want int) {
		require.Eventually(t, func() bool { return s.do("GET", path+"/v1.harbour.example.com", nil).code == want }, time.Minute, time.Millisecond)
	}
	code(200)
	s.do("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.harbour.example.com", nil).ok(200)
	code(404)
}
