package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/examples/internal/load"
)

// BenchmarkGuardedGet measures what authorization by 10,000 bindings and an audit log cost a GET: at most 20
// % more CPU time than without. The servers get requests by turns, so that both see the same machine. Run it
// with -benchtime=1x.
func BenchmarkGuardedGet(b *testing.B) {
	policy := filepath.Join(b.TempDir(), "policy.yaml")
	require.NoError(b, os.WriteFile(policy, []byte("{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: Metadata}]}"), 0o600))
	kinds := []struct {
		name  string
		flags []string
	}{
		{"bare", []string{"--authorization-mode=AlwaysAllow"}},
		{"rbac", nil},
		{"audit", []string{"--authorization-mode=AlwaysAllow", "--audit-policy-file=" + policy, "--audit-log-path=" + filepath.Join(b.TempDir(), "audit.log"), "--audit-log-mode=batch"}},
		{"both", []string{"--audit-policy-file=" + policy, "--audit-log-path=" + filepath.Join(b.TempDir(), "both.log"), "--audit-log-mode=batch"}},
	}
	for b.Loop() {
		loads := make([]*load.Load, len(kinds))
		used, gets := make([]time.Duration, len(kinds)), make([]int, len(kinds))
		for i, k := range kinds {
			p := startProcess(b, nil, k.flags...)
			bindUsers(b, p.connect(b, 1)[0])
			loads[i] = load.New(p.connectAs(b, 4, "busy"), load.Options{Namespace: "loadtest", Objects: 5000, Clients: 8, Lists: 1, Watchers: 1, Events: 1, PIDs: p.pids()})
			require.NoError(b, loads[i].Prepare(b.Context()))
			_, err := loads[i].Run(b.Context(), []string{"create", "get"})
			require.NoError(b, err)
		}
		for range 8 {
			for i := range kinds {
				done, err := loads[i].Run(b.Context(), []string{"get"})
				require.NoError(b, err)
				require.NoError(b, done[0].First)
				used[i] += done[0].Usage[0].CPU
				gets[i] += len(done[0].Times)
			}
		}
		for i, k := range kinds {
			b.ReportMetric(float64(used[i].Nanoseconds())/1000/float64(gets[i]), k.name+"-us/op")
		}
		b.ReportMetric(100*(float64(used[3])/float64(used[0])-1), "%more")
	}
}

// bindUsers creates 10,000 bindings, of which one lets the user busy do everything.
func bindUsers(b *testing.B, admin client.Conn) {
	b.Helper()
	for i := range 10_000 {
		name := fmt.Sprintf("user-%d", i)
		role := "view"
		if i == 5000 {
			name, role = "busy", "cluster-admin"
		}
		_, err := client.For[*rbacv1.ClusterRoleBinding](admin).Create(b.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b-%d", i)},
			RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role}, Subjects: []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: name}}})
		require.NoError(b, err)
	}
}
