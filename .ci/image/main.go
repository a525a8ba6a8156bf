// Command image writes an image archive for the walks: the host's static busybox, with a wget of our own in
// it, because Debian's static busybox cannot look up names.
//
//	go run ./.ci/image FILE.tar
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/keelson-dev/keelson/controllers/noderuntime"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: image FILE.tar")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func write(path string) error {
	image, err := noderuntime.Busybox()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "keelson-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	wget := filepath.Join(dir, "wget")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", wget, "./.ci/image/wget")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if image.Files["bin/wget"], err = os.ReadFile(wget); err != nil {
		return err
	}
	delete(image.Links, "bin/wget")
	image.Name = "docker.io/library/walk:1"
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := noderuntime.WriteArchive(f, image); err != nil {
		return err
	}
	return f.Close()
}
