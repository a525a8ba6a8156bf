package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ResourcePoolStatusRequests are served if their version and the feature DRAResourcePoolStatus are enabled.
// The responses are those of kube-apiserver 1.36.3 for the same requests.
func TestPoolStatusRequests(t *testing.T) {
	const (
		version, gate = "--runtime-config=resource.k8s.io/v1alpha3=true", "--feature-gates=DRAResourcePoolStatus=true"
		path          = "/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests"
		lower         = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
		caseless      = `an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'Example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
		complete      = `{"type":"Complete","status":"True","reason":"R","message":"m","lastTransitionTime":"2020-01-01T00:00:00Z"}`
	)
	for _, args := range [][]string{nil, {version}, {gate}} {
		status, _ := groupServer(t, args...)(http.MethodGet, path, "")
		require.Equal(t, http.StatusNotFound, status, args)
	}
	do := groupServer(t, version, gate)
	refused := func(method, name, body, want string) {
		t.Helper()
		p := path
		if name != "" {
			p += "/" + name
		}
		status, message := do(method, p, body)
		require.Equal(t, http.StatusUnprocessableEntity, status, message)
		_, message, _ = strings.Cut(message, "is invalid: ")
		require.Equal(t, want, message, body)
	}
	create := func(spec string) string { return `{"metadata":{"name":"a"},"spec":` + spec + `}` }
	for _, c := range []struct{ spec, want string }{
		{`{}`, `spec.driver: Required value`},
		{`{"driver":"","poolName":"","limit":0}`, `[spec.driver: Required value, spec.poolName: Invalid value: "": segment 0: must not be empty, spec.limit: Invalid value: 0: must be greater than or equal to 1]`},
		{`{"driver":"Gpu.Example.com","poolName":"a//B","limit":1001}`, `[spec.poolName: Invalid value: "a//B": segment 1: must not be empty, spec.poolName: Invalid value: "B": segment 2: ` + lower + `, spec.limit: Invalid value: 1001: must be less than or equal to 1000]`},
		{`{"driver":"GPU.example.com/x"}`, `spec.driver: Invalid value: "GPU.example.com/x": ` + caseless},
		{`{"driver":"d","poolName":"` + strings.Repeat("a/", 130) + `b"}`, `spec.poolName: Too long: may not be more than 253 bytes`},
	} {
		refused(http.MethodPost, "", create(c.spec), c.want)
	}
	status, body := do(http.MethodPost, path, `{"metadata":{"name":"ok"},"spec":{"driver":"Gpu.example.com","poolName":"a/b.c"},"status":{"poolCount":3}}`)
	require.Equal(t, http.StatusCreated, status, body)
	require.Contains(t, body, `"spec":{"driver":"Gpu.example.com","poolName":"a/b.c","limit":100}}`)

	refused(http.MethodPatch, "ok", `{"spec":{"limit":5}}`, `spec: Invalid value: null: field is immutable`)
	status, body = do(http.MethodPatch, path+"/ok", `{"metadata":{"labels":{"a":"b"}},"status":{"poolCount":5}}`)
	require.Equal(t, http.StatusOK, status, body)
	require.NotContains(t, body, `"status":{"poolCount"`)
	unset := `status: Unsupported value: "": supported values: "False", "True", "Unknown", status.conditions[%].lastTransitionTime: Required value, status.conditions[%].reason: Required value, `
	for _, c := range []struct{ status, want string }{
		{`{}`, `status.poolCount: Required value`},
		{`{"poolCount":-1,"pools":[{}],"conditions":[{"type":"Complete"},{"type":"Complete"}]}`, `[status.conditions[0].` + strings.ReplaceAll(unset, "%", "0") +
			`status.conditions[1].type: Duplicate value: "Complete", status.conditions[1].` + strings.ReplaceAll(unset, "%", "1") +
			`status.poolCount: Invalid value: -1: must be greater than or equal to 0, status.pools[0].driver: Required value, status.pools[0].poolName: Required value, status.pools[0].generation: Required value, ` +
			`status.conditions[1]: Duplicate value: {"type":"Complete","status":"","lastTransitionTime":null,"reason":"","message":""}]`},
		{`{"poolCount":1,"pools":[{"driver":"A/","poolName":"/","generation":-1,"resourceSliceCount":0,"totalDevices":-1,"allocatedDevices":-2,"availableDevices":-3,"unavailableDevices":-4,"nodeName":"X","validationError":"` + strings.Repeat("e", 257) + `"}]}`,
			`[status.pools[0].driver: Invalid value: "A/": ` + caseless + `, status.pools[0].poolName: Invalid value: "/": segment 0: must not be empty, status.pools[0].poolName: Invalid value: "/": segment 1: must not be empty, ` +
				`status.pools[0].generation: Invalid value: -1: must be greater than or equal to 0, status.pools[0].resourceSliceCount: Invalid value: 0: must be greater than or equal to 1, ` +
				`status.pools[0].totalDevices: Invalid value: -1: must be greater than or equal to 0, status.pools[0].allocatedDevices: Invalid value: -2: must be greater than or equal to 0, ` +
				`status.pools[0].availableDevices: Invalid value: -3: must be greater than or equal to 0, status.pools[0].unavailableDevices: Invalid value: -4: must be greater than or equal to 0, ` +
				`status.pools[0].nodeName: Invalid value: "X": ` + lower + `, status.pools[0].validationError: Too long: may not be more than 256 bytes]`},
		{`{"poolCount":1,"pools":[{"driver":"d","poolName":"p","generation":1,"nodeName":""}]}`, `status.pools[0].nodeName: Invalid value: "": ` + lower},
	} {
		refused(http.MethodPatch, "ok/status", `{"status":`+c.status+`}`, c.want)
	}
	status, body = do(http.MethodPatch, path+"/ok/status", `{"metadata":{"labels":{"c":"d"}},"spec":{"limit":3},"status":{"poolCount":3,"pools":[{"driver":"d","poolName":"p","generation":1,"totalDevices":4,"availableDevices":3,"allocatedDevices":1,"unavailableDevices":0,"resourceSliceCount":1}],"conditions":[`+complete+`]}}`)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"labels":{"a":"b"}`)
	require.Contains(t, body, `"limit":100`)
	for _, change := range []string{`{"poolCount":4}`, `null`} {
		status, body = do(http.MethodPatch, path+"/ok/status", `{"status":`+change+`}`)
		require.Equal(t, http.StatusUnprocessableEntity, status, body)
		require.Contains(t, body, "status: Invalid value: ")
		require.Contains(t, body, ": field is immutable")
	}
	_, body = do(http.MethodPost, path, create(`{"driver":"d"}`))
	status, table := do(http.MethodGet, path, "")
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, table, `"cells":["a","d","-","-","-","-","-",0,"Pending","\u003cnone\u003e"]`)
	require.Contains(t, table, `"cells":["ok","Gpu.example.com","4","3","1","0","0",3,"Complete (1/3 pools)","`)
	status, body = do(http.MethodDelete, path+"/a", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"kind":"ResourcePoolStatusRequest"`, "a deletion returns the object")
	status, body = do(http.MethodPut, path+"/ok", `{"metadata":{"name":"ok"},"spec":{"driver":"Gpu.example.com","poolName":"a/b.c","limit":100}}`)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, body, "must be specified for an update")
	_, body = do(http.MethodPatch, "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:controller:resourcepoolstatusrequest-controller", `{}`)
	require.Contains(t, body, `"resourcepoolstatusrequests/status"`)
}
