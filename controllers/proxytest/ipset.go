package proxytest

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ipset is a set of the program ipset.
type ipset struct {
	typ     string
	v6      bool
	members map[string]bool
}

// runIPSet runs ipset restore or save.
func (k *Kernel) runIPSet(stdin string, args []string) (string, int, error) {
	switch args[0] {
	case "--version":
		return "ipset v7.17, protocol version: 7\n", 0, nil
	case "restore":
		for line := range strings.Lines(stdin) {
			if err := k.ipsetLine(strings.Fields(line)); err != nil {
				return "", 1, fmt.Errorf("ipset v7.17: Error in line %q: %w", strings.TrimSpace(line), err)
			}
		}
		return "", 0, nil
	case "save":
		var b strings.Builder
		for name, s := range k.ipsets {
			fmt.Fprintf(&b, "create %s %s\n", name, s.typ)
			for m := range s.members {
				fmt.Fprintf(&b, "add %s %s\n", name, m)
			}
		}
		return b.String(), 0, nil
	}
	return "", 2, fmt.Errorf("ipset %v: not understood", args)
}

// ipsetLine runs a command of ipset restore. Unlike rules, each one takes effect by itself.
func (k *Kernel) ipsetLine(w []string) error {
	if len(w) < 2 || len(w[1]) > 31 {
		return errors.New("not understood")
	}
	if err := k.change(); err != nil {
		return err
	}
	s := k.ipsets[w[1]]
	if w[0] == "create" {
		if s != nil {
			return errors.New("set with the same name already exists")
		}
		k.ipsets[w[1]] = &ipset{typ: w[2], v6: slices.Contains(w, "inet6"), members: map[string]bool{}}
		return nil
	}
	if s == nil {
		return errors.New("the set with the given name does not exist")
	}
	if w[0] == "destroy" {
		if user := k.setUser(w[1]); user != "" {
			return fmt.Errorf("set cannot be destroyed: it is in use by a kernel component (%s)", user)
		}
		delete(k.ipsets, w[1])
		return nil
	}
	if err := s.check(w[2]); err != nil {
		return err
	}
	have := s.members[w[2]]
	switch {
	case w[0] == "add" && !have:
		s.members[w[2]] = true
	case w[0] == "del" && have:
		delete(s.members, w[2])
	default:
		return fmt.Errorf("element is there: %v", have)
	}
	return nil
}

// check refuses members that do not fit the type.
func (s *ipset) check(member string) error {
	kinds, parts := strings.Split(s.typ[strings.Index(s.typ, ":")+1:], ","), strings.Split(member, ",")
	if len(kinds) != len(parts) {
		return fmt.Errorf("syntax error: %s is no %s", member, s.typ)
	}
	for i, kind := range kinds {
		var err error
		switch kind {
		case "port":
			proto, port, ok := strings.Cut(parts[i], ":")
			if !ok {
				port = proto
			}
			if ok == (len(kinds) == 1) || ok && !slices.Contains([]string{"tcp", "udp", "sctp"}, proto) {
				return fmt.Errorf("syntax error: %s is no port of %s", parts[i], s.typ)
			}
			_, err = strconv.ParseUint(port, 10, 16)
		case "net":
			p, perr := netip.ParsePrefix(parts[i])
			if err = perr; err == nil && (p.Bits() == 0 || p.Masked() != p || p.IsSingleIP() || p.Addr().Is6() != s.v6) {
				err = errors.New("is no range")
			}
			if a, aerr := netip.ParseAddr(parts[i]); aerr == nil && a.Is6() == s.v6 {
				err = nil
			}
		default:
			a, aerr := netip.ParseAddr(parts[i])
			if err = aerr; err == nil && a.Is6() != s.v6 {
				err = errors.New("has the wrong family")
			}
		}
		if err != nil {
			return fmt.Errorf("syntax error: %s: %w", parts[i], err)
		}
	}
	return nil
}

// setUser is a rule that refers to a set.
func (k *Kernel) setUser(name string) string {
	for _, tables := range k.ipt {
		for _, t := range tables {
			for _, c := range t.chains {
				for _, r := range c.rules {
					if slices.Contains(words(r), name) {
						return r
					}
				}
			}
		}
	}
	return ""
}

// setCheck refuses rules that refer to sets that are not there.
func (k *Kernel) setCheck(t *table) error {
	for _, c := range t.chains {
		for _, r := range c.rules {
			w := words(r)
			if i := slices.Index(w, "--match-set"); i >= 0 && k.ipsets[w[i+1]] == nil {
				return fmt.Errorf("set %s doesn't exist", w[i+1])
			}
		}
	}
	return nil
}

// has reports whether a packet is in the set; directions are src or dst for each part of a member.
func (s *ipset) has(p *state, directions string) bool {
	addr := map[string]netip.Addr{"src": p.Src, "dst": p.Dst}
	kinds, dirs := strings.Split(s.typ[strings.Index(s.typ, ":")+1:], ","), strings.Split(directions, ",")
	if len(kinds) != len(dirs) {
		panic("directions " + directions + " for type " + s.typ)
	}
	for m := range s.members {
		match := true
		for i, part := range strings.Split(m, ",") {
			switch {
			case kinds[i] != "port":
				match = match && inRange(addr[dirs[i]], part)
			case dirs[i] != "dst":
				match = false // the source port of a client is never one of a Service
			case len(kinds) == 1:
				match = match && part == strconv.Itoa(int(p.Port))
			default:
				match = match && part == p.Protocol+":"+strconv.Itoa(int(p.Port))
			}
		}
		if match {
			return true
		}
	}
	return false
}
