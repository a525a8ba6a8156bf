// Package registryauth chooses the credentials with which an image is pulled: those of Secrets with Docker's
// configuration whose patterns match the image, the most specific first. Patterns are a host, with * for
// parts of it, a port if the image has one, and the beginning of a path.
package registryauth

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Credential is a user of a registry.
type Credential struct {
	Username, Password string
	// Pattern is what it is for.
	Pattern string
	// Source is where it is from.
	Source Source
}

// Source is the object that a credential is from, or was given for.
type Source struct {
	Kind                 SourceKind
	Namespace, Name, UID string
}

// SourceKind is the kind of an object with credentials.
type SourceKind int

// The kinds. Node stands for none: all pods of the node may use the credential.
const (
	Node SourceKind = iota
	Secret
	ServiceAccount
)

// Hash returns the SHA-256 of the user and password in hexadecimal digits. It is that of the upstream kubelet
// 1.36, k8s.io/kubernetes/pkg/credentialprovider.
func (c *Credential) Hash() string {
	text, _ := json.Marshal(struct { // strings are always JSON
		Username string `json:"username,omitempty"`
		Password string `json:"password,omitempty"`
	}{c.Username, c.Password})
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// New returns a credential for a pattern as configurations have it.
func New(username, password, pattern string) Credential {
	return Credential{Username: username, Password: password, Pattern: normalize(pattern)}
}

// entry is a credential as Docker's configuration has it.
type entry struct {
	Username string `json:"username"`
	Password string `json:"password"`
	// Auth is username:password in base64, and replaces both.
	Auth string `json:"auth"`
}

// ErrNoCredentials is the error of a Secret that holds no credentials.
var ErrNoCredentials = errors.New("there are no credentials of registries")

// Parse returns the credentials of a Secret. The error does not show what the Secret holds.
func Parse(s *corev1.Secret) ([]Credential, error) {
	list, err := parse(s)
	return From(list, Source{Secret, s.Namespace, s.Name, string(s.UID)}), err
}

// From sets the source of credentials, in a copy.
func From(list []Credential, source Source) []Credential {
	list = slices.Clone(list)
	for i := range list {
		list[i].Source = source
	}
	return list
}

func parse(s *corev1.Secret) ([]Credential, error) {
	switch {
	case s.Type == corev1.SecretTypeDockerConfigJson && len(s.Data[corev1.DockerConfigJsonKey]) > 0:
		return ParseConfig(corev1.DockerConfigJsonKey, s.Data[corev1.DockerConfigJsonKey])
	case s.Type == corev1.SecretTypeDockercfg && len(s.Data[corev1.DockerConfigKey]) > 0:
		var entries map[string]entry
		if json.Unmarshal(s.Data[corev1.DockerConfigKey], &entries) != nil {
			return nil, broken(corev1.DockerConfigKey)
		}
		return credentials(entries)
	}
	return nil, ErrNoCredentials
}

func broken(name string) error { return fmt.Errorf("%s is no JSON of the expected form", name) }

// ParseConfig returns the credentials of a config.json of Docker. The error names it, and does not show what
// it holds.
func ParseConfig(name string, b []byte) ([]Credential, error) {
	var whole struct {
		Auths map[string]entry `json:"auths"`
	}
	if json.Unmarshal(b, &whole) != nil {
		return nil, broken(name)
	}
	return credentials(whole.Auths)
}

// credentials are those of a configuration, in the order of their patterns.
func credentials(entries map[string]entry) ([]Credential, error) {
	var list []Credential
	for _, pattern := range slices.Sorted(maps.Keys(entries)) {
		e := entries[pattern]
		c := New(e.Username, e.Password, pattern)
		if e.Auth != "" {
			text, err := base64.StdEncoding.DecodeString(e.Auth)
			if err != nil {
				text, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(e.Auth, "="))
			}
			user, password, ok := strings.Cut(strings.TrimRight(string(text), "\x00\n"), ":")
			if err != nil || !ok {
				return nil, fmt.Errorf("the auth of %s is no base64 of username:password", pattern)
			}
			c.Username, c.Password = user, password
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, ErrNoCredentials
	}
	return list, nil
}

// dockerHub is the registry of images that name none. Its configuration calls it by several names.
const dockerHub = "docker.io"

// normalize makes a pattern a host and a path.
func normalize(pattern string) string {
	for _, scheme := range []string{"https://", "http://"} {
		pattern = strings.TrimPrefix(pattern, scheme)
	}
	pattern = strings.TrimSuffix(pattern, "/")
	for _, version := range []string{"/v1", "/v2"} {
		pattern = strings.TrimSuffix(pattern, version)
	}
	host, rest, _ := strings.Cut(pattern, "/")
	if host == "index.docker.io" || host == "registry-1.docker.io" {
		host = dockerHub
	}
	return strings.TrimSuffix(host+"/"+rest, "/")
}

// Repository returns the host and path of an image, without tag and digest.
func Repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	host, rest, ok := strings.Cut(image, "/")
	switch {
	case !ok:
		return dockerHub + "/library/" + image
	case host != "localhost" && !strings.ContainsAny(host, ".:"):
		return dockerHub + "/" + image
	case host == "index.docker.io":
		host = dockerHub
	}
	if host == dockerHub && !strings.Contains(rest, "/") {
		rest = "library/" + rest
	}
	return host + "/" + rest
}

// For returns the credentials that match an image, the most specific first, none twice.
func For(image string, all []Credential) []Credential {
	repository := Repository(image)
	var list []Credential
	for _, c := range all {
		if matches(c.Pattern, repository) && !slices.ContainsFunc(list, func(o Credential) bool { return o.Username == c.Username && o.Password == c.Password }) {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b Credential) int { return cmp.Compare(len(b.Pattern), len(a.Pattern)) })
	return list
}

// CheckPattern returns an error if no repository can match a pattern.
func CheckPattern(pattern string) error {
	host, _, _ := strings.Cut(normalize(pattern), "/")
	name, _, _ := strings.Cut(host, ":")
	if name == "" {
		return errors.New("it has no host")
	}
	for _, part := range strings.Split(name, ".") {
		if _, err := path.Match(part, ""); err != nil || part == "" {
			return fmt.Errorf("%q is no part of a host", part)
		}
	}
	return nil
}

// Matches reports whether a pattern is for a repository.
func Matches(pattern, repository string) bool { return matches(normalize(pattern), repository) }

func matches(pattern, repository string) bool {
	wantHost, wantPath, _ := strings.Cut(pattern, "/")
	host, rest, _ := strings.Cut(repository, "/")
	if wantPath != "" && rest != wantPath && !strings.HasPrefix(rest, wantPath+"/") {
		return false
	}
	wantName, wantPort, _ := strings.Cut(wantHost, ":")
	name, port, _ := strings.Cut(host, ":")
	want, parts := strings.Split(wantName, "."), strings.Split(name, ".")
	if wantPort != port || len(want) != len(parts) {
		return false
	}
	for i := range want {
		if ok, err := path.Match(want[i], parts[i]); err != nil || !ok {
			return false
		}
	}
	return true
}
