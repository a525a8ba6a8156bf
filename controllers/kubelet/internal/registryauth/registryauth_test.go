package registryauth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func TestRepository(t *testing.T) {
	for image, want := range map[string]string{
		"busybox": "docker.io/library/busybox", "busybox:1": "docker.io/library/busybox", "me/app:1": "docker.io/me/app", "docker.io/app": "docker.io/library/app",
		"index.docker.io/me/app": "docker.io/me/app", "localhost/app": "localhost/app", "localhost:5000/app:2": "localhost:5000/app", "r.example.com/a/b@sha256:12": "r.example.com/a/b",
		"r.example.com:443/a:1@sha256:12": "r.example.com:443/a",
	} {
		require.Equal(t, want, Repository(image), image)
	}
}

func TestFor(t *testing.T) {
	for _, c := range []struct {
		pattern, image string
		want           bool
	}{
		{"https://index.docker.io/v1/", "busybox", true}, {"docker.io", "me/app", true}, {"registry-1.docker.io", "me/app", true}, {"docker.io/other", "me/app", false},
		{"r.example.com", "r.example.com/a", true}, {"https://r.example.com/v2/", "r.example.com/a", true}, {"example.com", "r.example.com/a", false}, {"*.example.com", "r.example.com/a", true},
		{"*.com", "r.example.com/a", false}, {"r*.example.com", "r2.example.com/a", true}, {"r.example.com/a", "r.example.com/a/b", true}, {"r.example.com/a", "r.example.com/ab", false},
		{"r.example.com:443", "r.example.com/a", false}, {"r.example.com", "r.example.com:443/a", false}, {"*.example.com:443", "r.example.com:443/a", true}, {"[", "r/a", false}, {"", "busybox", false},
	} {
		found := For(c.image, []Credential{{Username: "u", Password: "p", Pattern: normalize(c.pattern)}})
		require.Equal(t, c.want, len(found) == 1, "%v", c)
	}
	list := For("r.example.com/a/b", []Credential{New("1", "p", "r.example.com"), New("2", "p", "r.example.com/a"), New("1", "p", "*.example.com"), New("3", "p", "r.example.com/c")})
	require.Equal(t, []Credential{New("2", "p", "r.example.com/a"), New("1", "p", "r.example.com")}, list)
}

func TestParse(t *testing.T) {
	secret := func(kind corev1.SecretType, key, text string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "n", UID: "1"}, Type: kind, Data: map[string][]byte{key: []byte(text)}}
	}
	const config, old = corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg
	source := Source{Secret, "ns", "n", "1"}
	list, err := Parse(secret(config, ".dockerconfigjson", `{"auths":{"https://index.docker.io/v1/":{"auth":"dTpwOnE="},"r.example.com":{"username":"a","password":"b","email":"c"}}}`))
	require.NoError(t, err)
	require.Equal(t, From([]Credential{New("u", "p:q", "docker.io"), New("a", "b", "r.example.com")}, source), list)
	list, err = Parse(secret(old, ".dockercfg", `{"r.example.com":{"auth":"dTpw"}}`))
	require.NoError(t, err)
	require.Equal(t, From([]Credential{New("u", "p", "r.example.com")}, source), list)
	for _, bad := range []*corev1.Secret{
		secret(config, ".dockerconfigjson", `{"auths":"s3cret"}`), secret(config, ".dockerconfigjson", `{"auths":{"r":{"auth":"s3cret!"}}}`), secret(config, ".dockerconfigjson", `{"auths":{"r":{"auth":"dQ=="}}}`),
		secret(config, ".dockerconfigjson", `{}`), secret(config, ".dockercfg", `{"r":{"auth":"dTpw"}}`), secret(old, ".dockercfg", `[]`), secret("Opaque", ".dockerconfigjson", `{"auths":{"r":{"auth":"dTpw"}}}`), {},
	} {
		_, err := Parse(bad)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "s3cret")
	}
}
