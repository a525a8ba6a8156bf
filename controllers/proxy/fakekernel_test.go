package proxy

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// fakeKernel takes what is written for the real one, and refuses what that would refuse: a chain that is in
// use cannot be deleted, an element cannot be added twice, a rule cannot refer to what is not there.
type fakeKernel struct {
	mu     sync.Mutex
	tables map[string]*fakeTable // "ip", "ip6", "nat", ...
	// refuse, if set, may fail a write.
	refuse func(text string) error
	// looks, if set, is how looking for a chain fails.
	looks   error
	listens []string
	writes  []string
	deleted int
}

type fakeTable struct {
	chains map[string]*fakeChain
	sets   map[string]map[string]string // elements and their verdicts, of sets and maps
	decl   map[string]string
}

type fakeChain struct {
	hook  string
	rules []string
}

func newFakeKernel() *fakeKernel { return &fakeKernel{tables: map[string]*fakeTable{}} }

func (k *fakeKernel) Run(_ context.Context, stdin []byte, name string, args ...string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text := string(stdin)
	fail := func(err error) ([]byte, error) {
		return nil, &CommandError{Command: name + " " + strings.Join(args, " "), Output: err.Error(), Err: fs.ErrInvalid}
	}
	if text != "" {
		k.writes = append(k.writes, text)
		if k.refuse != nil {
			if err := k.refuse(text); err != nil {
				return fail(err)
			}
		}
	}
	switch {
	case name == "nft" && args[0] == "-f":
		next := map[string]*fakeTable{}
		for n, t := range k.tables {
			next[n] = t.clone()
		}
		if err := nftApply(next, text); err != nil {
			return fail(err)
		}
		k.tables = next
	case name == "nft" && args[0] == "-t":
		t := k.tables[args[3]]
		if t == nil {
			return fail(fmt.Errorf("No such file or directory"))
		}
		return []byte(t.list()), nil
	case name == "nft" && args[0] == "list":
		if k.looks != nil {
			return fail(k.looks)
		}
		if k.tables[args[2]] == nil {
			return fail(fmt.Errorf("No such file or directory"))
		}
	}
	return nil, nil
}

func (k *fakeKernel) SetSysctl(string, string) error                   { return nil }
func (k *fakeKernel) Sysctl(string) (string, error)                    { return "0", nil }
func (k *fakeKernel) Addrs() ([]netip.Addr, error)                     { return []netip.Addr{nodeAddr}, nil }
func (k *fakeKernel) DeleteFlows(Family, func(Flow) bool) (int, error) { k.deleted++; return 0, nil }
func (k *fakeKernel) Listen(_ context.Context, network, address string) (net.Listener, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listens = append(k.listens, network+" "+address)
	return nil, fs.ErrPermission
}

// list is what nft -t list table prints.
func (t *fakeTable) list() string {
	var b strings.Builder
	for name, decl := range t.decl {
		what := "set"
		if strings.Contains(decl, "verdict") {
			what = "map"
		}
		fmt.Fprintf(&b, "\t%s %s {\n", what, name)
		for part := range strings.SplitSeq(strings.Trim(decl, "{} "), ";") {
			fmt.Fprintf(&b, "\t\t%s\n", strings.TrimSpace(part))
		}
		b.WriteString("\t}\n")
	}
	for name := range t.chains {
		fmt.Fprintf(&b, "\tchain %s {\n\t}\n", name)
	}
	return b.String()
}

func newFakeTable() *fakeTable {
	return &fakeTable{chains: map[string]*fakeChain{}, sets: map[string]map[string]string{}, decl: map[string]string{}}
}

func (t *fakeTable) clone() *fakeTable {
	n := newFakeTable()
	for name, c := range t.chains {
		n.chains[name] = &fakeChain{c.hook, slices.Clone(c.rules)}
	}
	for name, s := range t.sets {
		n.sets[name] = map[string]string{}
		for k, v := range s {
			n.sets[name][k] = v
		}
		n.decl[name] = t.decl[name]
	}
	return n
}

// nftApply runs a script of nft.
func nftApply(tables map[string]*fakeTable, script string) error {
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		w := strings.SplitN(line, " ", 6)
		if len(w) < 4 {
			return fmt.Errorf("%q: too short", line)
		}
		verb, what, family := w[0], w[1], w[2]
		t := tables[family]
		if what == "table" {
			if verb == "delete" {
				delete(tables, family)
			} else if t == nil {
				tables[family] = newFakeTable()
			}
			continue
		}
		if t == nil {
			return fmt.Errorf("%q: no such table", line)
		}
		rest := ""
		if len(w) == 6 {
			rest = w[5]
		}
		if err := t.nftApply(verb+" "+what, w[4], rest); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	for family, t := range tables {
		if err := t.nftCheck(); err != nil {
			return fmt.Errorf("%s: %w", family, err)
		}
	}
	return nil
}

