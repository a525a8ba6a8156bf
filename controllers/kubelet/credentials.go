package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/credentialplugin"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/registryauth"
)

// CredentialProviders are programs that give credentials for images, besides the imagePullSecrets of pods
// and the file config.json of [Options].RootDir.
type CredentialProviders struct {
	// Dir is the folder of the programs.
	Dir string
	// Providers are all used, in their order, if they match an image.
	Providers []CredentialProvider
	// Hash is that of the configuration, for a metric; empty leaves the metric out.
	Hash string
}

// CredentialProvider is a program that gives credentials for images, as in a CredentialProviderConfig of
// kubelet.config.k8s.io/v1. It reads a CredentialProviderRequest from its standard input and prints a
// CredentialProviderResponse within a minute.
type CredentialProvider struct {
	// Name is that of the program in the folder.
	Name string `json:"name"`
	// MatchImages are the images that it is for: a host, in which * stands for parts of a name between dots,
	// perhaps with a port, and perhaps with the beginning of a path.
	MatchImages []string `json:"matchImages"`
	// DefaultCacheDuration is how long its answers are used if they do not say.
	DefaultCacheDuration *metav1.Duration `json:"defaultCacheDuration"`
	// APIVersion is that of requests and responses: credentialprovider.kubelet.k8s.io/v1, v1beta1 or
	// v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Args and Env are what it is run with. Env is added to the environment of this process.
	Args []string                `json:"args,omitempty"`
	Env  []CredentialProviderEnv `json:"env,omitempty"`
	// TokenAttributes, if not nil, gives it tokens of the service accounts of pods. It needs the version v1.
	TokenAttributes *ServiceAccountTokenAttributes `json:"tokenAttributes,omitempty"`
}

// CredentialProviderEnv is an environment variable of a [CredentialProvider].
type CredentialProviderEnv struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ServiceAccountTokenAttributes say which tokens a [CredentialProvider] gets.
type ServiceAccountTokenAttributes struct {
	// ServiceAccountTokenAudience is the audience of the tokens. The API server lets a node request those of
	// audiences in volumes of the pod, and others with a right to do so.
	ServiceAccountTokenAudience string `json:"serviceAccountTokenAudience"`
	// CacheType is ServiceAccount if credentials are for all pods of a service account, Token if they are for
	// one token.
	CacheType string `json:"cacheType"`
	// RequireServiceAccount is false if the program is also run for pods without a service account, which
	// static ones are.
	RequireServiceAccount *bool `json:"requireServiceAccount"`
	// The program receives these annotations of the service account; it is not run for those that lack a
	// required one.
	RequiredServiceAccountAnnotationKeys []string `json:"requiredServiceAccountAnnotationKeys,omitempty"`
	OptionalServiceAccountAnnotationKeys []string `json:"optionalServiceAccountAnnotationKeys,omitempty"`
}

// The cache types.
const (
	cachePerAccount = "ServiceAccount"
	cachePerToken   = "Token"
)

// Check returns what is wrong, all of it. It does not look for the programs.
func (c *CredentialProviders) Check() error {
	var errs []error
	seen := map[string]bool{}
	for i := range c.Providers {
		p := &c.Providers[i]
		bad := func(wrong bool, format string, args ...any) {
			if wrong {
				errs = append(errs, fmt.Errorf("credential provider %q: "+format, append([]any{p.Name}, args...)...))
			}
		}
		bad(p.Name == "" || p.Name == "." || p.Name == ".." || strings.ContainsAny(p.Name, "/ "), "the name is empty, . or .., or has a slash or a space")
		bad(seen[p.Name], "there are two of this name")
		seen[p.Name] = true
		bad(!slices.Contains(credentialplugin.APIVersions, p.APIVersion), "apiVersion: %q is none of %s", p.APIVersion, strings.Join(credentialplugin.APIVersions, ", "))
		bad(len(p.MatchImages) == 0, "matchImages is empty")
		for _, pattern := range p.MatchImages {
			err := registryauth.CheckPattern(pattern)
			bad(err != nil, "matchImages: %q: %v", pattern, err)
		}
		bad(p.DefaultCacheDuration == nil, "defaultCacheDuration is missing")
		bad(p.DefaultCacheDuration != nil && p.DefaultCacheDuration.Duration < 0, "defaultCacheDuration is negative")
		if p.TokenAttributes != nil {
			p.TokenAttributes.check(bad)
			bad(p.APIVersion != credentialplugin.V1, "tokenAttributes need the apiVersion %s", credentialplugin.V1)
		}
	}
	return errors.Join(errs...)
}

func (a *ServiceAccountTokenAttributes) check(bad func(wrong bool, format string, args ...any)) {
	bad(a.ServiceAccountTokenAudience == "", "tokenAttributes.serviceAccountTokenAudience is missing")
	bad(a.RequireServiceAccount == nil, "tokenAttributes.requireServiceAccount is missing")
	bad(a.CacheType != cachePerAccount && a.CacheType != cachePerToken, "tokenAttributes.cacheType: %q is neither %s nor %s", a.CacheType, cachePerAccount, cachePerToken)
	bad(a.RequireServiceAccount != nil && !*a.RequireServiceAccount && len(a.RequiredServiceAccountAnnotationKeys) > 0,
		"tokenAttributes.requiredServiceAccountAnnotationKeys need requireServiceAccount: true")
	seen := map[string]bool{}
	for _, k := range slices.Concat(a.RequiredServiceAccountAnnotationKeys, a.OptionalServiceAccountAnnotationKeys) {
		bad(seen[k], "tokenAttributes: the annotation %s is there twice", k)
		seen[k] = true
		why := validation.IsQualifiedName(strings.ToLower(k))
		bad(why != nil, "tokenAttributes: annotation %q: %s", k, strings.Join(why, ", "))
	}
}

