package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// StorageVersions are served if their version and the feature StorageVersionAPI are enabled, which needs the
// identity of servers. The responses are those of kube-apiserver 1.36.3 for the same requests.
func TestStorageVersionRules(t *testing.T) {
	const (
		version, gate = "--runtime-config=internal.apiserver.k8s.io/v1alpha1=true", "--feature-gates=StorageVersionAPI=true"
		path          = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
		lower         = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
		label         = `a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`
		name          = `name part must be non-empty, %: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`
		server        = `status.storageVersions[0].`
	)
	for _, args := range [][]string{nil, {version}, {gate}} {
		status, _ := groupServer(t, args...)(http.MethodGet, path, "")
		require.Equal(t, http.StatusNotFound, status, args)
	}
	_, err := parse([]string{"--storage-backend=memory", "--feature-gates=StorageVersionAPI=true,APIServerIdentity=false"})
	require.ErrorContains(t, err, "StorageVersionAPI is enabled, but depends on features that are disabled: [APIServerIdentity]")

	do := groupServer(t, version, gate)
	refused := func(method, of, body, want string) {
		t.Helper()
		status, message := do(method, path+of, body)
		require.Equal(t, http.StatusUnprocessableEntity, status, message)
		_, message, _ = strings.Cut(message, "is invalid: ")
		require.Equal(t, want, message)
	}
	refused(http.MethodPost, "", `{"metadata":{"name":"nodot"}}`, `metadata.name: Invalid value: "nodot": name must be in the form of <group>.<resource>`)
	refused(http.MethodPost, "", `{"metadata":{"name":"A.9b"}}`, `[metadata.name: Invalid value: "A.9b": the group segment `+lower+`, metadata.name: Invalid value: "A.9b": the resource segment `+label+`]`)
	status, body := do(http.MethodPost, path, `{"metadata":{"name":"g.r"},"status":{"commonEncodingVersion":"x"}}`)
	require.Equal(t, http.StatusCreated, status, body)
	require.Contains(t, body, `"spec":{},"status":{}}`)
	unset := func(field string) string {
		return field + `: Invalid value: "": ` + strings.ReplaceAll(name, "%", field)
	}
	for _, c := range []struct{ status, want string }{
		{`{"storageVersions":[{"apiServerID":"A","encodingVersion":"a/b/c","decodableVersions":["v1","/v2","g/","G/V"],"servedVersions":["v3"]},{"apiServerID":"A"}],"conditions":[{"type":"","status":""},{"type":"T","status":"True","reason":"R","message":"m"},{"type":"T","status":"True","reason":"R","message":"m"}]}`,
			`[` + server + `apiServerID: Invalid value: "A": ` + lower + `, ` + server + `encodingVersion: Invalid value: "a/b/c": an apiVersion is ` +
				strings.Replace(label, "label must", "label, which must", 1) + ` with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion'), ` +
				server + `decodableVersions[1]: Invalid value: "/v2": group part: must be non-empty, ` + server + `decodableVersions[2]: Invalid value: "g/": version part: must be non-empty, ` +
				server + `decodableVersions[3]: Invalid value: "G/V": group part: ` + lower + `,version part: ` + label + `, ` +
				server + `decodableVersions: Invalid value: ["v1","/v2","g/","G/V"]: decodableVersions must include encodingVersion a/b/c, ` +
				server + `servedVersions[0]: Invalid value: "v3": individual served version : v3 must be included in decodableVersions : [v1 /v2 g/ G/V], ` +
				`status.storageVersions[1].apiServerID: Duplicate value: "A", status.storageVersions[1].apiServerID: Invalid value: "A": ` + lower + `, ` +
				`status.storageVersions[1].encodingVersion: Invalid value: "": version part: must be non-empty, status.storageVersions[1].decodableVersions: Invalid value: null: decodableVersions must include encodingVersion , ` +
				unset("status[0].type") + `, ` + unset("status[0].status") + `, status[0].reason: Required value, status[0].message: Required value, ` +
				`status[2].type: Invalid value: "T": the type of the condition is not unique, it also appears in conditions[1]]`},
		{`{"commonEncodingVersion":"v1"}`, `status.commonEncodingVersion: Invalid value: "v1": should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet`},
		{`{"storageVersions":[{"apiServerID":"a","encodingVersion":"v1","decodableVersions":["v1"]}]}`, `status.commonEncodingVersion: Invalid value: null: the common encoding version is v1`},
		{`{"commonEncodingVersion":"v2","storageVersions":[{"apiServerID":"a","encodingVersion":"v1","decodableVersions":["v1"]}]}`, `status.commonEncodingVersion: Invalid value: "v2": the actual common encoding version is v1`},
	} {
		refused(http.MethodPatch, "/g.r/status", `{"status":`+c.status+`}`, c.want)
	}
	status, body = do(http.MethodPatch, path+"/g.r/status", `{"status":{"commonEncodingVersion":"v1","storageVersions":[{"apiServerID":"a","encodingVersion":"v1","decodableVersions":["v1"]}]}}`)
	require.Equal(t, http.StatusOK, status, body)
	_, table := do(http.MethodGet, path, "")
	require.Contains(t, table, `"cells":["g.r","v1","a=v1","`)
}
