package component

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/controllers/profiles"
)

// Pages are what a program says about itself: its flags, its configuration, its state, and profiles.
type Pages struct {
	// Name of the program.
	Name string
	// Flags of the command line; nil leaves out /flagz.
	Flags *pflag.FlagSet
	// Config returns the effective configuration by its name, such as kubescheduler.config.k8s.io; nil leaves
	// out /configz.
	Config func() map[string]any
	// Paths are further paths that /statusz lists.
	Paths []string
	// Profiles serves /debug/pprof/.
	Profiles bool
}

// began is when the program was started.
var began = time.Now()

// Handlers returns the handlers by their path. A path that ends in a slash includes what is below it.
func (p *Pages) Handlers() map[string]http.Handler {
	h := map[string]http.Handler{"/statusz": http.HandlerFunc(p.status)}
	if p.Flags != nil {
		h["/flagz"] = http.HandlerFunc(p.flags)
	}
	if p.Config != nil {
		h["/configz"] = http.HandlerFunc(p.config)
	}
	if p.Profiles {
		h["/debug/pprof"] = http.RedirectHandler("/debug/pprof/", http.StatusFound)
		h[profiles.Path] = profiles.Handler()
	}
	return h
}

// Register adds the handlers with a function such as health.Server.Handle.
func (p *Pages) Register(handle func(pattern string, h http.Handler)) {
	for path, h := range p.Handlers() {
		handle(path, h)
	}
}

// heading begins the text of flagz and statusz.
const heading = "\n%s %s\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n\n"

// text sends a page as text, the only form there is.
func text(w http.ResponseWriter, page string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = fmt.Fprint(w, page)
}

// flags serves the values of all flags, by name.
func (p *Pages) flags(w http.ResponseWriter, _ *http.Request) {
	var lines []string
	p.Flags.VisitAll(func(f *pflag.Flag) {
		if _, refused := Refused(f); !refused {
			lines = append(lines, f.Name+"="+f.Value.String()+"\n")
		}
	})
	slices.Sort(lines)
	text(w, fmt.Sprintf(heading, p.Name, "flags")+strings.Join(lines, ""))
}

// status serves how long the program runs, and as what.
func (p *Pages) status(w http.ResponseWriter, _ *http.Request) {
	up := time.Since(began).Truncate(time.Second)
	var b strings.Builder
	fmt.Fprintf(&b, heading, p.Name, "statusz")
	fmt.Fprintf(&b, "Started: %s\nUp: %s\nGo version: %s\nBinary version: %s\n", began.UTC().Format(time.UnixDate), up, runtime.Version(), release)
	paths := slices.Clone(p.Paths)
	for path := range p.Handlers() {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	fmt.Fprintf(&b, "Paths: %s\nProcess: %s, %d\n", strings.Join(paths, " "), filepath.Base(os.Args[0]), os.Getpid())
	text(w, b.String())
}

// config serves the configuration in force.
func (p *Pages) config(w http.ResponseWriter, _ *http.Request) {
	out, err := codec.Marshal(p.Config())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out)
}
