package kubelet_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// providerScript answers with the user of an environment variable for a registry, and appends its requests
// to a file.
const providerScript = `#!/bin/sh
cat >>"$LOG"; echo >>"$LOG"
echo '{"apiVersion":"credentialprovider.kubelet.k8s.io/v1","kind":"CredentialProviderResponse","cacheKeyType":"Registry","auth":{"'$1'":{"username":"'$NAME'","password":"x"}}}'
`

// registries are some that accept users whose names begin with good, and programs with credentials for them.
type registries struct {
	dir, log string

	mu    sync.Mutex
	tried []string
}

// took returns the users that were tried since the call before.
func (g *registries) took() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.tried
	g.tried = nil
	return list
}

// requests returns what the programs read since the call before.
func (g *registries) requests(t *testing.T) []string {
	b, _ := os.ReadFile(g.log)
	require.NoError(t, os.RemoveAll(g.log))
	return strings.Fields(string(b))
}

// prepare lets the runtime pull from the registries.
func (g *registries) prepare(r *rig) {
	r.rt.Pull = func(string, *cri.AuthConfig) error { return nil }
	r.rt.Fault = func(_ string, q any) fakecri.Fault {
		pull, ok := q.(*cri.PullImageRequest)
		if !ok {
			return 0
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		user := pull.GetAuth().GetUsername()
		g.tried = append(g.tried, user)
		if strings.HasPrefix(user, "good") {
			return 0
		}
		return fakecri.Before
	}
	g.dir = r.t.TempDir()
	g.log = filepath.Join(g.dir, "log")
	r.opts.CredentialProviders = kubelet.CredentialProviders{Dir: g.dir, Hash: "sha256:12"}
	require.NoError(r.t, os.MkdirAll(r.opts.RootDir, 0o750))
}

// add adds a program for a registry.
func (g *registries) add(r *rig, name, registry, text string) *kubelet.CredentialProvider {
	require.NoError(r.t, os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o755))
	all := &r.opts.CredentialProviders.Providers
	*all = append(*all, kubelet.CredentialProvider{Name: name, MatchImages: []string{registry}, DefaultCacheDuration: &metav1.Duration{Duration: time.Hour},
		APIVersion: "credentialprovider.kubelet.k8s.io/v1", Args: []string{registry},
		Env: []kubelet.CredentialProviderEnv{{Name: "LOG", Value: g.log}, {Name: "NAME", Value: "good-" + name}}})
	return &(*all)[len(*all)-1]
}

// startsPod reports whether a pod starts with an image that is not there yet.
func (g *registries) startsPod(r *rig, pod, image, account string) bool {
	r.pod(pod, func(p *corev1.Pod) {
		p.Spec.Containers[0].Image, p.Spec.ServiceAccountName = image, account
		p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "secret"}}
	}, "a")
	time.Sleep(3 * time.Second)
	return ready(r.get(pod))
}

// Images are pulled with the credentials that programs give, after those of the pod's Secrets and of the
// node's file. A program that fails costs nothing but its own credentials.
func TestCredentialProviders(t *testing.T) {
	g := &registries{}
	bubble(t, func(r *rig) {
		g.prepare(r)
		g.add(r, "broken", "*.example.com", "#!/bin/sh\nexit 1\n")
		g.add(r, "plain", "r.example.com", providerScript)
		require.NoError(t, os.WriteFile(filepath.Join(r.opts.RootDir, "config.json"),
			fmt.Appendf(nil, `{"auths":{"r.example.com":{"auth":%q}}}`, base64.StdEncoding.EncodeToString([]byte("file:x"))), 0o600))
	}, func(r *rig) {
		r.pullSecret("secret", "r.example.com", "secret", "x")
		require.True(t, g.startsPod(r, "one", "r.example.com/team/app:1", ""))
		require.Equal(t, []string{"secret", "file", "good-plain"}, g.took())
		require.Equal(t, []string{`{"apiVersion":"credentialprovider.kubelet.k8s.io/v1","kind":"CredentialProviderRequest","image":"r.example.com/team/app"}`}, g.requests(t))
		require.True(t, g.startsPod(r, "two", "r.example.com/other@sha256:12", ""))
		require.Equal(t, []string{"secret", "file", "good-plain"}, g.took())
		require.Empty(t, g.requests(t), "the credentials of the registry are kept")
		require.False(t, g.startsPod(r, "three", "s.example.com/app:1", ""))
		require.Empty(t, g.requests(t), "no program that works is for it")

		answer := httptest.NewRecorder()
		r.k.ReadOnly().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for _, line := range []string{`kubelet_credential_provider_config_info{hash="sha256:12"} 1`, `kubelet_credential_provider_plugin_duration_count{plugin_name="plain"} 1`,
			`kubelet_credential_provider_plugin_errors_total{plugin_name="broken"}`} {
			require.Contains(t, answer.Body.String(), line)
		}
	})
}

// What a program gives for the token of one service account is not used for another account.
func TestCredentialsOfServiceAccounts(t *testing.T) {
	g := &registries{}
	bubble(t, func(r *rig) {
		g.prepare(r)
		g.add(r, "accounts", "r.example.com", providerScript).TokenAttributes = &kubelet.ServiceAccountTokenAttributes{ServiceAccountTokenAudience: "registry", CacheType: "ServiceAccount",
			RequireServiceAccount: new(true), RequiredServiceAccountAnnotationKeys: []string{"example.com/id"}, OptionalServiceAccountAnnotationKeys: []string{"example.com/more"}}
	}, func(r *rig) {
		for name, id := range map[string]string{"a": "1", "b": "2", "c": ""} {
			sa := &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", name)}
			if id != "" {
				sa.Annotations = map[string]string{"example.com/id": id, "example.com/other": "x"}
			}
			controllertest.Create(r.c, sa)
		}
		require.True(t, g.startsPod(r, "one", "r.example.com/x:1", "a"))
		require.Equal(t, []string{"good-accounts"}, g.took())
		list := g.requests(t)
		require.Len(t, list, 1)
		require.Contains(t, list[0], `"serviceAccountToken":"`)
		require.Contains(t, list[0], `"serviceAccountAnnotations":{"example.com/id":"1"}`)
		require.True(t, g.startsPod(r, "two", "r.example.com/x:2", "a"))
		require.Empty(t, g.requests(t), "pods of one account share them")
		require.True(t, g.startsPod(r, "three", "r.example.com/x:3", "b"))
		require.Len(t, g.requests(t), 1)
		g.took()
		require.False(t, g.startsPod(r, "four", "r.example.com/x:4", "c"), "the account lacks the annotation")
		require.False(t, g.startsPod(r, "five", "r.example.com/x:5", "missing"))
		require.Empty(t, g.requests(t))
		require.NotContains(t, g.took(), "good-accounts")
	})
}
