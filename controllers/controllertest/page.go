package controllertest

import (
	"cmp"
	_ "embed" // for page
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// page shows a history in a browser. It has no other files, and the data in place of its mark.
//
//go:embed page.html
var page string

const pageMark = "/*history*/null"

// pageWrites is how many of the last writes a page shows.
const pageWrites = 2_000

// WriteHTML writes the history as an HTML page that needs no other file and no network: a lane for each
// writer and controller, arrows from a write to the event that a controller got and to the reconcile that it
// caused, what a write changed, and the objects at any revision. The page has the last 2,000 writes. The data
// of Secrets is masked.
func (h *History) WriteHTML(w io.Writer) error {
	data, err := json.Marshal(h.last(pageWrites).page())
	if err != nil {
		return fmt.Errorf("controllertest: history: %w", err)
	}
	before, after, _ := strings.Cut(page, pageMark)
	_, err = io.WriteString(w, before+string(data)+after)
	return err
}

// pageData is what the page's script reads.
type pageData struct {
	Title  string      `json:"title"`
	Lanes  []string    `json:"lanes"`
	Writes []pageWrite `json:"writes"`
	Runs   []pageRun   `json:"runs"`
}

type pageWrite struct {
	Lane     int    `json:"lane"`
	Order    int64  `json:"order"`
	Revision int64  `json:"revision"`
	At       string `json:"at"`
	Verb     string `json:"verb"`
	Resource string `json:"resource"`
	Key      string `json:"key"`
	By       string `json:"by"`
	Diff     string `json:"diff"`
	State    string `json:"state"`
}

type pageRun struct {
	Lane   int         `json:"lane"`
	Order  int64       `json:"order"`
	Until  int64       `json:"until"` // 0 while it runs
	Name   string      `json:"name"`
	Why    string      `json:"why"`
	At     string      `json:"at"`
	Error  string      `json:"error"`
	Causes []pageCause `json:"causes"`
}

type pageCause struct {
	Order    int64  `json:"order"`
	Revision int64  `json:"revision"`
	Text     string `json:"text"`
}

// lanes numbers the lanes in the order in which they are first used.
type lanes struct {
	names []string
	index map[string]int
}

func (l *lanes) of(name string) int {
	i, ok := l.index[name]
	if !ok {
		i = len(l.names)
		l.index[name] = i
		l.names = append(l.names, name)
	}
	return i
}

func (h *History) page() *pageData {
	p := &pageData{Title: h.title, Writes: []pageWrite{}, Runs: []pageRun{}}
	l := &lanes{index: map[string]int{}}
	for i := range h.Writes {
		w := &h.Writes[i]
		p.Writes = append(p.Writes, pageWrite{Lane: l.of(h.lane(w)), Order: w.order, Revision: w.Revision, At: h.since(w.At), Verb: w.Verb,
			Resource: w.Resource.String(), Key: w.Key.String(), By: h.by(w), Diff: h.diff(w), State: h.state(w)})
	}
	for i := range h.Runs {
		r := &h.Runs[i]
		run := pageRun{Lane: l.of(r.Controller), Order: r.order, Until: r.until, Name: r.String(), Why: strings.TrimPrefix(r.why(), ": "), At: h.since(r.Began), Causes: []pageCause{}}
		if r.Err != nil {
			run.Error = r.Err.Error()
		}
		for _, c := range r.Causes {
			run.Causes = append(run.Causes, pageCause{c.order, h.revision(c), c.String()})
		}
		p.Runs = append(p.Runs, run)
	}
	p.Lanes = l.names
	return p
}

// lane names the lane of a write: that of the controller if a reconcile made it.
func (h *History) lane(w *Write) string {
	if r := h.run(w); r != nil {
		return r.Controller
	}
	if w.User == "" {
		return "server"
	}
	return w.User + " (" + w.Agent + ")"
}

// revision returns that of the write that caused an event, or 0. The event of a deletion may have that of the
// last state.
func (h *History) revision(c Cause) int64 {
	i, ok := slices.BinarySearchFunc(h.Writes, c.Revision, func(w Write, r int64) int { return cmp.Compare(w.Revision, r) })
	for ; ok && i < len(h.Writes); i++ {
		if w := &h.Writes[i]; w.Key == c.Key && (w.Verb == "delete") == (c.Type.String() == "Deleted") {
			return w.Revision
		}
	}
	return 0
}

// keepPage writes the page of a failed test to the directory of its artifacts, if the test keeps them.
func (c *cluster) keepPage() {
	dir, ok := c.owner.(interface{ ArtifactDir() string })
	if kept := flag.Lookup("test.artifacts"); !ok || kept == nil || kept.Value.String() != "true" {
		return
	}
	path := filepath.Join(dir.ArtifactDir(), "history.html")
	if err := c.writePage(path); err != nil {
		c.owner.Logf("controllertest: write the history: %v", err)
		return
	}
	c.owner.Logf("controllertest: the whole history is in %s", path)
}

func (c *cluster) writePage(path string) error {
	h, err := c.history(c.context())
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := h.WriteHTML(f); err != nil {
		return err
	}
	return f.Close()
}
