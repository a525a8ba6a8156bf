package kubelet_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/noderuntime"
)

// startRegistry serves one image as team/app of any tag, to the user good with the password x.
func (n *realNode) startRegistry() *httptest.Server {
	image, err := noderuntime.Busybox()
	require.NoError(n.t, err)
	image.Env = append(image.Env, "FROM=registry") // an image that the node does not have
	var archive bytes.Buffer
	require.NoError(n.t, noderuntime.WriteArchive(&archive, image))
	blobs := map[string][]byte{}
	add := func(b []byte) string {
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256(b))
		blobs[digest] = b
		return digest
	}
	type part struct {
		MediaType string `json:"mediaType"`
		Digest    string `json:"digest"`
		Size      int    `json:"size"`
	}
	const docker = "application/vnd.docker."
	var config, layer part
	for files := tar.NewReader(&archive); ; {
		h, err := files.Next()
		if err == io.EOF {
			break
		}
		require.NoError(n.t, err)
		b, err := io.ReadAll(files)
		require.NoError(n.t, err)
		switch {
		case strings.HasSuffix(h.Name, "layer.tar"):
			layer = part{docker + "image.rootfs.diff.tar", add(b), len(b)}
		case h.Name != "manifest.json":
			config = part{docker + "container.image.v1+json", add(b), len(b)}
		}
	}
	const manifestType = docker + "distribution.manifest.v2+json"
	manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []part{layer}})
	require.NoError(n.t, err)
	digest := add(manifest)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "good" || password != "x" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", manifestType)
			name = digest
		}
		b, ok := blobs[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Docker-Content-Digest", name)
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(b)
		}
	}))
	n.t.Cleanup(s.Close)
	return s
}

// testPullSecrets pulls with the Secret of a pod, from a registry that requires a password. Pods without the
// Secret do not get the image, which is on the node by then, also after a restart of the kubelet.
func (n *realNode) testPullSecrets() {
	host := strings.TrimPrefix(n.startRegistry().URL, "http://")
	n.kubectl("create", "secret", "docker-registry", "registry", "--docker-server="+host, "--docker-username=good", "--docker-password=x")
	pod := func(name, policy, secrets string) {
		n.apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {nodeName: node1, terminationGracePeriodSeconds: 0, imagePullSecrets: [%s], containers: [{name: main, image: "%s/team/app:1", imagePullPolicy: %s, command: [sleep, "1000000"]}]}
`, name, secrets, host, policy))
	}
	runs := func(name string) {
		n.until(name+" runs", is("true"), "get", "pod", name, "-o", "jsonpath={.status.containerStatuses[0].ready}")
	}
	waits := func(name, why string) {
		n.until(name+" waits", is(why), "get", "pod", name, "-o", "jsonpath={.status.containerStatuses[0].state.waiting.reason}")
	}
	pod("stranger", "IfNotPresent", "")
	waits("stranger", "ImagePullBackOff")
	pod("owner", "IfNotPresent", "{name: registry}")
	runs("owner")
	pod("never", "Never", "")
	waits("never", "ErrImageNeverPull")
	n.kubectl("delete", "pod", "never")
	n.stop()
	n.stop = n.startKubelet(false)
	pod("never", "Never", "")
	waits("never", "ErrImageNeverPull")
	pod("other", "Never", "{name: registry}")
	runs("other")
	waits("stranger", "ImagePullBackOff")
	records, err := filepath.Glob(filepath.Join(n.dir, "kubelet", "image_manager", "pulled", "sha256-*"))
	require.NoError(n.t, err)
	require.Len(n.t, records, 1)
	b, err := os.ReadFile(records[0])
	require.NoError(n.t, err)
	require.Contains(n.t, string(b), host+"/team/app")
	require.NotContains(n.t, string(b), "good")
	n.kubectl("delete", "pod", "stranger", "owner", "never", "other", "--wait=true", "--timeout="+patience.String())
}
