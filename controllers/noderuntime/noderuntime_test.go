package noderuntime

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPauseBinaryIsAnELFProgram(t *testing.T) {
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		b, err := PauseBinary(arch)
		require.NoError(t, err)
		f, err := elf.NewFile(bytes.NewReader(b))
		require.NoError(t, err)
		require.Equal(t, machine, f.Machine)
		require.Equal(t, elf.ET_EXEC, f.Type)
		require.Len(t, f.Progs, 1)
		p := f.Progs[0]
		require.Equal(t, uint64(len(b)), p.Filesz)
		require.Equal(t, elf.PF_R|elf.PF_X, p.Flags)
		require.GreaterOrEqual(t, f.Entry, p.Vaddr)
		require.Less(t, f.Entry, p.Vaddr+p.Memsz)
		require.Zero(t, (len(b)-len(ignoreAction))%8, "the action is aligned")
	}
	_, err := PauseBinary("pdp11")
	require.Error(t, err)
}

func TestArchive(t *testing.T) {
	image := Image{Name: "example.com/x:1", Arch: "amd64", Files: map[string][]byte{"bin/x": []byte("program")}, Links: map[string]string{"bin/y": "x"},
		Entrypoint: []string{"/bin/x"}, Env: []string{"A=b"}}
	var b, again bytes.Buffer
	require.NoError(t, WriteArchive(&b, image))
	require.NoError(t, WriteArchive(&again, image))
	require.Equal(t, b.Bytes(), again.Bytes(), "the same image, the same bytes")
	files := untar(t, b.Bytes())
	var manifest []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	require.NoError(t, json.Unmarshal(files["manifest.json"], &manifest))
	require.Equal(t, []string{"example.com/x:1"}, manifest[0].RepoTags)
	var config struct {
		Architecture string
		Config       struct{ Entrypoint, Env []string }
		RootFS       struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	require.NoError(t, json.Unmarshal(files[manifest[0].Config], &config))
	require.Equal(t, []string{"/bin/x"}, config.Config.Entrypoint)
	require.Contains(t, config.Config.Env, "A=b")
	require.Equal(t, "sha256:"+strings.TrimSuffix(manifest[0].Layers[0], "/layer.tar"), config.RootFS.DiffIDs[0])
	layer := untar(t, files[manifest[0].Layers[0]])
	require.Equal(t, "program", string(layer["bin/x"]))
	require.Equal(t, "-> x", string(layer["bin/y"]))
	require.Contains(t, layer, "tmp/")
}

func untar(t *testing.T, b []byte) map[string][]byte {
	files := map[string][]byte{}
	r := tar.NewReader(bytes.NewReader(b))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		body, err := io.ReadAll(r)
		require.NoError(t, err)
		if h.Typeflag == tar.TypeSymlink {
			body = []byte("-> " + h.Linkname)
		}
		files[h.Name] = body
	}
}

func TestConfigurations(t *testing.T) {
	p := pathsOf("/var/lib/x")
	text := containerdConfig(p, "/usr/lib/cni", "native", true, false, false)
	require.Contains(t, text, `root = "/var/lib/x/root"`)
	require.Contains(t, text, "restrict_oom_score_adj = true")
	require.Contains(t, text, "SystemdCgroup = false")
	require.Contains(t, text, `snapshotter = "native"`)
	network, err := networkConfig(Options{Bridge: "cni0", PodCIDR: netip.MustParsePrefix("10.244.3.7/24")}, p, false, true)
	require.NoError(t, err)
	require.Contains(t, string(network), `"10.244.3.0/24"`)
	require.Contains(t, string(network), `"portmap"`)
	require.NotContains(t, string(network), "::")
	network, err = networkConfig(Options{Bridge: "cni0", PodCIDR: netip.MustParsePrefix("10.244.3.7/24"), PodCIDR6: netip.MustParsePrefix("fd00:3::7/64")}, p, false, true)
	require.NoError(t, err)
	require.Regexp(t, `(?s)"10.244.3.0/24".*"fd00:3::/64".*"0.0.0.0/0".*"::/0"`, string(network))
	require.Equal(t, "10.244.3.1", Gateway(netip.MustParsePrefix("10.244.3.7/24")).String())
	require.Contains(t, containerdConfig(p, "/usr/lib/cni", "native", true, true, false), "SystemdCgroup = true")
	require.Contains(t, text, "enable_selinux = false")
	require.Contains(t, containerdConfig(p, "/usr/lib/cni", "native", true, false, true), "enable_selinux = true")
	long := pathsOf("/" + strings.Repeat("x", 200))
	require.Less(t, len(long.socket), 60, "sockets have short paths")
}
