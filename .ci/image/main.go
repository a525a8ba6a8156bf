// Command image writes an image archive for the walks:
//
//	go run ./.ci/image FILE.tar
//	go run ./.ci/image FILE.tar NAME:TAG
//	go run ./.ci/image FILE.tar NAME:TAG PROGRAM...
//
// The first is the host's static busybox, with a wget of our own in it, because Debian's static busybox
// cannot look up names. The second is examples/operator, as its Dockerfile builds it, with the tag as its
// version. The third has each PROGRAM in /usr/local/bin: one of this repository, as ./examples/kube-proxy, or
// one of the host with its libraries, as nft.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/keelson-dev/keelson/controllers/noderuntime"
)

func main() {
	var image noderuntime.Image
	var err error
	switch n := len(os.Args); {
	case n == 2:
		image, err = walk()
	case n == 3:
		image, err = operator(os.Args[2])
	case n > 3:
		image, err = programs(os.Args[2], os.Args[3:])
	default:
		fmt.Fprintln(os.Stderr, "usage: image FILE.tar [NAME:TAG [PROGRAM...]]")
		os.Exit(2)
	}
	if err == nil {
		err = write(os.Args[1], image)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func walk() (noderuntime.Image, error) {
	image, err := noderuntime.Busybox()
	if err != nil {
		return image, err
	}
	image.Files["bin/wget"], err = build("./.ci/image/wget", "-s -w")
	delete(image.Links, "bin/wget")
	// Unless a pod has a command. A first process without a trap would ignore SIGTERM.
	image.Cmd = []string{"sh", "-c", "trap exit TERM; httpd -p 80; while sleep 1; do :; done"}
	image.Name = "docker.io/library/walk:1"
	return image, err
}

func operator(name string) (noderuntime.Image, error) {
	_, version, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	program, err := build("./examples/operator", "-s -w -X main.version="+version)
	return noderuntime.Image{Name: name, Arch: runtime.GOARCH, Files: map[string][]byte{"operator": program}, Entrypoint: []string{"/operator"}}, err
}

func programs(name string, names []string) (noderuntime.Image, error) {
	image := noderuntime.Image{Name: name, Arch: runtime.GOARCH, Files: map[string][]byte{}, Env: []string{"PATH=/usr/local/bin"}}
	for _, program := range names {
		to := "usr/local/bin/" + filepath.Base(program)
		var err error
		if strings.HasPrefix(program, "./") {
			image.Files[to], err = build(program, "-s -w")
		} else {
			err = installed(image.Files, program, to)
		}
		if err != nil {
			return image, fmt.Errorf("%s: %w", program, err)
		}
	}
	return image, nil
}

// installed adds a program of the host to files, and the libraries that ldd lists.
func installed(files map[string][]byte, program, to string) error {
	path, err := exec.LookPath(program)
	if err == nil {
		files[to], err = os.ReadFile(path)
	}
	if err != nil {
		return err
	}
	out, err := exec.Command("ldd", path).Output()
	if err != nil {
		return nil // it is static
	}
	for field := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(field, "/") {
			continue
		}
		if files[field[1:]], err = os.ReadFile(field); err != nil {
			return err
		}
	}
	return nil
}

// build returns a static program.
func build(pkg, ldflags string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "keelson-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "program")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags="+ldflags, "-o", program, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(program)
}

func write(path string, image noderuntime.Image) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := noderuntime.WriteArchive(f, image); err != nil {
		return err
	}
	return f.Close()
}