// provider is a program and what it is for.
type provider struct {
	CredentialProvider
	plugin *credentialplugin.Plugin
}

func newProviders(c *CredentialProviders, m *metrics) ([]*provider, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("kubelet: %w", err)
	}
	var list []*provider
	for _, p := range c.Providers {
		command, err := exec.LookPath(filepath.Join(c.Dir, p.Name))
		if err != nil {
			return nil, fmt.Errorf("kubelet: credential provider %q: %w", p.Name, err)
		}
		if command, err = filepath.Abs(command); err != nil {
			return nil, err
		}
		s := credentialplugin.Settings{Name: p.Name, Command: command, Args: p.Args, APIVersion: p.APIVersion, Duration: p.DefaultCacheDuration.Duration,
			PerToken: p.TokenAttributes != nil && p.TokenAttributes.CacheType == cachePerToken,
			Ran:      func(took time.Duration, err error) { m.providerRan(p.Name, took, err) }}
		for _, e := range p.Env {
			s.Env = append(s.Env, e.Name+"="+e.Value)
		}
		list = append(list, &provider{p, credentialplugin.New(s)})
	}
	if len(list) > 0 && c.Hash != "" {
		m.providers(c.Hash)
	}
	return list, nil
}

// credentials returns the credentials for an image: those of the Secrets that a pod pulls images with, then
// those of the node's file, then those of the programs. A Secret that cannot be used is left out, which an
// event says.
func (k *Kubelet) credentials(ctx context.Context, pod *corev1.Pod, image string) []registryauth.Credential {
	node, err := nodeCredentials(filepath.Join(k.opts.RootDir, "config.json"))
	if err != nil {
		k.log.Warn("the node's credentials of registries cannot be used", "err", err)
	}
	found := slices.Concat(registryauth.For(image, k.secretCredentials(ctx, pod)), registryauth.For(image, node))
	for _, p := range k.providers {
		list, err := k.provided(ctx, p, pod, registryauth.Repository(image))
		if err != nil && ctx.Err() == nil {
			k.log.Warn("no credentials from a provider", "provider", p.Name, "image", image, "namespace", pod.Namespace, "name", pod.Name, "err", err)
		}
		found = append(found, registryauth.For(image, list)...)
	}
	return found
}

// nodeCredentials returns the credentials of a file, none if it does not exist.
func nodeCredentials(path string) ([]registryauth.Credential, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	list, err := registryauth.ParseConfig(path, b)
	if errors.Is(err, registryauth.ErrNoCredentials) {
		return nil, nil
	}
	return list, err
}

// secretCredentials returns what is in the Secrets of a pod.
func (k *Kubelet) secretCredentials(ctx context.Context, pod *corev1.Pod) []registryauth.Credential {
	var all []registryauth.Credential
	var unusable []string
	var why error
	for _, ref := range pod.Spec.ImagePullSecrets {
		if ref.Name == "" {
			continue
		}
		secret, err := k.objects.secrets.GetObject(ctx, pod.Namespace, ref.Name)
		var list []registryauth.Credential
		if err == nil {
			list, err = registryauth.Parse(secret)
		}
		if err != nil {
			unusable, why = append(unusable, ref.Name), err
			continue
		}
		all = append(all, list...)
	}
	if len(unusable) > 0 && ctx.Err() == nil {
		k.log.Info("image pull secrets cannot be used", "namespace", pod.Namespace, "name", pod.Name, "secrets", unusable, "err", why)
		k.recorder.Event(pod, events.Warning, "FailedToRetrieveImagePullSecret",
			fmt.Sprintf("Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", strings.Join(unusable, ", ")))
	}
	return all
}

// provided returns the credentials that a program gives for a repository, none if it is not for it.
func (k *Kubelet) provided(ctx context.Context, p *provider, pod *corev1.Pod, repository string) ([]registryauth.Credential, error) {
	if !slices.ContainsFunc(p.MatchImages, func(pattern string) bool { return registryauth.Matches(pattern, repository) }) {
		return nil, nil
	}
	a := p.TokenAttributes
	if a == nil {
		return p.plugin.Get(ctx, repository, credentialplugin.Account{})
	}
	name := pod.Spec.ServiceAccountName
	if name == "" {
		if *a.RequireServiceAccount {
			return nil, nil
		}
		return p.plugin.Get(ctx, repository, credentialplugin.Account{})
	}
	sa, err := client.For[*corev1.ServiceAccount](k.m.Conn()).Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: name})
	if err != nil {
		return nil, fmt.Errorf("get the service account: %w", err)
	}
	account := credentialplugin.Account{Namespace: pod.Namespace, Name: name, UID: string(sa.UID), Annotations: map[string]string{}}
	for _, key := range a.RequiredServiceAccountAnnotationKeys {
		if _, ok := sa.Annotations[key]; !ok {
			return nil, nil // the account does not take part
		}
	}
	for _, key := range slices.Concat(a.RequiredServiceAccountAnnotationKeys, a.OptionalServiceAccountAnnotationKeys) {
		if v, ok := sa.Annotations[key]; ok {
			account.Annotations[key] = v
		}
	}
	t, err := k.tokens.of(ctx, pod, sa.UID, a.ServiceAccountTokenAudience)
	if err != nil {
		return nil, err
	}
	account.Token = t
	list, err := p.plugin.Get(ctx, repository, account)
	return registryauth.From(list, registryauth.Source{Kind: registryauth.ServiceAccount, Namespace: account.Namespace, Name: account.Name, UID: account.UID}), err
}
