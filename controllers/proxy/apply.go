package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
)

// applier brings the kernel to a ruleset of one family and remembers what it has written. It is not safe for
// use by several goroutines.
type applier struct {
	mode   Mode
	family Family
	kernel Kernel
	log    *slog.Logger
	// last is what the kernel holds; nil if that is not known.
	last *Ruleset
}

// how says what apply did.
type how int

const (
	unchanged how = iota
	partial
	full
)

// apply writes r. If writing the difference fails, everything is written.
func (a *applier) apply(ctx context.Context, r *Ruleset) (how, error) {
	if a.last != nil {
		text := r.Changes(a.last)
		if text == "" {
			a.last = r
			return unchanged, nil
		}
		err := a.write(ctx, text)
		if err == nil {
			a.last = r
			return partial, nil
		}
		if ctx.Err() != nil {
			return partial, err
		}
		a.log.Warn("write changed rules failed, writing all", "family", a.family, "err", err)
		a.last = nil
	}
	if err := a.replace(ctx, r); err != nil {
		return full, err
	}
	a.last = r
	return full, nil
}

func (a *applier) write(ctx context.Context, text string) error {
	var err error
	if a.mode == NFTables {
		_, err = a.kernel.Run(ctx, []byte(text), "nft", "-f", "-")
	} else {
		_, err = a.kernel.Run(ctx, []byte(text), a.tool("-restore"), "-w", "5", "--noflush", "--counters")
	}
	if err != nil {
		return fmt.Errorf("proxy: write %s rules: %w", a.family, err)
	}
	return nil
}

