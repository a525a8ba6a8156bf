package keelson_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// block is a fenced block of a document.
type block struct {
	info string // what stands behind the opening fence
	text string
	line int
}

// readMarkdown returns the lines of a document outside of its fenced blocks, and the blocks.
func readMarkdown(t *testing.T, name string) (prose []string, blocks []block) {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var open *block
	for i, line := range strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{info: strings.TrimSpace(info), line: i + 1}
		case fence:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += line + "\n"
		default:
			prose = append(prose, line)
		}
	}
	require.Nil(t, open, "%s: a block is not closed", name)
	return prose, blocks
}

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeSpan     = regexp.MustCompile("`[^`]*`")
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the fragments that a document's headings can be linked by.
func anchors(prose []string) map[string]bool {
	out := map[string]bool{}
	for _, line := range prose {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			title = notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			out[strings.ReplaceAll(title, " ", "-")] = true
		}
	}
	return out
}

// TestMarkdownLinks follows the links of all documents that lead into the repository.
func TestMarkdownLinks(t *testing.T) {
	for _, name := range markdownFiles(t) {
		prose, _ := readMarkdown(t, name)
		for _, line := range prose {
			for _, m := range markdownLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
				target, anchor, _ := strings.Cut(m[1], "#")
				if strings.Contains(target, "://") {
					continue
				}
				to := name
				if target != "" {
					to = path.Join(path.Dir(name), target)
					if _, err := os.Stat(to); err != nil {
						t.Errorf("%s links to %s, which does not exist", name, m[1])
						continue
					}
				}
				if anchor != "" {
					other, _ := readMarkdown(t, to)
					if !anchors(other)[anchor] {
						t.Errorf("%s links to %s, which has no such heading", name, m[1])
					}
				}
			}
		}
	}
}

// TestMarkdownGo compiles the Go of all documents: every block is a file, and the blocks of one document are
// one package, or several that begin with their main function.
func TestMarkdownGo(t *testing.T) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	here, err := os.Getwd()
	require.NoError(t, err)
	tmp := t.TempDir()
	var pkgs []string
	for _, name := range markdownFiles(t) {
		_, blocks := readMarkdown(t, name)
		pkg := strings.ToLower(strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(name))
		mains := 0
		for _, b := range blocks {
			if b.info != "go" {
				continue
			}
			if !strings.Contains("\n"+b.text, "\npackage ") {
				t.Errorf("%s:%d: a block of Go is not a whole file", name, b.line)
				continue
			}
			if strings.Contains(b.text, "\nfunc main() {") {
				if mains++; mains > 1 {
					pkg += "_next"
				}
			}
			file := fmt.Sprintf("block%d.go", b.line)
			if strings.Contains(b.text, "\n\t\"testing\"\n") {
				file = fmt.Sprintf("block%d_test.go", b.line)
			}
			real := filepath.Join(tmp, pkg+file)
			require.NoError(t, os.WriteFile(real, []byte(b.text), 0o600))
			overlay.Replace[filepath.Join(here, pkg, file)] = real
			if !slices.Contains(pkgs, "./"+pkg) {
				pkgs = append(pkgs, "./"+pkg)
			}
		}
	}
	require.NotEmpty(t, pkgs)
	text, err := json.Marshal(overlay)
	require.NoError(t, err)
	file := filepath.Join(tmp, "overlay.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	for _, args := range [][]string{{"build", "-o", tmp + "/bin/"}, {"test", "-vet=off", "-c", "-o", tmp + "/bin/"}} {
		args = append(append(args, "-overlay", file), pkgs...)
		out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
		require.NoError(t, err, "go %v: %s", args, out)
	}
}

// TestMarkdownShell runs the shell commands of all documents, but for those marked "sh norun": what runs
// until it is interrupted, takes long, or needs more than the repository.
func TestMarkdownShell(t *testing.T) {
	if testing.Short() {
		t.Skip("commands of documents: -short")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must have bash")
		t.Skip("needs bash")
	}
	ran := 0
	for _, name := range markdownFiles(t) {
		_, blocks := readMarkdown(t, name)
		for _, b := range blocks {
			lang, mark, _ := strings.Cut(b.info, " ")
			if lang == "shell" || lang == "bash" || lang == "console" {
				t.Errorf("%s:%d: shell blocks are called sh", name, b.line)
			}
			if lang != "sh" || mark == "norun" {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", b.text)
			out, err := cmd.CombinedOutput()
			cancel()
			if err != nil {
				t.Errorf("%s:%d: %v\n%s", name, b.line, err, out)
			}
			ran++
		}
	}
	require.NotZero(t, ran)
}

var hop = regexp.MustCompile(`([a-z0-9_/]+\.go) +([A-Za-z]+)\b`)

// TestArchitectureNamesRealFiles: the journeys of ARCHITECTURE.md lead from file to file. A hop names a file
// and what it declares there.
func TestArchitectureNamesRealFiles(t *testing.T) {
	prose, blocks := readMarkdown(t, "ARCHITECTURE.md")
	hops := 0
	for _, b := range blocks {
		if b.info != "journey" {
			continue
		}
		for _, m := range hop.FindAllStringSubmatch(b.text, -1) {
			hops++
			if !declares(t, m[1], m[2]) {
				t.Errorf("ARCHITECTURE.md says that %s declares %s", m[1], m[2])
			}
		}
	}
	require.Greater(t, hops, 20)
	folder := regexp.MustCompile("`([a-z]+(?:/[a-z0-9_]+)+(?:\\.go)?)`")
	for _, line := range prose {
		for _, m := range folder.FindAllStringSubmatch(line, -1) {
			top, _, _ := strings.Cut(m[1], "/")
			if _, ours := folderMayImport[top]; !ours {
				continue
			}
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("ARCHITECTURE.md names %s, which does not exist", m[1])
			}
		}
	}
}

// TestPackageDocsNameRealFiles: a file that a package's doc names is in its folder or one below it, or at
// that path.
func TestPackageDocsNameRealFiles(t *testing.T) {
	file := regexp.MustCompile(`[a-z0-9_/]+\.go\b`)
	named := 0
	for _, dir := range sourceDirs(t) {
		for _, f := range parseDir(t, dir) {
			for _, name := range file.FindAllString(f.ast.Doc.Text(), -1) {
				named++
				if !anyExists(name, path.Join(dir, name), path.Join(dir, "*", name)) {
					t.Errorf("the package doc in %s names %s, which does not exist", f.name, name)
				}
			}
		}
	}
	require.Greater(t, named, 50)
}

// anyExists reports whether a file matches one of the patterns.
func anyExists(patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		found, _ := filepath.Glob(p)
		return len(found) > 0
	})
}

func declares(t *testing.T, file, name string) bool {
	if _, err := os.Stat(file); err != nil {
		return false
	}
	for _, f := range parseDir(t, path.Dir(file)) {
		if f.name != file {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == name {
					return true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok && s.Name.Name == name {
						return true
					}
				}
			}
		}
	}
	return false
}
