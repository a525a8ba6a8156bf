package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
)

const encryptionHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n"

// cipherKey is a key of a configuration, whose bytes are all c.
func cipherKey(name string, c byte) string {
	return fmt.Sprintf("{name: %s, secret: %s}", name, base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(c), 32))))
}

// Secrets are stored as the file says, keys are rotated by the file, one that cannot be used changes nothing,
// and both are reported.
func TestEncryptionReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	write := func(text string) {
		require.NoError(t, os.WriteFile(file+".new", []byte(encryptionHead+text), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	write("  - aescbc: {keys: [" + cipherKey("k1", '1') + "]}\n")
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	require.NoError(t, os.WriteFile(tokens, []byte("of-root,root,1,system:masters\n"), 0o600))
	o, err := parse([]string{"--storage-backend=memory", "--encryption-provider-config=" + file, "--encryption-provider-config-automatic-reload", "--token-auth-file=" + tokens, "--etcd-prefix=custom"})
	require.NoError(t, err)
	st := memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	outcomes := make(chan error, 10)
	o.encryption.changed = func(err error) { outcomes <- err }
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = cp.Run(ctx) }) // its error would fail what follows
	running.Go(func() { o.encryption.follow(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	outcome := func() error {
		select {
		case err := <-outcomes:
			return err
		case <-time.After(time.Minute):
			t.Fatal("no change was reported")
			return nil
		}
	}
	put := func(method, path, body string) {
		t.Helper()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer of-root")
		r.Header.Set("Content-Type", "application/json")
		if method == http.MethodPatch {
			r.Header.Set("Content-Type", "application/merge-patch+json")
		}
		w := httptest.NewRecorder()
		cp.ServeHTTP(w, r)
		require.Less(t, w.Code, 300, w.Body)
	}
	stored := func() string {
		kv, _, err := st.Get(t.Context(), "/secrets/default/s")
		require.NoError(t, err)
		return string(kv.Value)
	}
	put("POST", "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"},"stringData":{"k":"password"}}`)
	require.True(t, strings.HasPrefix(stored(), "k8s:enc:aescbc:v1:k1:"))
	require.NotContains(t, stored(), "password")

	write("  - aescbc: {keys: [" + cipherKey("k1", '1') + "]}\n  - nonsense: {}\n")
	require.ErrorContains(t, outcome(), `line 7: unknown field "resources[0].providers[1].nonsense"`)
	put("PATCH", "/api/v1/namespaces/default/secrets/s", `{"metadata":{"labels":{"a":"b"}}}`)
	require.True(t, strings.HasPrefix(stored(), "k8s:enc:aescbc:v1:k1:"), "the last good one stays")

	write("  - secretbox: {keys: [" + cipherKey("k2", '2') + "]}\n  - aescbc: {keys: [" + cipherKey("k1", '1') + "]}\n")
	require.NoError(t, outcome())
	put("PATCH", "/api/v1/namespaces/default/secrets/s", `{}`)
	require.True(t, strings.HasPrefix(stored(), "k8s:enc:secretbox:v1:k2:"))
	list, err := st.List(t.Context(), "/", store.ListOptions{})
	require.NoError(t, err)
	for _, kv := range list.Items {
		require.NotContains(t, string(kv.Value), "password", kv.Key)
	}
}

// No byte of a secret is in the files of a store on disk, in plain text or in base64.
func TestNoByteOfASecretIsOnDisk(t *testing.T) {
	config, dir := filepath.Join(t.TempDir(), "encryption.yaml"), t.TempDir()
	require.NoError(t, os.WriteFile(config, []byte(encryptionHead+"  - aesgcm: {keys: ["+cipherKey("k1", '1')+"]}\n"), 0o600))
	o, err := parse([]string{"--storage-backend=file", "--storage-dir=" + dir, "--encryption-provider-config=" + config, "--token-auth-file=" + tokenFile(t), "--authorization-mode=AlwaysAllow",
		"--generate-service-account-key"})
	require.NoError(t, err)
	st, err := o.openStore(t.Context(), discard)
	require.NoError(t, err)
	t.Run("server", func(t *testing.T) {
		post := startOver(t, o, st)
		for path, body := range map[string]map[string]any{
			"secrets": {"stringData": map[string]string{"k": "secret-1234-text"}, "data": map[string][]byte{"d": []byte("secret-1234-data")}}, "configmaps": {"data": map[string]string{"k": "public-1234-text"}},
		} {
			body["metadata"] = map[string]string{"name": "a"}
			require.Equal(t, http.StatusCreated, post("/api/v1/namespaces/kube-system/"+path, body).Code)
		}
	})
	st.close()
	var all []byte
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all = append(all, data...)
		return err
	}))
	require.Contains(t, string(all), "public-1234-text")
	require.Contains(t, string(all), "k8s:enc:aesgcm:v1:k1:")
	require.NotContains(t, string(all), "secret-1234")
	for offset := range 3 { // the ways in which base64 may divide it
		part := base64.StdEncoding.EncodeToString([]byte("secret-1234-text")[offset:])
		require.NotContains(t, string(all), part[:12])
	}
}

func TestRefusedEncryptionFlags(t *testing.T) {
	_, err := parse([]string{"--storage-backend=memory", "--encryption-provider-config-automatic-reload"})
	require.ErrorContains(t, err, "--encryption-provider-config-automatic-reload needs --encryption-provider-config")
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	for text, want := range map[string]string{
		"  - aesgcm: {keys: [{name: a, secret: c2VjcmV0}]}\n": file + "]: encryption: EncryptionConfiguration: line 6: resources[0].providers[0].aesgcm.keys[0].secret: Invalid value",
		"  - {}\n": "line 6: resources[0].providers[0]: Invalid value: provider does not contain any",
	} {
		require.NoError(t, os.WriteFile(file, []byte(encryptionHead+text), 0o600))
		o, err := parse([]string{"--storage-backend=memory", "--encryption-provider-config=" + file})
		require.NoError(t, err)
		st := memory.New(memory.Options{})
		_, err = o.controlPlane(st, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "--encryption-provider-config: ")
		require.NoError(t, st.Close())
	}
}

// Key management services have a health check if the file names one, and always if it is read again, as it
// may name one later. It is not part of /livez.
func TestKeyServiceChecks(t *testing.T) {
	keyed := "  - aesgcm: {keys: [" + cipherKey("k1", '1') + "]}\n"
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	require.NoError(t, os.WriteFile(tokens, []byte("of-root,root,1,system:masters\n"), 0o600))
	named := "  - kms: {apiVersion: v2, name: vault, endpoint: \"unix:///nowhere\", timeout: 1ms}\n"
	for _, c := range []struct {
		text   string
		reload bool
		ready  int
	}{{keyed, false, http.StatusNotFound}, {keyed, true, http.StatusOK}, {named, false, http.StatusInternalServerError}, {named, true, http.StatusInternalServerError}} {
		file := filepath.Join(t.TempDir(), "encryption.yaml")
		require.NoError(t, os.WriteFile(file, []byte(encryptionHead+c.text), 0o600))
		o, err := parse([]string{"--storage-backend=memory", "--token-auth-file=" + tokens, "--encryption-provider-config=" + file, fmt.Sprintf("--encryption-provider-config-automatic-reload=%t", c.reload)})
		require.NoError(t, err)
		st := memory.New(memory.Options{})
		cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		for path, want := range map[string]int{"/readyz": c.ready, "/healthz": c.ready, "/livez": http.StatusNotFound} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, path+"/kms-providers", nil)
			r.Header.Set("Authorization", "Bearer of-root")
			cp.ServeHTTP(w, r)
			require.Equal(t, want, w.Code, "%s, %+v", path, c)
		}
		o.encryption.close()
		require.NoError(t, st.Close())
	}
}
