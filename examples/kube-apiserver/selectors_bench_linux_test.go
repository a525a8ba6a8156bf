package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// numbered returns n parts of a selector, separated by commas.
func numbered(format string, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}

// BenchmarkBesideHugeSelectors measures how long a GET of a small object by one user takes while another user
// has 24 lists of 2,000 objects under way, each with a selector of 60 to 70 kB, beside the same without them.
// Run it with -benchtime=1x.
func BenchmarkBesideHugeSelectors(b *testing.B) {
	const objects, lists = 2000, 24
	p := startProcess(b, nil)
	admin := p.connect(b, 1)[0]
	maps := client.For[*corev1.ConfigMap](admin)
	for i := range objects {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m%d", i), Namespace: "default",
			Labels: map[string]string{"app": "v20000", "tier": "front", "release": "stable"}}}
		_, err := maps.Create(b.Context(), m)
		require.NoError(b, err)
	}
	_, err := client.For[*rbacv1.ClusterRoleBinding](admin).Create(b.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupVersion.Group, Name: "busy"}, {Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupVersion.Group, Name: "small"}},
	})
	require.NoError(b, err)
	small := p.connectAs(b, 1, "small")[0]
	busy := p.connectAs(b, lists, "busy")
	get := func(b *testing.B, during time.Duration) []time.Duration {
		var took []time.Duration
		for end := time.Now().Add(during); time.Now().Before(end); {
			begun := time.Now()
			_, err := small.Do(b.Context(), &client.Request{Path: "/api/v1/namespaces/default/configmaps/m7"})
			require.NoError(b, err)
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		return took
	}
	for _, c := range []struct{ name, selector string }{
		{"none", ""},
		{"values", "app notin (" + numbered("v%d", 7000) + ")"},
		{"requirements", numbered("app!=v%d", 7000)},
		{"keys", numbered("!k%d", 7000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				ctx, cancel := context.WithCancel(b.Context())
				var tasks sync.WaitGroup
				var mu sync.Mutex
				done := 0
				for _, conn := range busy {
					if c.selector == "" {
						break
					}
					query := url.Values{"labelSelector": {c.selector}, "limit": {"1"}}
					tasks.Go(func() {
						for ctx.Err() == nil {
							_, err := conn.Do(ctx, &client.Request{Path: "/api/v1/namespaces/default/configmaps", Query: query})
							if ctx.Err() != nil {
								return
							}
							if err != nil {
								b.Errorf("list: %v", err)
								return
							}
							mu.Lock()
							done++
							mu.Unlock()
						}
					})
				}
				const during = 5 * time.Second
				profiled := p.profile(b, c.name)
				took := get(b, during)
				<-profiled
				cancel()
				tasks.Wait()
				ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
				b.ReportMetric(ms(took[len(took)/2]), "get-p50-ms")
				b.ReportMetric(ms(took[len(took)*99/100]), "get-p99-ms")
				b.ReportMetric(ms(took[len(took)-1]), "get-max-ms")
				b.ReportMetric(float64(done)/during.Seconds(), "lists/s")
			}
		})
	}
}
