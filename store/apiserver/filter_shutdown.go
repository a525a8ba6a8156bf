package apiserver

import "strings"

// isProbe reports whether a path belongs to health checks or metrics, which are served during shutdown too.
func isProbe(path string) bool {
	for _, p := range []string{"/readyz", "/livez", "/healthz", "/metrics"} {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}
