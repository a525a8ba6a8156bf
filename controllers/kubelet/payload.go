package kubelet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// dataLink points at the folder of the current version.
const dataLink = "..data"

// swapFiles makes dir hold exactly files, as symbolic links through ..data, whose target is replaced in one
// step: a reader sees all files of the old or all of the new version. It does nothing if they are as they
// should be.
func swapFiles(dir string, files map[string]file, group int) error {
	for path := range files {
		first, _, _ := strings.Cut(path, "/")
		if path == "" || filepath.IsAbs(path) || strings.HasPrefix(first, "..") || slices.Contains(strings.Split(path, "/"), "..") {
			return fmt.Errorf("invalid path %q in volume", path)
		}
	}
	old, err := os.Readlink(filepath.Join(dir, dataLink))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if old != "" && sameFiles(filepath.Join(dir, old), files) {
		return nil
	}
	version, err := os.MkdirTemp(dir, time.Now().UTC().Format("..2006_01_02_15_04_05."))
	if err != nil {
		return err
	}
	if err := fill(version, files, group); err != nil {
		_ = os.RemoveAll(version)
		return err
	}
	tmp := filepath.Join(dir, "..data_tmp")
	err = os.Symlink(filepath.Base(version), tmp)
	if errors.Is(err, fs.ErrExist) { // of a kubelet that ended here
		_ = os.Remove(tmp)
		err = os.Symlink(filepath.Base(version), tmp)
	}
	if err != nil {
		_ = os.RemoveAll(version)
		return err
	}
	if err := os.Rename(tmp, filepath.Join(dir, dataLink)); err != nil {
		_ = os.RemoveAll(version)
		return err
	}
	tops := map[string]bool{}
	for path := range files {
		top, _, _ := strings.Cut(path, "/")
		if tops[top] {
			continue
		}
		tops[top] = true
		if err := os.Symlink(dataLink+"/"+top, filepath.Join(dir, top)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "..") && !tops[e.Name()] {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
		if strings.HasPrefix(e.Name(), "..") && e.IsDir() && e.Name() != filepath.Base(version) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func fill(dir string, files map[string]file, group int) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for path, f := range files {
		if folder, _ := filepath.Split(filepath.FromSlash(path)); folder != "" {
			if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
				return err
			}
		}
		if err := f.write(filepath.Join(dir, filepath.FromSlash(path)), group); err != nil {
			return err
		}
	}
	return nil
}

// write makes the file for its owner and a group, unless that is negative.
func (f *file) write(path string, group int) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(f.data)
	mode := f.mode
	if group >= 0 {
		mode |= 0o440 // what is made of API objects is read only
	}
	err = errors.Join(err, out.Chmod(mode))
	if group >= 0 || f.owner >= 0 {
		err = errors.Join(err, out.Chown(f.owner, group))
	}
	return errors.Join(err, out.Close())
}

// sameFiles reports whether a folder has exactly these files with this content.
func sameFiles(dir string, files map[string]file) bool {
	n := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		n++
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		want, ok := files[filepath.ToSlash(rel)]
		if !ok {
			return fs.ErrExist
		}
		have, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.Equal(have, want.data) {
			return fs.ErrExist
		}
		return nil
	})
	return err == nil && n == len(files)
}
