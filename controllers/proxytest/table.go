package proxytest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// table is a table of nftables or iptables.
type table struct {
	chains map[string]*chain
	sets   map[string]map[string]string // elements and their verdicts, of sets and maps
	decl   map[string]string
}

type chain struct {
	hook  string
	rules []string
}

// list prints what nft -t list prints of a table.
func (t *table) list(b *strings.Builder, head, what string) {
	fmt.Fprintf(b, "%s {\n", head)
	for name, decl := range t.decl {
		kind := "set"
		if strings.Contains(decl, "verdict") {
			kind = "map"
		}
		if what != kind+"s" {
			continue
		}
		fmt.Fprintf(b, "\t%s %s {\n", kind, name)
		for part := range strings.SplitSeq(strings.Trim(decl, "{} "), ";") {
			fmt.Fprintf(b, "\t\t%s\n", strings.TrimSpace(part))
		}
		b.WriteString("\t}\n")
	}
	if what == "chains" {
		for name := range t.chains {
			fmt.Fprintf(b, "\tchain %s {\n\t}\n", name)
		}
	}
	b.WriteString("}\n")
}

func (t *table) dump(b *strings.Builder, head string) {
	fmt.Fprintf(b, "%s\n", head)
	for _, name := range slices.Sorted(maps.Keys(t.chains)) {
		c := t.chains[name]
		rules := c.rules
		if slices.Contains(unordered, name) {
			rules = slices.Sorted(slices.Values(rules))
		}
		fmt.Fprintf(b, "  chain %s %s\n", name, c.hook)
		for _, r := range rules {
			fmt.Fprintf(b, "    %s\n", r)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.sets)) {
		fmt.Fprintf(b, "  set %s %s\n", name, t.decl[name])
		for _, key := range slices.Sorted(maps.Keys(t.sets[name])) {
			fmt.Fprintf(b, "    %s : %s\n", key, t.sets[name][key])
		}
	}
}

func (t *table) iptApply(line string) error {
	w := strings.SplitN(line, " ", 3)
	name, rest := "", ""
	if len(w) > 1 {
		name = w[1]
	}
	if len(w) > 2 {
		rest = w[2]
	}
	if strings.HasPrefix(line, ":") {
		t.chains[w[0][1:]] = &chain{}
		return nil
	}
	c := t.chains[name]
	if c == nil {
		return fmt.Errorf("no such chain")
	}
	if len(name) > 28 {
		return fmt.Errorf("the name is too long")
	}
	switch w[0] {
	case "-A":
		c.rules = append(c.rules, rest)
	case "-I":
		rule, ok := strings.CutPrefix(rest, "1 ")
		if !ok {
			return fmt.Errorf("not understood")
		}
		c.rules = slices.Insert(c.rules, 0, rule)
	case "-D":
		i := slices.Index(c.rules, rest)
		if i < 0 {
			return fmt.Errorf("no such rule")
		}
		c.rules = slices.Delete(c.rules, i, i+1)
	case "-X":
		if user := t.user(name); user != "" || len(c.rules) > 0 {
			return fmt.Errorf("in use by %s", user)
		}
		delete(t.chains, name)
	default:
		return fmt.Errorf("not understood")
	}
	return nil
}

func (t *table) iptCheck() error {
	for name, c := range t.chains {
		for _, r := range c.rules {
			w := words(r)
			i := slices.Index(w, "-j")
			if i >= 0 && strings.HasPrefix(w[i+1], "KUBE-") && t.chains[w[i+1]] == nil {
				return fmt.Errorf("%s leads to %s, which is not there", name, w[i+1])
			}
		}
	}
	return nil
}

func newTable() *table {
	return &table{chains: map[string]*chain{}, sets: map[string]map[string]string{}, decl: map[string]string{}}
}

func (t *table) clone() *table {
	n := newTable()
	for name, c := range t.chains {
		n.chains[name] = &chain{c.hook, slices.Clone(c.rules)}
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
func nftApply(tables map[string]*table, script string) error {
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
				tables[family] = newTable()
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

func (t *table) nftApply(op, name, rest string) error {
	c, s := t.chains[name], t.sets[name]
	missing := fmt.Errorf("%s: no such file or directory", name)
	switch op {
	case "add chain":
		if c == nil {
			t.chains[name] = &chain{hook: strings.Trim(rest, "{ }")}
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
func (t *table) user(name string) string {
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

func (t *table) nftCheck() error {
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