func (t *fakeTable) nftApply(op, name, rest string) error {
	c, s := t.chains[name], t.sets[name]
	missing := fmt.Errorf("%s: no such file or directory", name)
	switch op {
	case "add chain":
		if c == nil {
			t.chains[name] = &fakeChain{hook: strings.Trim(rest, "{ }")}
		}
	case "flush chain":
		if c == nil {
			return missing
		}
		c.rules = nil
	case "delete chain":
		if c == nil {
			return missing
		}
		if user := t.user(name); user != "" || len(c.rules) > 0 {
			return fmt.Errorf("%s: device or resource busy (%s)", name, user)
		}
		delete(t.chains, name)
	case "add rule":
		if c == nil {
			return missing
		}
		c.rules = append(c.rules, rest)
	case "add set", "add map":
		if s == nil {
			t.sets[name] = map[string]string{}
		} else if t.decl[name] != rest {
			return fmt.Errorf("%s: file exists", name)
		}
		t.decl[name] = rest
	case "flush set", "flush map":
		if s == nil {
			return missing
		}
		clear(s)
	case "delete set", "delete map":
		if s == nil {
			return missing
		}
		if user := t.user("@" + name); user != "" {
			return fmt.Errorf("%s: device or resource busy (%s)", name, user)
		}
		delete(t.sets, name)
		delete(t.decl, name)
	case "add element", "delete element":
		if s == nil {
			return missing
		}
		body := strings.TrimSuffix(strings.TrimPrefix(rest, "{ "), " }")
		key, verdict, _ := strings.Cut(body, " : ")
		key, _, _ = strings.Cut(key, " comment ")
		have, there := s[key]
		if op == "delete element" {
			if !there {
				return missing
			}
			delete(s, key)
			return nil
		}
		if there && have != verdict {
			return fmt.Errorf("%s: file exists", key)
		}
		s[key] = verdict
	default:
		return fmt.Errorf("unknown operation %s", op)
	}
	return nil
}

// user is a rule or element that refers to a chain or, with @, a set.
func (t *fakeTable) user(name string) string {
	for _, c := range t.chains {
		for _, r := range c.rules {
			if slices.Contains(strings.Fields(r), name) {
				return r
			}
		}
	}
	for _, s := range t.sets {
		for key, verdict := range s {
			if verdict == "goto "+name {
				return key
			}
		}
	}
	return ""
}

func (t *fakeTable) nftCheck() error {
	known := func(target string) error {
		if t.chains[target] == nil {
			return fmt.Errorf("a rule refers to chain %s, which is not there", target)
		}
		return nil
	}
	for _, c := range t.chains {
		for _, r := range c.rules {
			w := strings.Fields(r)
			for i, x := range w {
				if x == "jump" || x == "goto" {
					if err := known(w[i+1]); err != nil {
						return err
					}
				}
				if strings.HasPrefix(x, "@") && t.sets[x[1:]] == nil {
					return fmt.Errorf("a rule refers to set %s, which is not there", x)
				}
			}
		}
	}
	for _, s := range t.sets {
		for _, verdict := range s {
			if target, ok := strings.CutPrefix(verdict, "goto "); ok {
				if err := known(target); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// iptApply runs input of iptables-restore --noflush; each table is one transaction.
func iptApply(tables map[string]*fakeTable, text string) error {
	var name string
	var t *fakeTable
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "*"):
			name = line[1:]
			if t = tables[name]; t == nil {
				t = newFakeTable()
			} else {
				t = t.clone()
			}
		case strings.HasPrefix(line, ":"):
			chain, _, _ := strings.Cut(line[1:], " ")
			t.chains[chain] = &fakeChain{}
		case strings.HasPrefix(line, "-A "):
			chain, rule, _ := strings.Cut(line[3:], " ")
			if t.chains[chain] == nil {
				return fmt.Errorf("%q: no such chain", line)
			}
			if len(chain) > 28 {
				return fmt.Errorf("%q: the name is too long", line)
			}
			t.chains[chain].rules = append(t.chains[chain].rules, rule)
		case strings.HasPrefix(line, "-X "):
			if user := t.user(line[3:]); user != "" {
				return fmt.Errorf("%q: in use by %s", line, user)
			}
			delete(t.chains, line[3:])
		case line == "COMMIT":
			for chain, c := range t.chains {
				for _, r := range c.rules {
					w := words(r)
					target := w[slices.Index(w, "-j")+1]
					if slices.Contains(w, "-j") && strings.HasPrefix(target, "KUBE-") && t.chains[target] == nil {
						return fmt.Errorf("%s leads to %s, which is not there", chain, target)
					}
				}
			}
			tables[name] = t
		}
	}
	return nil
}

// words splits a rule, keeping quoted text together.
func words(rule string) (out []string) {
	for i, part := range strings.Split(rule, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
