package noderuntime

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Image is a small image of one layer.
type Image struct {
	// Name with its tag, such as docker.io/library/busybox:latest.
	Name string
	// Arch is as in Go: amd64, arm64.
	Arch string
	// Files by path without a leading slash; they are executable. Links are symbolic, by path.
	Files map[string][]byte
	Links map[string]string
	// Entrypoint and Cmd are the command.
	Entrypoint, Cmd []string
	Env             []string
}

// WriteArchive writes images as one archive for docker load or containerd. The output depends only on the
// images.
func WriteArchive(w io.Writer, images ...Image) error {
	type entry struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	t := tar.NewWriter(w)
	var manifest []entry
	for _, image := range images {
		layer, err := image.layer()
		if err != nil {
			return err
		}
		sum := sha256.Sum256(layer)
		id := hex.EncodeToString(sum[:])
		config, err := json.Marshal(map[string]any{
			"architecture": image.Arch, "os": "linux", "created": "2024-01-01T00:00:00Z",
			"config": map[string]any{"Entrypoint": image.Entrypoint, "Cmd": image.Cmd,
				"Env": append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, image.Env...)},
			"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + id}},
		})
		if err != nil {
			return err
		}
		sum = sha256.Sum256(config)
		configName := hex.EncodeToString(sum[:]) + ".json"
		if err := put(t, configName, config, 0o644); err != nil {
			return err
		}
		if err := put(t, id+"/layer.tar", layer, 0o644); err != nil {
			return err
		}
		manifest = append(manifest, entry{configName, []string{image.Name}, []string{id + "/layer.tar"}})
	}
	b, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	if err := put(t, "manifest.json", b, 0o644); err != nil {
		return err
	}
	return t.Close()
}

func (i *Image) layer() ([]byte, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	dirs := map[string]bool{}
	for _, list := range [][]string{slices.Collect(maps.Keys(i.Files)), slices.Collect(maps.Keys(i.Links))} {
		for _, path := range list {
			for at, c := range path {
				if c == '/' {
					dirs[path[:at+1]] = true
				}
			}
		}
	}
	dirs["tmp/"], dirs["etc/"] = true, true
	for _, d := range slices.Sorted(maps.Keys(dirs)) {
		mode := int64(0o755)
		if d == "tmp/" {
			mode = 0o1777
		}
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d, Mode: mode, ModTime: time.Unix(0, 0)}); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(i.Files)) {
		if err := put(t, path, i.Files[path], 0o755); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(i.Links)) {
		h := &tar.Header{Typeflag: tar.TypeSymlink, Name: path, Linkname: i.Links[path], Mode: 0o777, ModTime: time.Unix(0, 0)}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func put(t *tar.Writer, name string, b []byte, mode int64) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(b)), Mode: mode, ModTime: time.Unix(0, 0)}
	if err := t.WriteHeader(h); err != nil {
		return fmt.Errorf("noderuntime: %w", err)
	}
	_, err := t.Write(b)
	return err
}