// replace writes everything, whatever is there.
func (a *applier) replace(ctx context.Context, r *Ruleset) error {
	if a.mode == NFTables {
		return a.replaceTable(ctx, r)
	}
	left, err := a.leftovers(ctx, r)
	if err != nil {
		return err
	}
	// What is left of another run is joined to the rules as if it had been ours, and goes with the same
	// write.
	if err := a.write(ctx, r.ipt.textWithout(left)); err != nil {
		return err
	}
	for _, j := range iptJumps {
		if err := a.ensure(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// replaceTable writes over what is in the table, so that clients of sticky services stay with their
// endpoints. Only what cannot be written over is deleted first as a whole.
func (a *applier) replaceTable(ctx context.Context, r *Ruleset) error {
	out, err := a.kernel.Run(ctx, nil, "nft", "-t", "list", "table", r.nft.family, nftTable)
	switch {
	case err == nil:
		err = a.write(ctx, r.nft.textOver(parseTable(string(out))))
		if err == nil || ctx.Err() != nil {
			return err
		}
		a.log.Warn("write rules over existing ones failed, replacing all: clients of sticky services may change endpoints", "family", a.family, "err", err)
	case ctx.Err() != nil:
		return err
	}
	return a.write(ctx, r.Text())
}

// tool is iptables or ip6tables with a suffix.
func (a *applier) tool(suffix string) string {
	if a.family == IPv6 {
		return "ip6tables" + suffix
	}
	return "iptables" + suffix
}

func (a *applier) iptables(ctx context.Context, args ...string) error {
	_, err := a.kernel.Run(ctx, nil, a.tool(""), append([]string{"-w", "5"}, args...)...)
	return err
}

// has reports whether a jump is there. An error means that it could not be found out, for instance because
// another program held the lock for too long.
func (a *applier) has(ctx context.Context, j iptJump) (bool, error) {
	return found(a.iptables(ctx, append([]string{"-t", j.table, "-C", j.from}, j.args()...)...))
}

// found reads the result of an iptables command that looks for something: code 1 is no.
func found(err error) (bool, error) {
	if failed, ok := errors.AsType[*CommandError](err); ok && failed.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

func (a *applier) ensure(ctx context.Context, j iptJump) error {
	if there, err := a.has(ctx, j); there || err != nil {
		return err
	}
	if err := a.iptables(ctx, append([]string{"-t", j.table, "-I", j.from}, j.args()...)...); err != nil {
		return fmt.Errorf("proxy: enter %s from %s: %w", j.to, j.from, err)
	}
	return nil
}

// leftovers are the chains of other runs that r does not have, by table.
func (a *applier) leftovers(ctx context.Context, r *Ruleset) (map[string][]string, error) {
	out, err := a.kernel.Run(ctx, nil, a.tool("-save"))
	if err != nil {
		return nil, fmt.Errorf("proxy: read %s rules: %w", a.family, err)
	}
	left := map[string][]string{}
	table := ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "*") {
			table = line[1:]
		}
		name, _, ok := strings.Cut(strings.TrimPrefix(line, ":"), " ")
		if !ok || !strings.HasPrefix(line, ":") || !ours(name) {
			continue
		}
		if r != nil && r.ipt.tables[table] != nil && r.ipt.tables[table].chains[name] != nil {
			continue
		}
		left[table] = append(left[table], name)
	}
	return left, nil
}

// ours reports whether a chain of iptables belongs to the proxy. KUBE-KUBELET-CANARY, say, does not.
func ours(chain string) bool {
	switch chain {
	case iptServices, iptExternal, iptNodePorts, iptPostrouting, iptMarkMasq, iptForward, iptFirewall, iptLocalnet, iptCanary:
		return true
	}
	for _, prefix := range []string{"KUBE-SVC-", "KUBE-SVL-", "KUBE-EXT-", "KUBE-SEP-", "KUBE-FW-"} {
		if strings.HasPrefix(chain, prefix) {
			return true
		}
	}
	return false
}

// intact reports whether the rules that were written are still there. An error means that it could not be
// found out.
func (a *applier) intact(ctx context.Context) (bool, error) {
	if a.last == nil {
		return true, nil // nothing was written
	}
	if a.mode == NFTables {
		_, err := a.kernel.Run(ctx, nil, "nft", "list", "chain", a.last.nft.family, nftTable, nftServices)
		if failed, ok := errors.AsType[*CommandError](err); ok && strings.Contains(failed.Output, "No such file or directory") {
			return false, nil
		}
		return err == nil, err
	}
	for _, table := range []string{tableMangle, tableNAT, tableFilter} {
		if there, err := found(a.iptables(ctx, "-t", table, "-S", iptCanary)); !there {
			return false, err
		}
	}
	for _, j := range iptJumps {
		if there, err := a.has(ctx, j); !there {
			return false, err
		}
	}
	return true, nil
}

// cleanup removes all rules of the proxy, of this run or others. A tool that is not installed has left
// nothing.
func (a *applier) cleanup(ctx context.Context) error {
	a.last = nil
	var err error
	if a.mode == NFTables {
		ip := map[Family]string{IPv4: "ip", IPv6: "ip6"}[a.family]
		// A table that is not there cannot be deleted, so it is made first.
		_, err = a.kernel.Run(ctx, fmt.Appendf(nil, "add table %s %s\ndelete table %[1]s %[2]s\n", ip, nftTable), "nft", "-f", "-")
	} else {
		err = a.cleanupIPTables(ctx)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("proxy: remove %s rules: %w", a.family, err)
	}
	return nil
}

func (a *applier) cleanupIPTables(ctx context.Context) error {
	left, err := a.leftovers(ctx, nil)
	if err != nil || len(left) == 0 {
		return err
	}
	if err := a.cleanupJumps(ctx); err != nil {
		return err
	}
	empty := &iptRules{tables: map[string]*iptTable{tableFilter: {}, tableNAT: {}, tableMangle: {}}}
	return a.write(ctx, empty.textWithout(left))
}

func (a *applier) cleanupJumps(ctx context.Context) error {
	for _, j := range iptJumps {
		for range 10 { // a rule may be there more than once
			there, err := a.has(ctx, j)
			if err != nil {
				return err
			}
			if !there {
				break
			}
			if err := a.iptables(ctx, append([]string{"-t", j.table, "-D", j.from}, j.args()...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// Cleanup removes the rules of all modes and families, including those of kube-proxy.
func Cleanup(ctx context.Context, k Kernel) error {
	var errs []error
	for _, mode := range []Mode{NFTables, IPTables} {
		for _, f := range []Family{IPv4, IPv6} {
			a := &applier{mode: mode, family: f, kernel: k, log: slog.New(slog.DiscardHandler)}
			errs = append(errs, a.cleanup(ctx))
		}
	}
	return errors.Join(errs...)
}
