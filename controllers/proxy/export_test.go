package proxy

import "testing"

// WithIPTablesLimit writes tables of more than n chains in several transactions during a test, which must not
// be parallel.
func WithIPTablesLimit(t *testing.T, n int) {
	was := iptLimit
	iptLimit = n
	t.Cleanup(func() { iptLimit = was })
}
