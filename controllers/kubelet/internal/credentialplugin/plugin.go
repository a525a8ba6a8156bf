// Package credentialplugin runs the programs that give credentials for images, with the API
// credentialprovider.kubelet.k8s.io, and remembers what they gave for as long as they say.
package credentialplugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/registryauth"
)

// APIVersions are the versions of requests and responses. Only V1 has service accounts.
var APIVersions = []string{V1, "credentialprovider.kubelet.k8s.io/v1beta1", "credentialprovider.kubelet.k8s.io/v1alpha1"}

// V1 is the newest version.
const V1 = "credentialprovider.kubelet.k8s.io/v1"

// Settings of a plugin.
type Settings struct {
	// Name is that of errors and metrics, Command the path of the program, with Args and what Env adds to
	// this process's environment, as NAME=value.
	Name, Command string
	Args, Env     []string
	APIVersion    string
	// Duration is how long credentials are kept if the program does not say.
	Duration time.Duration
	// PerToken keeps credentials for one token only, and allows that they are the token itself.
	PerToken bool
	// Ran, if not nil, is called after each run of the program.
	Ran func(took time.Duration, err error)
}

// Account is the service account for which credentials are requested. The zero value is none.
type Account struct {
	Namespace, Name, UID, Token string
	Annotations                 map[string]string
}

// Plugin runs one program. Safe for concurrent use.
type Plugin struct {
	Settings

	mu   sync.Mutex
	kept map[key]entry
	runs map[string]*run // by what they are for
}

// key is what credentials are kept for.
type key struct {
	base    string // an image, a registry or everything
	account string
}

type entry struct {
	list    []registryauth.Credential
	expires time.Time
}

// run is a run of the program that callers with the same request share.
type run struct {
	done  chan struct{} // closed at the end
	reply *response
	err   error
}

// everything is the base of credentials that are for all images. No image or registry has this name.
const everything = "<global>"

// New returns a plugin.
func New(s Settings) *Plugin {
	return &Plugin{Settings: s, kept: map[key]entry{}, runs: map[string]*run{}}
}

// The longest run of a program, and the most that it may print.
const (
	timeout   = time.Minute
	maxOutput = 1 << 20
	maxError  = 1 << 10
)

type request struct {
	APIVersion  string            `json:"apiVersion"`
	Kind        string            `json:"kind"`
	Image       string            `json:"image"`
	Token       string            `json:"serviceAccountToken,omitempty"`
	Annotations map[string]string `json:"serviceAccountAnnotations,omitempty"`
}

type response struct {
	APIVersion    string  `json:"apiVersion"`
	Kind          string  `json:"kind"`
	CacheKeyType  string  `json:"cacheKeyType"`
	CacheDuration *string `json:"cacheDuration"`
	Auth          map[string]struct {
		Username string `json:"username"`
		Password string `json:"password"`
	} `json:"auth"`

	keep *time.Duration
}

// Get returns the credentials for an image, which is a repository without tag and digest. Errors show
// nothing of what the program printed to its standard output.
func (p *Plugin) Get(ctx context.Context, image string, account Account) ([]registryauth.Credential, error) {
	owner := p.owner(&account)
	if list, ok := p.find(image, owner); ok {
		return list, nil
	}
	body := request{APIVersion: p.APIVersion, Kind: "CredentialProviderRequest", Image: image, Token: account.Token, Annotations: account.Annotations}
	reply, err := p.shared(ctx, &body)
	if err != nil {
		return nil, err
	}
	var list []registryauth.Credential
	for _, pattern := range slices.Sorted(maps.Keys(reply.Auth)) {
		auth := reply.Auth[pattern]
		if account.Token != "" && auth.Password == account.Token && !p.PerToken {
			return nil, errors.New("the program returned the service account token as the password, which needs the cache type Token")
		}
		list = append(list, registryauth.New(auth.Username, auth.Password, pattern))
	}
	base := everything
	switch reply.CacheKeyType {
	case "Image":
		base = image
	case "Registry":
		base, _, _ = strings.Cut(image, "/")
	case "Global":
	default:
		return nil, fmt.Errorf("the program returned the cacheKeyType %.64q, which is none of Image, Registry and Global", reply.CacheKeyType)
	}
	keep := p.Duration
	if reply.keep != nil {
		keep = *reply.keep
	}
	if keep > 0 {
		p.keep(key{base, owner}, list, keep)
	}
	return list, nil
}

