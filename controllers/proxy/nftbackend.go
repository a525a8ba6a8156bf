package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// nftBackend writes with the program nft.
type nftBackend struct {
	family Family
	kernel Kernel
	log    *slog.Logger
	r      nftRenderer
	rules  int
}

// Probe implements Backend: nft must be at least 1.0.1, and the kernel at least 5.13, as for kube-proxy.
func (b *nftBackend) Probe(ctx context.Context) error {
	out, err := b.kernel.Run(ctx, nil, "nft", "--version")
	if err != nil {
		return fmt.Errorf("proxy: mode %s needs the program nft: %w", NFTables, err)
	}
	if v := versionIn(string(out)); !v.atLeast(1, 0, 1) {
		return fmt.Errorf("proxy: mode %s needs nft 1.0.1 or later, this is %s: install a later one or use mode %s", NFTables, strings.TrimSpace(string(out)), IPTables)
	}
	release, err := b.kernel.Sysctl("kernel/osrelease")
	if err != nil {
		return nil // only Linux has it, and what refuses rules says so
	}
	if v := versionIn(release); !v.atLeast(5, 13, 0) {
		return fmt.Errorf("proxy: mode %s needs Linux 5.13 or later, this is %s: use mode %s", NFTables, release, IPTables)
	}
	return nil
}

// version is the first dotted number of a text; nil if there is none.
type version []int

func versionIn(text string) version {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }) {
		parts := strings.Split(strings.Trim(word, "."), ".")
		if len(parts) < 2 {
			continue
		}
		var v version
		for _, p := range parts {
			n, err := strconv.Atoi(p)
			if err != nil {
				break
			}
			v = append(v, n)
		}
		return v
	}
	return nil
}

// atLeast also holds for a version that is not known: what is missing then shows in the first write.
func (v version) atLeast(least ...int) bool {
	for i, n := range least {
		if i >= len(v) {
			return true
		}
		if v[i] != n {
			return v[i] > n
		}
	}
	return true
}

// Configure implements Backend.
func (b *nftBackend) Configure(cfg Config) bool { return b.r.cfg.set(cfg) }

// Atomic implements Backend.
func (b *nftBackend) Atomic() bool { return true }

// Rules implements RuleCounter.
func (b *nftBackend) Rules() (there, written map[string]int) {
	return map[string]int{"nftables": b.rules}, nil
}

// Write implements Backend.
func (b *nftBackend) Write(ctx context.Context, d *Delta) error {
	if !d.All {
		if err := b.nft(ctx, b.r.changes(d)); err != nil {
			return err
		}
		b.rules += b.r.rules
		return nil
	}
	err := b.writeAll(ctx, d)
	b.rules = b.r.rules
	return err
}

// writeAll writes over what is in the table, so that clients of sticky Services stay with their endpoint. A
// small table without such Services is deleted and made again in the same transaction, which takes less time
// than to empty its parts; so is one that cannot be written over.
func (b *nftBackend) writeAll(ctx context.Context, d *Delta) error {
	left, err := b.leftovers(ctx)
	if err != nil {
		return err
	}
	sticky := left != nil && left.sticky()
	switch {
	case len(d.Ports) > nftLimit && !sticky:
		err = b.writeParts(ctx, d, left)
	case sticky:
		err = b.nft(ctx, b.r.all(d, left))
	case left != nil:
		return b.nft(ctx, b.remove()+b.r.all(d, nil))
	default:
		return b.nft(ctx, b.r.all(d, nil))
	}
	if err == nil || ctx.Err() != nil || left == nil {
		return err
	}
	b.log.Warn("write rules over existing ones failed, replacing all: clients of sticky services may change endpoints", "family", b.family, "err", err)
	return b.nft(ctx, b.remove()+b.r.all(d, nil))
}

