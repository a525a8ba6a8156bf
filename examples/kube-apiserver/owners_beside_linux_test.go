package main

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refused is the code of a response, with its body if it is a refusal.
func refused(t *testing.T, l *live, user string, s step) string {
	req := l.request(user, s.method, s.path, s.body)
	if s.method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := l.http2.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if resp.StatusCode < 400 {
		body = nil
	}
	return fmt.Sprint(resp.StatusCode, " ", string(body))
}

// TestOwnersBeside sets owners as a user who may change the finalizers of one ReplicaSet only, on both
// servers with OwnerReferencesPermissionEnforcement.
func TestOwnersBeside(t *testing.T) {
	flags := []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement", "--authorization-mode=RBAC"}
	theirs, ours := startUpstream(t, flags...), startLive(t, flags...)
	for _, l := range []*live{theirs, ours} {
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
		l.must(http.StatusCreated, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata": {"name": "u"}, "rules": [
			{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "patch", "delete"]},
			{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "get", "patch"]},
			{"apiGroups": ["apps"], "resources": ["replicasets/finalizers"], "resourceNames": ["may"], "verbs": ["update"]}]}`)
		l.must(http.StatusCreated, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata": {"name": "u"},
			"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "u"},
			"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "user"}]}`)
		l.until("the role has effect", func() bool {
			return l.ask(l.http2, "user", "GET", core+"configmaps/none", "").code == http.StatusNotFound
		})
	}
	owner := func(kind, name, block string) string {
		return fmt.Sprintf(`[{"apiVersion": "apps/v1", "kind": %q, "name": %q, "uid": "u-%[2]s"%s}]`, kind, name, block)
	}
	const blocks = `, "blockOwnerDeletion": true`
	n := 0
	for _, resource := range []string{"configmaps", "secrets"} {
		for _, kind := range []string{"ReplicaSet", "Nope", "Deployment"} {
			for _, name := range []string{"may", "other"} {
				for _, block := range []string{"", blocks, `, "blockOwnerDeletion": false`} {
					n++
					object := core + fmt.Sprintf("%s/o%d", resource, n)
					for _, s := range []step{
						{method: "POST", path: core + resource, body: fmt.Sprintf(`{"metadata": {"name": "o%d", "ownerReferences": %s}}`, n, owner(kind, name, block))},
						{method: "PATCH", path: object, body: `{"data": {"a": "YQ=="}}`},
						{method: "PATCH", path: object, body: `{"metadata": {"ownerReferences": null}}`},
						{method: "PATCH", path: object, body: fmt.Sprintf(`{"metadata": {"ownerReferences": %s}}`, owner("ReplicaSet", "other", blocks))},
					} {
						assert.Equal(t, refused(t, theirs, "user", s), refused(t, ours, "user", s), "%v", s)
					}
				}
			}
		}
	}
}

// TestAlwaysAdmitBeside shows that AlwaysAdmit leaves the other plugins in force. Kubernetes' server does not
// start with AlwaysDeny, because the objects that it makes at its start are refused.
func TestAlwaysAdmitBeside(t *testing.T) {
	theirs, ours := startUpstream(t, "--enable-admission-plugins=AlwaysAdmit"), startLive(t, "--enable-admission-plugins=AlwaysAdmit")
	for _, l := range []*live{theirs, ours} {
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
	}
	for _, s := range []step{
		{method: "POST", path: core + "configmaps", body: `{"metadata": {"name": "a"}}`},
		{method: "POST", path: "/api/v1/namespaces/missing/configmaps", body: `{"metadata": {"name": "a"}}`},
		{method: "POST", path: core + "pods", body: `{"metadata": {"name": "a"}, "spec": {"serviceAccountName": "missing", "containers": [{"name": "c", "image": "x"}]}}`},
		{method: "DELETE", path: "/api/v1/namespaces/default"},
		{method: "DELETE", path: core + "configmaps/a"},
	} {
		assert.Equal(t, refused(t, theirs, "admin", s), refused(t, ours, "admin", s), "%v", s)
	}
}
