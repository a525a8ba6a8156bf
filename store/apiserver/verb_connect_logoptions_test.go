package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// TestConnectWithoutNodes checks that the errors of a request for a log or a stream do not depend on whether
// the server can reach nodes.
func TestConnectWithoutNodes(t *testing.T) {
	s := start(t, apiserver.Options{})
	const pods = "/api/v1/namespaces/default/pods"
	s.do("POST", "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"default"}}`)
	pod := func(name, spec string) {
		s.do("POST", pods, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`"},"spec":{`+spec+`}}`).ok(201)
	}
	pod("one", `"containers":[{"name":"a","image":"x"}]`)
	pod("many", `"containers":[{"name":"a","image":"x"},{"name":"b","image":"x"}],"initContainers":[{"name":"i","image":"x"}]`)
	pod("bound", `"nodeName":"ghost","containers":[{"name":"a","image":"x"}]`)
	for path, want := range map[string]struct {
		code    int
		message string
	}{
		"none/log":                          {404, `pods "none" not found`},
		"one/log":                           {204, ""},
		"one/log?container=x":               {400, "container x is not valid for pod one"},
		"many/log":                          {400, "a container name must be specified for pod many, choose one of: [i a b]"},
		"many/log?container=i":              {204, ""},
		"many/exec?command=ls":              {400, "a container name must be specified for pod many, choose one of: [i a b]"},
		"one/exec?command=ls":               {400, "pod one does not have a host assigned"},
		"one/attach":                        {400, "pod one does not have a host assigned"},
		"one/portforward":                   {400, "pod one does not have a host assigned"},
		"none/portforward?ports=x":          {400, `cannot convert to []int32: strconv.ParseUint: parsing "x": invalid syntax`},
		"bound/log":                         {503, "this server cannot reach nodes"},
		"none/log?tailLines=-1":             {422, `PodLogOptions "none" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0`},
		"one/log?tailLines=x":               {400, `strconv.ParseInt: parsing "x": invalid syntax`},
		"one/log?limitBytes=0":              {422, `PodLogOptions "one" is invalid: limitBytes: Invalid value: 0: must be greater than 0`},
		"one/log?sinceSeconds=0":            {422, `PodLogOptions "one" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0`},
		"one/log?stream=Nope":               {422, `PodLogOptions "one" is invalid: stream: Unsupported value: "Nope": supported values: "All", "Stderr", "Stdout"`},
		"one/log?stream=Stdout":             {204, ""},
		"one/log?stream=All&tailLines=1":    {204, ""},
		"one/log?stream=Stdout&tailLines=1": {422, `PodLogOptions "one" is invalid: stream: Forbidden: tailLines cannot be used with the stream Stdout alone`},
		"one/log?sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z": {422, "PodLogOptions \"one\" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"},
	} {
		got := s.do("GET", pods+"/"+path, nil)
		require.Equal(t, want.code, got.code, "%s: %s", path, got.body)
		if want.message != "" {
			require.Equal(t, want.message, got.ok(want.code).str("message"), path)
		}
	}
}
