package apiserver

import "strings"

// probes reports whether a path is for those who watch over the server, until its end.
func probes(path string) bool {
	for _, p := range []string{"/readyz", "/livez", "/healthz", "/metrics"} {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}
