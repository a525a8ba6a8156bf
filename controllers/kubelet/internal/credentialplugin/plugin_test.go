package credentialplugin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/registryauth"
)

// program writes a plugin that appends its requests to a file and then does what the text says.
func program(t *testing.T, text string) (command, log string) {
	dir := t.TempDir()
	command, log = filepath.Join(dir, "plugin"), filepath.Join(dir, "log")
	require.NoError(t, os.WriteFile(command, []byte("#!/bin/sh\ncat >>"+log+"; echo >>"+log+"\n"+text+"\n"), 0o755))
	return command, log
}

func answer(rest string) string {
	return `echo '{"apiVersion":"` + V1 + `","kind":"CredentialProviderResponse",` + rest + `}'`
}

func requests(t *testing.T, log string) []string {
	b, err := os.ReadFile(log)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func TestWhatIsKept(t *testing.T) {
	for _, c := range []struct {
		name, kind, duration string
		images               []string
		runs                 int
	}{
		{"image", "Image", `"1h"`, []string{"r/a", "r/a", "r/b"}, 2},
		{"registry", "Registry", `"1h"`, []string{"r/a", "r/b", "s/a"}, 2},
		{"global", "Global", `"1h"`, []string{"r/a", "s/b", "t/c"}, 1},
		{"never", "Global", `"0s"`, []string{"r/a", "r/a"}, 2},
		{"default", "Global", `null`, []string{"r/a", "r/a"}, 1},
		{"expired", "Global", `"1ns"`, []string{"r/a", "r/a"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			command, log := program(t, answer(`"cacheKeyType":"`+c.kind+`","cacheDuration":`+c.duration+`,"auth":{"*.example.com/x":{"username":"u","password":"p"}}`))
			p := New(Settings{Name: "p", Command: command, APIVersion: V1, Duration: time.Hour})
			for _, image := range c.images {
				list, err := p.Get(t.Context(), image, Account{})
				require.NoError(t, err)
				require.Equal(t, []registryauth.Credential{{Username: "u", Password: "p", Pattern: "*.example.com/x"}}, list)
			}
			require.Len(t, requests(t, log), c.runs)
			require.Contains(t, requests(t, log), fmt.Sprintf(`{"apiVersion":"%s","kind":"CredentialProviderRequest","image":"r/a"}`, V1))
		})
	}
}

// What is given for one account, or one token, is not given for another.
func TestAccountsAreApart(t *testing.T) {
	command, log := program(t, answer(`"cacheKeyType":"Global","auth":{}`))
	a := Account{Namespace: "n", Name: "a", UID: "1", Token: "t1", Annotations: map[string]string{"k": "v"}}
	again, later, reborn, changed := a, a, a, a
	later.Token, reborn.UID, changed.Annotations = "t2", "2", map[string]string{"k": "w"}
	for perToken, runs := range map[bool]int{false: 4, true: 5} {
		p := New(Settings{Name: "p", Command: command, APIVersion: V1, Duration: time.Hour, PerToken: perToken})
		require.NoError(t, os.WriteFile(log, nil, 0o600))
		for _, account := range []Account{a, again, later, reborn, changed, {}} {
			_, err := p.Get(t.Context(), "r/a", account)
			require.NoError(t, err)
		}
		require.Len(t, requests(t, log), runs)
		require.Contains(t, requests(t, log)[0], `"serviceAccountToken":"t1","serviceAccountAnnotations":{"k":"v"}`)
	}
}

func TestBadPrograms(t *testing.T) {
	const good = `"cacheKeyType":"Global","auth":{}`
	for _, c := range []struct{ name, text, want string }{
		{"fails", "echo 'no network' >&2; echo s3cret; exit 3", "exit status 3: no network"},
		{"nothing", "", "did not print"},
		{"no JSON", "echo s3cret", "did not print"},
		{"other version", strings.ReplaceAll(answer(good), "/v1", "/v1beta1"), "not a CredentialProviderResponse of"},
		{"other kind", strings.ReplaceAll(answer(good), "Response", "Request"), "not a CredentialProviderResponse of"},
		{"key type", answer(`"cacheKeyType":"Node","auth":{"r":{"password":"s3cret"}}`), "cacheKeyType"},
		{"duration", answer(`"cacheKeyType":"Global","cacheDuration":"s3cret"`), "cacheDuration"},
		{"echo", answer(`"cacheKeyType":"Global","auth":{"r":{"password":"s3cret-token"}}`), "service account token as the password"},
		{"endless", "yes s3cret", "more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "endless" {
				c.text = "head -c 2000000 /dev/zero"
			}
			command, _ := program(t, c.text)
			failed := 0
			p := New(Settings{Name: "p", Command: command, APIVersion: V1, Duration: time.Hour, Ran: func(_ time.Duration, err error) {
				if err != nil {
					failed++
				}
			}})
			_, err := p.Get(t.Context(), "r/a", Account{Namespace: "n", Name: "a", Token: "s3cret-token"})
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "s3cret")
			require.Equal(t, c.name == "fails" || c.name == "endless", failed == 1)
		})
	}
	_, err := New(Settings{Name: "p", Command: "/does/not/exist", APIVersion: V1}).Get(t.Context(), "r/a", Account{})
	require.Error(t, err)
}

// The same request at the same time is one run, which outlives a caller that gives up.
func TestSharedRuns(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	command, log := program(t, "while ! test -e "+gate+"; do sleep 0.01; done\n"+answer(`"cacheKeyType":"Image","cacheDuration":"0s","auth":{"r":{"username":"u","password":"p"}}`))
	p := New(Settings{Name: "p", Command: command, APIVersion: V1})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	only := func() *run {
		p.mu.Lock()
		defer p.mu.Unlock()
		require.Len(t, p.runs, 1)
		for _, r := range p.runs {
			return r
		}
		return nil
	}
	_, err := p.Get(gone, "r/a", Account{})
	require.ErrorIs(t, err, context.Canceled)
	first := only()
	_, err = p.Get(gone, "r/a", Account{})
	require.ErrorIs(t, err, context.Canceled)
	require.Same(t, first, only())
	var wg sync.WaitGroup
	wg.Go(func() {
		list, err := p.Get(t.Context(), "r/a", Account{})
		require.NoError(t, err)
		require.Len(t, list, 1)
	})
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	<-first.done
	require.NoError(t, first.err)
	wg.Wait()
	require.Empty(t, p.runs)
	require.LessOrEqual(t, len(requests(t, log)), 2, "the last caller may be too late for the first run")
}
