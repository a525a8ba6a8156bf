//go:build unix

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
)

// The cluster serves its server's metrics as kube-apiserver does: only to users who may read them.
func TestClusterMetrics(t *testing.T) {
	conn := startTestCluster(t)
	get := func(path string, as *client.User) (string, error) {
		resp, err := conn.Do(t.Context(), &client.Request{Path: path, Impersonate: as})
		if err != nil {
			return "", err
		}
		return string(resp.Body), nil
	}
	for _, who := range []*client.User{nil, {Name: "prometheus", Groups: []string{"system:monitoring"}}} {
		text, err := get("/metrics", who)
		require.NoError(t, err)
		require.Regexp(t, `(?m)^apiserver_request_total\{code="201",component="apiserver",.*resource="nodes",.*verb="POST",.*\} 1$`, text)
		// A second one, which is refused, comes from a reconcile that has not seen the node yet.
		require.Regexp(t, `(?m)^etcd_requests_total\{group="",operation="create",resource="nodes"\} [12]$`, text)
		require.Regexp(t, `(?m)^apiserver_storage_objects\{resource="nodes"\} 1$`, text)
		require.Regexp(t, `(?m)^apiserver_authorization_decisions_total\{decision="allowed",name="rbac",type="RBAC"\} [1-9]`, text)
	}
	_, err := get("/metrics", &client.User{Name: "ann", Groups: []string{"system:authenticated"}})
	require.True(t, apierrors.IsForbidden(err), err)
}
