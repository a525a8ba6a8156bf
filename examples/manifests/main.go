// Command manifests writes the definitions of custom resources, the roles and the webhook configurations of
// Go packages, by the comments and kubebuilder's markers in them, as controller-gen does:
//
//	go get -tool github.com/keelson-dev/keelson/examples/manifests
//	go tool manifests --role manager-role ./api
//
// It reads the packages in and below the folder and writes below --out
//
//	crd/GROUP_PLURAL.yaml   for each kind with the marker +kubebuilder:object:root
//	rbac/role.yaml          for the markers +kubebuilder:rbac
//	webhook/manifests.yaml  for the markers +kubebuilder:webhook
//
// The schema of a kind follows from its Go type, so the command compiles a small program that imports the
// packages, which must build. Nothing is written to the module but the files above. A program that has its
// scheme at hand can call package apimachinery/markers itself, as examples/operator does.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/markers"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// kinds of manifests.
var parts = []string{"crd", "rbac", "webhook"}

// options are the flags.
type options struct {
	out, role string
	only      []string
	folder    string
}

func parse(args []string, usage io.Writer) (*options, error) {
	o := &options{}
	f := pflag.NewFlagSet("manifests", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.out, "out", "config", "folder of the files; - writes all to the standard output")
	f.StringVar(&o.role, "role", "manager-role", "name of the roles whose markers have none")
	f.StringSliceVar(&o.only, "only", parts, "what to write")
	if err := f.Parse(args); errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(usage, "Writes the manifests of Go packages.\n\nUsage: manifests [flags] [FOLDER]\n\n%s", f.FlagUsages())
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%w; see --help", err)
	}
	for _, part := range o.only {
		if !slices.Contains(parts, part) {
			return nil, fmt.Errorf("--only=%s: there are %s", part, strings.Join(parts, ", "))
		}
	}
	if f.NArg() > 1 {
		return nil, fmt.Errorf("unexpected argument %q: one folder is read, with all packages below it", f.Arg(1))
	}
	if o.folder = "."; f.NArg() == 1 {
		o.folder = f.Arg(0)
	}
	return o, nil
}

// file is a file to write.
type file struct {
	name string
	text []byte
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args, stdout)
	if o == nil || err != nil {
		return err
	}
	in, err := findModule(ctx, o.folder)
	if err != nil {
		return err
	}
	source, err := markers.Parse(os.DirFS(in.folder), in.importPath)
	if err != nil {
		return err
	}
	var files []file
	for _, part := range parts {
		if !slices.Contains(o.only, part) {
			continue
		}
		more, err := map[string]func() ([]file, error){
			"crd":  func() ([]file, error) { return in.definitions(ctx, source) },
			"rbac": func() ([]file, error) { return one("rbac/role.yaml", source.Roles, o.role) },
			"webhook": func() ([]file, error) {
				return one("webhook/manifests.yaml", func(string) ([]metav1.Object, error) { return source.Webhooks() }, "")
			},
		}[part]()
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no markers of %s", o.folder, strings.Join(o.only, ", "))
	}
	return write(files, o.out, stdout)
}

// one returns the file of a list of objects, or none.
func one(name string, list func(string) ([]metav1.Object, error), role string) ([]file, error) {
	objs, err := list(role)
	if err != nil || len(objs) == 0 {
		return nil, err
	}
	var text bytes.Buffer
	err = manifest.Write(&text, objs...)
	return []file{{name, text.Bytes()}}, err
}

// write writes the files below a folder, or to stdout.
func write(files []file, out string, stdout io.Writer) error {
	for i, f := range files {
		if out == "-" {
			if i > 0 {
				fmt.Fprintln(stdout, "---")
			}
			if _, err := stdout.Write(f.text); err != nil {
				return err
			}
			continue
		}
		name := filepath.Join(out, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.text, 0o644); err != nil { //nolint:gosec // manifests are to be read by others
			return err
		}
	}
	return nil
}

// module is the Go module of a folder.
type module struct {
	root       string // folder of the module
	path       string // of the module
	folder     string // that is read
	importPath string // of the package in folder
}

func findModule(ctx context.Context, folder string) (*module, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(folder); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", folder)
	}
	text, err := goCommand(ctx, folder, "env", "GOMOD")
	if err != nil {
		return nil, err
	}
	mod := strings.TrimSpace(text)
	if mod == "" || mod == os.DevNull {
		return nil, fmt.Errorf("%s is not in a Go module", folder)
	}
	m := &module{root: filepath.Dir(mod), folder: folder}
	if text, err = goCommand(ctx, m.root, "list", "-m", "-f", "{{if eq .Dir \""+filepath.ToSlash(m.root)+"\"}}{{.Path}}{{end}}"); err != nil {
		return nil, err
	}
	m.path = strings.TrimSpace(text)
	below, err := filepath.Rel(m.root, folder)
	if err != nil {
		return nil, err
	}
	if m.importPath = m.path; below != "." {
		m.importPath += "/" + filepath.ToSlash(below)
	}
	return m, nil
}

// goCommand runs the go command in a folder and returns its output.
func goCommand(ctx context.Context, folder string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(failure.String()))
	}
	return out.String(), nil
}
