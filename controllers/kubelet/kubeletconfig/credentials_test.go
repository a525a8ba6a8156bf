package kubeletconfig_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
)

const someProviders = `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: registry
  matchImages: ["*.example.com", "example.org:5000/team"]
  defaultCacheDuration: 12h
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  args: [get]
  env: [{name: PROFILE, value: a}]
  tokenAttributes:
    serviceAccountTokenAudience: registry
    cacheType: Token
    requireServiceAccount: false
    optionalServiceAccountAnnotationKeys: [example.com/Id]
`

const anotherProvider = `{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"CredentialProviderConfig","providers":[
{"name":"other","matchImages":["r.example.net"],"defaultCacheDuration":"0s","apiVersion":"credentialprovider.kubelet.k8s.io/v1alpha1"}]}`

func TestLoadCredentialProviders(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	_, err := kubeletconfig.LoadCredentialProviders(dir, "/bin")
	require.ErrorContains(t, err, "no file of this folder")
	write("10.json", anotherProvider)
	one := write("05.yaml", someProviders)
	write("README", "not read")
	c, err := kubeletconfig.LoadCredentialProviders(dir, "/bin")
	require.NoError(t, err)
	require.Equal(t, "/bin", c.Dir)
	require.Len(t, c.Providers, 2)
	require.Equal(t, "registry", c.Providers[0].Name)
	require.Equal(t, 12*time.Hour, c.Providers[0].DefaultCacheDuration.Duration)
	require.Equal(t, "Token", c.Providers[0].TokenAttributes.CacheType)
	require.Equal(t, "PROFILE", c.Providers[0].Env[0].Name)
	require.Equal(t, "other", c.Providers[1].Name)
	alone, err := kubeletconfig.LoadCredentialProviders(one, "/bin")
	require.NoError(t, err)
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", alone.Hash)
	require.NotEqual(t, c.Hash, alone.Hash)
	write("20.yml", someProviders)
	_, err = kubeletconfig.LoadCredentialProviders(dir, "/bin")
	require.ErrorContains(t, err, "two of this name")
	_, err = kubeletconfig.LoadCredentialProviders(filepath.Join(dir, "none"), "/bin")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestBadCredentialProviders(t *testing.T) {
	head := func(version, rest string) string {
		return "apiVersion: kubelet.config.k8s.io/" + version + "\nkind: CredentialProviderConfig\n" + rest
	}
	provider := func(name, version, rest string) string {
		return head("v1", "providers: [{name: "+name+", apiVersion: credentialprovider.kubelet.k8s.io/"+version+rest+"}]")
	}
	const whole = `, matchImages: [r.example.com], defaultCacheDuration: 1h`
	tokens := func(text string) string {
		return provider("p", "v1", whole+", tokenAttributes: {"+text+"}")
	}
	for text, want := range map[string]string{
		"": "want kind", "a: [": "05.yaml", head("v2", ""): "want kind", "kind: KubeletConfiguration": "want kind", head("v1", ""): "no providers",
		head("v1", "plugins: []"):                                                             "plugins",
		provider("p", "v1", whole+", retries: 3"):                                             "retries",
		provider("../p", "v1", whole):                                                         "slash",
		provider("..", "v1", whole):                                                           "name",
		provider(`""`, "v1", whole):                                                           "name",
		provider("p", "v7", whole):                                                            "v7",
		provider("p", "v1", ", defaultCacheDuration: 1h"):                                     "matchImages is empty",
		provider("p", "v1", ", matchImages: [r]"):                                             "defaultCacheDuration is missing",
		provider("p", "v1", `, matchImages: ["["], defaultCacheDuration: 1h`):                 "matchImages",
		provider("p", "v1", `, matchImages: ["/a"], defaultCacheDuration: -1h`):               "negative",
		tokens("cacheType: Token, requireServiceAccount: true"):                               "serviceAccountTokenAudience",
		tokens("cacheType: Pod, requireServiceAccount: true, serviceAccountTokenAudience: a"): "cacheType",
		tokens("cacheType: Token, serviceAccountTokenAudience: a"):                            "requireServiceAccount is missing",
		tokens("cacheType: Token, requireServiceAccount: false, serviceAccountTokenAudience: a, requiredServiceAccountAnnotationKeys: [a]"):                                           "need requireServiceAccount: true",
		tokens("cacheType: Token, requireServiceAccount: true, serviceAccountTokenAudience: a, requiredServiceAccountAnnotationKeys: [a], optionalServiceAccountAnnotationKeys: [a]"): "twice",
		tokens(`cacheType: Token, requireServiceAccount: true, serviceAccountTokenAudience: a, requiredServiceAccountAnnotationKeys: ["a b"]`):                                        "annotation",
		provider("p", "v1beta1", whole+", tokenAttributes: {cacheType: Token, requireServiceAccount: true, serviceAccountTokenAudience: a}"):                                          "tokenAttributes need the apiVersion",
		head("v1beta1", "providers: [{name: p, apiVersion: credentialprovider.kubelet.k8s.io/v1"+whole+", tokenAttributes: {cacheType: Token}}]"):                                     "of the file",
	} {
		path := filepath.Join(t.TempDir(), "05.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := kubeletconfig.LoadCredentialProviders(path, "/bin")
		require.ErrorContains(t, err, want, text)
	}
}
