package apiserver

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// The Kubernetes version whose API is served.
const (
	apiMajor = "1"
	apiMinor = "36"
	// compatibleMinor is the oldest minor version beside which such a server may run.
	compatibleMinor = "35"
	apiVersion      = "v1.36.3"
)

// withBuildInfo returns v with its empty fields filled from the build.
func (v VersionInfo) withBuildInfo() VersionInfo {
	set := func(p *string, s string) {
		if *p == "" {
			*p = s
		}
	}
	commit, date, state := "", "1970-01-01T00:00:00Z", "clean"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.time":
				date = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				state = "dirty"
			}
		}
	}
	set(&v.Major, apiMajor)
	set(&v.Minor, apiMinor)
	set(&v.EmulationMajor, apiMajor)
	set(&v.EmulationMinor, apiMinor)
	set(&v.MinCompatibilityMajor, apiMajor)
	set(&v.MinCompatibilityMinor, compatibleMinor)
	set(&v.GitVersion, apiVersion+"+keelson")
	set(&v.GitCommit, commit)
	set(&v.GitTreeState, state)
	set(&v.BuildDate, date)
	set(&v.GoVersion, runtime.Version())
	set(&v.Compiler, runtime.Compiler)
	set(&v.Platform, runtime.GOOS+"/"+runtime.GOARCH)
	return v
}

// Version returns the response of /version.
func (s *Server) Version() VersionInfo { return s.opts.Version }

func (s *Server) serveVersion(w http.ResponseWriter, r *http.Request) {
	if path := strings.TrimSuffix(r.URL.Path, "/"); path != "/version" {
		(&request{Request: r, server: s, w: w}).fail(errNoResource())
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		(&request{Request: r, server: s, w: w}).fail(errNoMethod())
		return
	}
	b, err := codec.Marshal(&s.opts.Version)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", typeJSON)
	_, _ = w.Write(b)
}
