package proxy

import "testing"

// WithLimit writes tables of more than n chains, or ports with nftables, in several transactions during a
// test, which must not be parallel.
func WithLimit(t *testing.T, n int) {
	chains, ports := iptLimit, nftLimit
	iptLimit, nftLimit = n, n
	t.Cleanup(func() { iptLimit, nftLimit = chains, ports })
}
