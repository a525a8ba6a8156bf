// Delays writes to the folder DIR what makes goroutines of the packages below the folders wait where others
// can see what they have done and what they have not: around channels, locks and the ends of calls that
// others notice. Tests that rely on an order which nothing guarantees then fail often instead of once in some
// hundred runs:
//
//	go run ./.ci/delays DIR FOLDER...
//	KEELSON_DELAY=1 go test -vet=off -overlay DIR/overlay.json ./...
//
// Each number of KEELSON_DELAY selects other points, the same in each run. DIR/points has the lines of all
// points, and KEELSON_DELAY_POINT=N delays at point N only, which finds the one that makes a test fail.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	ours  = ".ci/delays/delay/delay.go"
	added = "apimachinery/delay/delay.go" // where the packages import it from
	// imported is a name that no package has for anything else.
	imported = `; import delay_ "github.com/keelson-dev/keelson/apimachinery/delay"`
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: go run ./.ci/delays DIR FOLDER..., in the root of the repository")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "delays:", err)
		os.Exit(1)
	}
}

func run(dir string, folders []string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	w := &writer{root: root, dir: dir, replace: map[string]string{filepath.Join(root, added): filepath.Join(root, ours)}}
	for _, folder := range folders {
		if err := filepath.WalkDir(filepath.Join(root, folder), w.visit); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": w.replace})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		return err
	}
	fmt.Printf("%d points\n", w.count)
	return os.WriteFile(filepath.Join(dir, "points"), w.points.Bytes(), 0o644)
}

// writer writes the files with points, and where each point is.
type writer struct {
	root, dir string
	replace   map[string]string
	points    bytes.Buffer
	count     int
}

func (w *writer) visit(path string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case entry.IsDir() && entry.Name() == "testdata":
		return filepath.SkipDir
	case entry.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
		return nil
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := &file{writer: w, tokens: files.File(parsed.Pos()), path: path}
	ast.Inspect(parsed, f.node)
	if len(f.texts) == 0 {
		return nil
	}
	f.insert(parsed.Name.End(), imported)
	to := filepath.Join(w.dir, strings.ReplaceAll(strings.TrimPrefix(path, w.root), "/", "_"))
	w.replace[path] = to
	return os.WriteFile(to, f.with(source), 0o644)
}

// file collects what is inserted into one file, on the lines that are there, so that they keep their numbers.
type file struct {
	*writer
	tokens *token.File
	path   string
	texts  []insertion
}

type insertion struct {
	offset int
	text   string
}

func (f *file) insert(at token.Pos, text string) {
	f.texts = append(f.texts, insertion{f.tokens.Offset(at), text})
}

// point returns the call of a new point.
func (f *file) point(at token.Pos) string {
	f.count++
	fmt.Fprintf(&f.points, "%d %s:%d\n", f.count, f.path, f.tokens.Line(at))
	return fmt.Sprintf("delay_.Point(%d)", f.count)
}

func (f *file) before(s ast.Stmt) { f.insert(s.Pos(), f.point(s.Pos())+"; ") }
func (f *file) after(s ast.Stmt)  { f.insert(s.End(), "; "+f.point(s.End())) }

// begins inserts a point at the beginning of a goroutine, or of what follows a communication.
func (f *file) begins(at token.Pos) { f.insert(at+1, " "+f.point(at)+"; ") }

func (f *file) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BlockStmt:
		f.list(n.List)
	case *ast.CaseClause:
		f.list(n.Body)
	case *ast.CommClause:
		f.begins(n.Colon)
		f.list(n.Body)
	case *ast.GoStmt:
		if started, ok := n.Call.Fun.(*ast.FuncLit); ok {
			f.begins(started.Body.Lbrace)
		}
	case *ast.CallExpr:
		if called(n) != "Go" {
			break
		}
		for _, arg := range n.Args {
			if started, ok := arg.(*ast.FuncLit); ok {
				f.begins(started.Body.Lbrace)
			}
		}
	}
	return true
}

// noticed are the calls whose effect others can notice.
var noticed = []string{"close", "Unlock", "RUnlock", "Store", "Add", "Set", "Done", "cancel", "Cancel", "stop", "Stop", "Close", "Broadcast", "Signal", "Write",
	"WriteHeader", "Flush", "Go"}

func (f *file) list(statements []ast.Stmt) {
	for _, s := range statements {
		switch s := s.(type) {
		case *ast.SendStmt:
			f.before(s)
			f.after(s)
		case *ast.GoStmt:
			f.after(s)
		case *ast.ExprStmt:
			switch x := s.X.(type) {
			case *ast.UnaryExpr: // a receive
				f.after(s)
			case *ast.CallExpr:
				switch name := called(x); {
				case name == "Lock", name == "RLock":
					f.before(s)
				case name == "close":
					f.before(s)
					f.after(s)
				case slices.Contains(noticed, name):
					f.after(s)
				}
			}
		}
	}
}

// called is the name of the function or method that a call calls.
func called(c *ast.CallExpr) string {
	switch fun := c.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

// with returns the source with everything inserted.
func (f *file) with(source []byte) []byte {
	slices.SortStableFunc(f.texts, func(a, b insertion) int { return a.offset - b.offset })
	var out bytes.Buffer
	from := 0
	for _, t := range f.texts {
		out.Write(source[from:t.offset])
		out.WriteString(t.text)
		from = t.offset
	}
	out.Write(source[from:])
	return out.Bytes()
}
