package proxy

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// iptTool runs the programs of iptables for one family.
type iptTool struct {
	family Family
	kernel Kernel
	// viaNFT reports that iptables stores its rules as those of nftables and that nft is installed, which
	// lists chains without their rules.
	viaNFT bool
}

// probe returns an error if iptables is missing or older than 1.4.20, which cannot wait for its lock.
func (b *iptTool) probe(ctx context.Context, mode Mode) error {
	out, err := b.kernel.Run(ctx, nil, b.tool(""), "--version")
	if err != nil {
		return fmt.Errorf("proxy: mode %s needs the program %s: %w", mode, b.tool(""), err)
	}
	if v := versionIn(string(out)); !v.atLeast(1, 4, 20) {
		return fmt.Errorf("proxy: mode %s needs iptables 1.4.20 or later, this is %s", mode, strings.TrimSpace(string(out)))
	}
	if strings.Contains(string(out), "nf_tables") {
		_, err := b.kernel.Run(ctx, nil, "nft", "--version")
		b.viaNFT = err == nil
	}
	return nil
}

func (b *iptTool) restore(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	if _, err := b.kernel.Run(ctx, []byte(text), b.tool("-restore"), "-w", "5", "--noflush", "--counters"); err != nil {
		return fmt.Errorf("proxy: write %s rules: %w", b.family, err)
	}
	return nil
}

// tool is iptables or ip6tables with a suffix.
func (b *iptTool) tool(suffix string) string {
	if b.family == IPv6 {
		return "ip6tables" + suffix
	}
	return "iptables" + suffix
}

// list lists a chain of a table with its rules; ok is false if there is no such chain. An error means that it
// could not be found out, for instance because another program held the lock for too long.
func (b *iptTool) list(ctx context.Context, table, chain string) (out string, ok bool, err error) {
	text, err := b.kernel.Run(ctx, nil, b.tool(""), "-w", "5", "-t", table, "-S", chain)
	if failed, is := errors.AsType[*CommandError](err); is && failed.ExitCode() == 1 {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("proxy: read %s rules: %w", b.family, err)
	}
	return string(text), true, nil
}

// jumps calls f for each of the entries with the rules that are there for it, as iptables -S prints them.
func (b *iptTool) jumps(ctx context.Context, entries []iptJump, f func(j iptJump, rules []string)) error {
	listed := map[[2]string]string{}
	for _, j := range entries {
		key := [2]string{j.table, j.from}
		out, seen := listed[key]
		if !seen {
			var err error
			if out, _, err = b.list(ctx, j.table, j.from); err != nil {
				return err
			}
			listed[key] = out
		}
		var rules []string
		for line := range strings.Lines(out) {
			if rule, ok := strings.CutPrefix(strings.TrimSpace(line), "-A "+j.from+" "); ok && strings.HasSuffix(rule, "-j "+j.to) {
				rules = append(rules, rule)
			}
		}
		f(j, rules)
	}
	return nil
}

// missing are the entries that do not exist.
func (b *iptTool) missing(ctx context.Context, entries []iptJump) (out []iptJump, err error) {
	err = b.jumps(ctx, entries, func(j iptJump, rules []string) {
		if !slices.ContainsFunc(rules, j.is) {
			out = append(out, j)
		}
	})
	return out, err
}

// chains are the owned chains that exist, by table.
func (b *iptTool) chains(ctx context.Context, owns func(table, chain string) bool) (map[string][]string, error) {
	parse, argv := parseSave, []string{b.tool("-save")}
	if b.viaNFT {
		parse, argv = parseChains, []string{"nft", "-t", "list", "chains", nftFamily(b.family)}
	}
	out, err := b.kernel.Run(ctx, nil, argv[0], argv[1:]...)
	if err != nil {
		return nil, fmt.Errorf("proxy: read %s rules: %w", b.family, err)
	}
	return parse(string(out), owns), nil
}

// parseSave reads the owned chains from the output of iptables-save.
func parseSave(text string, owns func(table, chain string) bool) map[string][]string {
	chains, table := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		if line[0] == '*' {
			table = strings.TrimSpace(line[1:])
		}
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, ":"), " "); ok && line[0] == ':' && owns(table, name) {
			chains[table] = append(chains[table], name)
		}
	}
	return chains
}

// parseChains reads them from the output of nft list chains.
func parseChains(text string, owns func(table, chain string) bool) map[string][]string {
	chains, table := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		switch {
		case len(w) == 4 && w[0] == "table":
			table = w[2]
		case len(w) == 3 && w[0] == "chain" && slices.Contains(iptTables, table) && owns(table, w[1]):
			chains[table] = append(chains[table], w[1])
		}
	}
	return chains
}

// cleanChains deletes the chains of all modes that use iptables, and the jumps to them, except for those of
// the mode that is running: chains of one mode may refer to those of another. Programs that are not installed
// have left nothing.
func (b *iptTool) cleanChains(ctx context.Context, running Mode) error {
	err := b.probe(ctx, IPTables)
	if err == nil {
		err = b.deleteChains(ctx, running)
	}
	if err != nil && !errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("proxy: remove %s rules: %w", b.family, err)
	}
	return nil
}

func (b *iptTool) deleteChains(ctx context.Context, running Mode) error {
	stays := map[Mode]func(table, chain string) bool{IPTables: iptOwns, IPVS: ipvsOwns}[running]
	entries := map[Mode][]iptJump{IPTables: iptJumps, IPVS: ipvsJumps}[running]
	exist, err := b.chains(ctx, func(table, chain string) bool {
		return (iptOwns(table, chain) || ipvsOwns(table, chain)) && (stays == nil || !stays(table, chain))
	})
	if err != nil || len(exist) == 0 {
		return err
	}
	s := newIPTScript()
	done := map[[3]string]bool{} // modes have chains in common
	err = b.jumps(ctx, slices.Concat(iptJumps, ipvsJumps), func(j iptJump, rules []string) {
		key := [3]string{j.table, j.from, j.to}
		if done[key] {
			return
		}
		done[key] = true
		for _, rule := range rules {
			if !slices.ContainsFunc(entries, func(e iptJump) bool { return e.table == j.table && e.from == j.from && e.to == j.to && e.is(rule) }) {
				s[j.table].rule("-D", j.from, rule)
			}
		}
	})
	if err != nil {
		return err
	}
	for table, chains := range exist {
		for _, name := range chains {
			s[table].drop(name)
		}
	}
	return b.restore(ctx, s.text())
}