func (b *nftBackend) writeParts(ctx context.Context, d *Delta, left *nftLeft) error {
	for _, text := range b.r.parts(d, left) {
		if err := b.nft(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// remove is text that deletes the table. A table that does not exist cannot be deleted, so it is added first.
func (b *nftBackend) remove() string {
	w := &nftScript{family: nftFamily(b.family)}
	w.line("add table", "", "")
	w.line("delete table", "", "")
	return w.String()
}

func nftFamily(f Family) string { return (&nftRenderer{cfg: Config{Family: f}}).ip() }

func (b *nftBackend) nft(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	if _, err := b.kernel.Run(ctx, []byte(text), "nft", "-f", "-"); err != nil {
		return fmt.Errorf("proxy: write %s rules: %w", b.family, err)
	}
	return nil
}

// Check implements Backend: the first chain must have rules.
func (b *nftBackend) Check(context.Context) (bool, error) {
	rules, err := b.kernel.NFTRules(b.family, nftTable, nftServices)
	return rules > 0, err
}

// Clean implements Backend. A tool that is not installed has left nothing.
func (b *nftBackend) Clean(ctx context.Context) error {
	if _, err := b.kernel.Run(ctx, []byte(b.remove()), "nft", "-f", "-"); err != nil && !errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("proxy: remove %s rules: %w", b.family, err)
	}
	return nil
}

// nftLeft is what the table holds that was written before.
type nftLeft struct {
	chains []string
	sets   []nftLeftSet
}

type nftLeftSet struct {
	what, name string // what is set or map
	timeout    string // in seconds, as declarations have it; empty if it has none
	deleted    bool
}

// sticky reports whether there are sets of clients, which the kernel fills.
func (l *nftLeft) sticky() bool {
	return slices.ContainsFunc(l.sets, func(s nftLeftSet) bool { return s.timeout != "" })
}

// leftovers lists the table without rules and elements, which is quick; nil if there is no table.
func (b *nftBackend) leftovers(ctx context.Context) (*nftLeft, error) {
	left := &nftLeft{}
	there := false
	for _, what := range []string{"chains", "sets", "maps"} {
		out, err := b.kernel.Run(ctx, nil, "nft", "-t", "list", what, nftFamily(b.family))
		if err != nil {
			return nil, fmt.Errorf("proxy: read %s rules: %w", b.family, err)
		}
		there = left.parse(string(out)) || there
	}
	if !there {
		return nil, nil
	}
	return left, nil
}

// parse reads the output of nft -t list chains, sets or maps and reports whether the proxy's table is in it.
func (l *nftLeft) parse(text string) (there bool) {
	ours, set := false, -1
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		switch {
		case len(w) == 4 && w[0] == "table" && w[3] == "{":
			ours, set = w[2] == nftTable, -1
			there = there || ours
		case !ours:
		case len(w) == 3 && w[2] == "{" && w[0] == "chain":
			l.chains = append(l.chains, w[1])
		case len(w) == 3 && w[2] == "{" && (w[0] == "set" || w[0] == "map"):
			set = len(l.sets)
			l.sets = append(l.sets, nftLeftSet{what: w[0], name: w[1]})
		case set >= 0 && len(w) == 2 && w[0] == "timeout":
			l.sets[set].timeout = seconds(w[1])
		}
	}
	return there
}

// deleteUnwanted deletes what is not needed any more. Nothing refers to it: all was emptied before.
func (l *nftLeft) deleteUnwanted(w *nftScript, wanted map[string]bool) {
	for _, name := range l.chains {
		if !wanted[name] {
			w.line("delete chain", name, "")
		}
	}
	for _, s := range l.sets {
		if !wanted[s.name] && !s.deleted {
			w.line("delete "+s.what, s.name, "")
		}
	}
}

// seconds turns a time as nft prints it, such as 1d2h3m4s, into the form of declarations, such as 93784s.
// What it cannot read it returns as it is.
func seconds(text string) string {
	units := map[byte]int{'d': 86400, 'h': 3600, 'm': 60, 's': 1}
	sum, n, digits := 0, 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			n, digits = 10*n+int(c-'0'), true
		case units[c] > 0 && digits:
			sum, n, digits = sum+n*units[c], 0, false
		default:
			return text
		}
	}
	return fmt.Sprintf("%ds", sum)
}
