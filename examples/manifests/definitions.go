package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/keelson-dev/keelson/apimachinery/markers"
)

// program prints the definitions of types: for each the name of its file in a line, and the manifest, whose
// end is a line with a zero byte.
var program = template.Must(template.New("main.go").Parse(`package main

import (
	"fmt"
	"os"

	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/markers"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
{{range $i, $path := .Imports}}
	p{{$i}} {{printf "%q" $path}}{{end}}
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	kinds := scheme.New()
{{range .Roots}}	if err := scheme.Add[*p{{.Import}}.{{.Type}}](kinds, {{printf "%#v" .GroupVersion}}, {{printf "%#v" .Kind}}); err != nil {
		return err
	}
{{end}}	source, err := markers.Parse(os.DirFS({{printf "%q" .Folder}}), {{printf "%q" .ImportPath}})
	if err != nil {
		return err
	}
	for _, group := range {{printf "%#v" .Groups}} {
		definitions, err := source.Definitions(kinds, group, markers.Options{})
		if err != nil {
			return err
		}
		for _, d := range definitions {
			fmt.Printf("crd/%s_%s.yaml\n", d.Spec.Group, d.Spec.Names.Plural)
			if err := manifest.Write(os.Stdout, d); err != nil {
				return err
			}
			fmt.Print("\x00\n")
		}
	}
	return nil
}
`))

// root is a type in the program.
type root struct {
	markers.Root
	Import int // number of its package
}

// programOf returns the source of the program for some types.
func (m *module) programOf(roots []markers.Root) ([]byte, error) {
	data := struct {
		Folder, ImportPath string
		Imports, Groups    []string
		Roots              []root
	}{Folder: m.folder, ImportPath: m.importPath}
	for _, r := range roots {
		at := slices.Index(data.Imports, r.ImportPath)
		if at < 0 {
			at = len(data.Imports)
			data.Imports = append(data.Imports, r.ImportPath)
		}
		if !slices.Contains(data.Groups, r.GroupVersion.Group) {
			data.Groups = append(data.Groups, r.GroupVersion.Group)
		}
		data.Roots = append(data.Roots, root{r, at})
	}
	var text bytes.Buffer
	if err := program.Execute(&text, data); err != nil {
		return nil, err
	}
	return format.Source(text.Bytes())
}

// definitions returns the files of the definitions.
func (m *module) definitions(ctx context.Context, source *markers.Source) ([]file, error) {
	roots, err := source.Roots()
	if err != nil || len(roots) == 0 {
		return nil, err
	}
	text, err := m.programOf(roots)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "manifests")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// By the overlay the program is a package of the module, so that it may import internal ones, without a
	// file there.
	inModule := filepath.Join(m.root, "manifests-program")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(inModule, "main.go"): filepath.Join(dir, "main.go")}})
	if err != nil {
		return nil, err
	}
	for name, text := range map[string][]byte{"main.go": text, "overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	out, err := goCommand(ctx, m.root, "run", "-overlay", filepath.Join(dir, "overlay.json"), "./manifests-program")
	if err != nil {
		return nil, err
	}
	var files []file
	for part := range strings.SplitSeq(strings.TrimSuffix(out, "\x00\n"), "\x00\n") {
		name, text, ok := strings.Cut(part, "\n")
		if !ok {
			return nil, fmt.Errorf("the program has printed %q", part)
		}
		files = append(files, file{name, []byte(text)})
	}
	return files, nil
}