// owner is the part of keys that keeps the credentials of service accounts apart.
func (p *Plugin) owner(a *Account) string {
	if a.Name == "" {
		return ""
	}
	token := ""
	if p.PerToken {
		token = fmt.Sprintf("%x", sha256.Sum256([]byte(a.Token)))
	}
	// Strings can always be encoded.
	b, _ := json.Marshal([]any{a.Namespace, a.Name, a.UID, a.Annotations, token})
	return string(b)
}

func (p *Plugin) find(image, owner string) ([]registryauth.Credential, bool) {
	registry, _, _ := strings.Cut(image, "/")
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, base := range []string{image, registry, everything} {
		if e, ok := p.kept[key{base, owner}]; ok && time.Now().Before(e.expires) {
			return e.list, true
		}
	}
	return nil, false
}

// keep keeps credentials, and drops those that have expired, so that there are never more than are in use.
func (p *Plugin) keep(k key, list []registryauth.Credential, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(p.kept, func(_ key, e entry) bool { return !now.Before(e.expires) })
	p.kept[k] = entry{list, now.Add(d)}
}

// shared runs the program once for all that request the same at the same time. A caller that gives up does
// not end the run, which others wait for.
func (p *Plugin) shared(ctx context.Context, q *request) (*response, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	r := p.runs[string(body)]
	if r == nil {
		r = &run{done: make(chan struct{})}
		p.runs[string(body)] = r
		go func() {
			r.reply, r.err = p.run(context.WithoutCancel(ctx), body)
			p.mu.Lock()
			delete(p.runs, string(body))
			p.mu.Unlock()
			close(r.done)
		}()
	}
	p.mu.Unlock()
	select {
	case <-r.done:
		return r.reply, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *Plugin) run(ctx context.Context, body []byte) (*response, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	out, err := p.output(ctx, body)
	if p.Ran != nil {
		p.Ran(time.Since(began), err)
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", p.Command, err)
	}
	return p.parse(out)
}

func (p *Plugin) output(ctx context.Context, body []byte) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.Command, p.Args...)
	cmd.Env = append(os.Environ(), p.Env...)
	out, complaint := &limited{max: maxOutput}, &limited{max: maxError}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(body), out, complaint
	cmd.WaitDelay = 5 * time.Second // for what the program has started and left behind
	switch err := cmd.Run(); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(complaint.buf.String()))
	case out.over:
		return nil, fmt.Errorf("the program printed more than %d bytes", maxOutput)
	}
	return out.buf.Bytes(), nil
}

// parse reads what the program printed. No part of it but its version and kind appears in an error.
func (p *Plugin) parse(b []byte) (*response, error) {
	var r response
	if json.Unmarshal(b, &r) != nil {
		return nil, errors.New("the program did not print a CredentialProviderResponse as JSON")
	}
	if r.Kind != "CredentialProviderResponse" || r.APIVersion != p.APIVersion {
		return nil, fmt.Errorf("the program printed a %.64q of %.64q, not a CredentialProviderResponse of %s", r.Kind, r.APIVersion, p.APIVersion)
	}
	if r.CacheDuration != nil {
		d, err := time.ParseDuration(*r.CacheDuration)
		if err != nil {
			return nil, errors.New("the program printed a cacheDuration that is none")
		}
		r.keep = &d
	}
	return &r, nil
}

// limited keeps the beginning of what is written to it.
type limited struct {
	buf  bytes.Buffer
	max  int
	over bool
}

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	room := max(l.max-l.buf.Len(), 0)
	if len(b) > room {
		l.over = true
	}
	l.buf.Write(b[:min(len(b), room)])
	return len(b), nil
}
