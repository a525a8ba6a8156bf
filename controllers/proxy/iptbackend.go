package proxy

import (
	"context"
	"slices"
	"strings"
)

// bareAbove is the number of endpoints above which rules have no comments, as in kube-proxy.
const bareAbove = 1000

// iptBackend writes with the programs iptables, iptables-restore and iptables-save.
type iptBackend struct {
	iptTool
	r     iptRenderer
	rules map[string]int
	// running is the mode whose chains Clean leaves; empty means none.
	running Mode
}

// Probe implements Backend.
func (b *iptBackend) Probe(ctx context.Context) error { return b.probe(ctx, IPTables) }

// Configure implements Backend.
func (b *iptBackend) Configure(cfg Config) bool { return b.r.cfg.set(cfg) }

// Atomic implements Backend: each table is written at once, but not all of them.
func (b *iptBackend) Atomic() bool { return false }

// Rules implements RuleCounter.
func (b *iptBackend) Rules() (there, written map[string]int) { return b.rules, b.r.written }

// Write implements Backend.
func (b *iptBackend) Write(ctx context.Context, d *Delta) error {
	if d.All {
		return b.writeAll(ctx, d)
	}
	if err := b.restore(ctx, b.r.changes(d)); err != nil {
		return err
	}
	for table, n := range b.r.rules {
		b.rules[table] += n
	}
	return nil
}

func (b *iptBackend) writeAll(ctx context.Context, d *Delta) error {
	endpoints := 0
	for _, c := range d.Ports {
		endpoints += len(c.Now.Cluster)
	}
	b.r.bare = endpoints > bareAbove
	exist, err := b.chains(ctx, iptOwns)
	if err != nil {
		return err
	}
	jumps, err := b.missing(ctx, iptJumps)
	if err != nil {
		return err
	}
	if err := b.restore(ctx, b.r.all(d, exist, jumps)); err != nil {
		return err
	}
	b.rules = b.r.rules
	return nil
}

// Check implements Backend: the jumps must be there, and a shared chain of each table with its rules.
func (b *iptBackend) Check(ctx context.Context) (bool, error) {
	for _, look := range []struct {
		table, chain string
		filled       bool
	}{{tableMangle, iptCanary, false}, {tableNAT, iptCanary, false}, {tableFilter, iptCanary, false}, {tableNAT, iptMarkMasq, true}, {tableFilter, iptForward, true}} {
		out, ok, err := b.list(ctx, look.table, look.chain)
		if err != nil || !ok || look.filled && !strings.Contains(out, "-A ") {
			return false, err
		}
	}
	lost, err := b.missing(ctx, iptJumps)
	return len(lost) == 0, err
}

// iptOwns reports whether a chain belongs to mode iptables. KUBE-KUBELET-CANARY, say, does not.
func iptOwns(table, chain string) bool {
	if slices.Contains(iptShared[table], chain) {
		return true
	}
	for _, prefix := range []string{"KUBE-SVC-", "KUBE-SVL-", "KUBE-EXT-", "KUBE-SEP-", "KUBE-FW-"} {
		if strings.HasPrefix(chain, prefix) {
			return true
		}
	}
	return false
}

// Clean implements Backend. A tool that is not installed has left nothing.
func (b *iptBackend) Clean(ctx context.Context) error { return b.cleanChains(ctx, b.running) }
