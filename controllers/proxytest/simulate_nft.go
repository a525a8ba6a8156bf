package proxytest

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// nftEval interprets rules of nft.
func nftEval(t *table, chain string, s split, done func(split, int)) {
	nftRulesOf(t, t.chains[chain].rules, s, done)
}

func nftVerdict(t *table, verdict string, s split, done func(split, int)) {
	switch w := strings.Fields(verdict); w[0] {
	case "goto":
		nftEval(t, w[1], s, done)
	case "drop", "reject":
		s.verdict = w[0]
		done(s, stop)
	default:
		panic(verdict)
	}
}

func nftRulesOf(t *table, rules []string, s split, done func(split, int)) {
	if len(rules) == 0 {
		done(s, goOn)
		return
	}
	rule, _, _ := strings.Cut(rules[0], " comment ")
	w := strings.Fields(rule)
	next := func(s split) { nftRulesOf(t, rules[1:], s, done) }
	for len(w) > 0 {
		if set, key, ok := nftMap(w, &s.state); ok {
			if verdict, member := t.sets[set][key]; member {
				nftVerdict(t, verdict, s, done)
			} else {
				next(s)
			}
			return
		}
		n, match := nftMatch(t, w, &s.state)
		if n == 0 {
			nftStatement(t, w, s, next, done)
			return
		}
		if !match {
			next(s)
			return
		}
		w = w[n:]
	}
	next(s)
}

// nftMap interprets the words of a rule that finds its verdict in a map: its name, and the key of the packet.
func nftMap(w []string, s *state) (name, key string, ok bool) {
	text := strings.Join(w, " ")
	switch {
	case isIP(w[0]) && strings.HasPrefix(text[len(w[0]):], " daddr . meta l4proto . th dport vmap @"):
		key = fmt.Sprintf("%s . %s . %d", s.Dst, s.Protocol, s.Port)
	case strings.HasPrefix(text, "meta l4proto . th dport vmap @"):
		key = fmt.Sprintf("%s . %d", s.Protocol, s.Port)
	default:
		return "", "", false
	}
	return w[len(w)-1][1:], key, true
}

// nftMatch interprets the match that the words of a rule begin with: how many words it has, none if they do
// not begin with a match, and whether the packet is matched.
func nftMatch(t *table, w []string, s *state) (n int, match bool) {
	text := strings.Join(w, " ")
	switch {
	case isIP(w[0]) && strings.HasPrefix(text[len(w[0]):], " saddr . "):
		i := slices.IndexFunc(w, func(x string) bool { return x[0] == '@' })
		_, member := t.sets[w[i][1:]][fmt.Sprintf("%s . %s . %s . %d", s.Src, s.Dst, s.Protocol, s.Port)]
		return i + 1, member
	case isIP(w[0]):
		return nftMatchAddr(t, w, s)
	case w[0] == "fib": // fib daddr type local
		return 4, s.local(nftAddr(w[1], s))
	case strings.HasPrefix(text, "ct state new "):
		return 3, true
	case strings.HasPrefix(text, "ct status dnat "):
		return 3, s.dnat
	case strings.HasPrefix(text, "mark and 0x4000 != 0 "):
		return 5, s.mark
	case strings.HasPrefix(text, "meta l4proto "):
		return 3, w[2] == s.Protocol
	case len(w) > 2 && w[1] == "dport":
		port, _ := strconv.Atoi(w[2])
		return 3, w[0] == s.Protocol && port == int(s.Port)
	}
	return 0, false
}

func nftAddr(which string, s *state) netip.Addr {
	if which == "saddr" {
		return s.Src
	}
	return s.Dst
}

// nftMatchAddr interprets the match of an address: with another, a prefix, a list of them or a set.
func nftMatchAddr(t *table, w []string, s *state) (n int, match bool) {
	want, n := true, 3
	if w[2] == "!=" {
		want, n = false, 4
	}
	a := nftAddr(w[1], s)
	switch x := w[n-1]; {
	case x == "{":
		first := n
		n = slices.Index(w, "}") + 1
		match = slices.ContainsFunc(w[first:n-1], func(r string) bool { return inRange(a, strings.TrimSuffix(r, ",")) })
	case strings.HasPrefix(x, "@affinity"): // no client has connected before
	case x[0] == '@':
		_, match = t.sets[x[1:]][a.String()]
	default:
		match = inRange(a, x)
	}
	return n, match == want
}

// nftStatement interprets what a rule does with the packets that it matches, and calls next or done.
func nftStatement(t *table, w []string, s split, next func(split), done func(split, int)) {
	text := strings.Join(w, " ")
	switch {
	case w[0] == "jump":
		nftEval(t, w[1], s, returnTo(next, done))
	case w[0] == "goto", w[0] == "drop", w[0] == "reject":
		nftVerdict(t, text, s, done)
	case w[0] == "return":
		done(s, goOn)
	case text == "mark set mark or 0x4000":
		s.mark = true
		next(s)
	case strings.HasPrefix(text, "mark set mark xor 0x4000 "):
		s.mark = !s.mark
		nftStatement(t, w[5:], s, next, done)
	case w[0] == "update":
		next(s)
	case text == "masquerade fully-random":
		s.masq = true
		done(s, stop)
	case w[0] == "dnat" && len(w) > 3: // dnat ip to numgen random mod N map { 0 : ADDR . PORT, ... }
		balanced(text, s, done)
	case w[0] == "dnat":
		s.redirect(w[2])
		done(s, stop)
	case w[0] == "numgen":
		n, _ := strconv.Atoi(w[3])
		s.p /= float64(n)
		choices := strings.Split(strings.Trim(strings.TrimPrefix(text, strings.Join(w[:5], " ")), "{ }"), ",")
		if len(choices) != n {
			panic(text)
		}
		for _, c := range choices {
			_, verdict, _ := strings.Cut(c, " : ")
			nftVerdict(t, verdict, s, done)
		}
	default:
		panic("cannot interpret " + text)
	}
}

// returnTo is what is done after a chain that was jumped to: the rules after the jump, unless the hook is
// done with the packet.
func returnTo(next func(split), done func(split, int)) func(split, int) {
	return func(s split, v int) {
		if v == stop {
			done(s, stop)
			return
		}
		next(s)
	}
}

func isIP(word string) bool { return word == "ip" || word == "ip6" }

// balanced sends a packet to each of the endpoints in a map with equal probability.
func balanced(text string, s split, done func(split, int)) {
	w := strings.Fields(text)
	n, _ := strconv.Atoi(w[slices.Index(w, "mod")+1])
	choices := strings.Split(strings.Trim(text[strings.Index(text, "{"):], "{ }"), ",")
	if len(choices) != n {
		panic(text)
	}
	s.p /= float64(n)
	for i, c := range choices {
		key, to, _ := strings.Cut(strings.TrimSpace(c), " : ")
		if key != strconv.Itoa(i) {
			panic(text)
		}
		addr, port, _ := strings.Cut(to, " . ")
		s.Dst = netip.MustParseAddr(addr)
		p, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			panic(text)
		}
		s.Port, s.dnat = uint16(p), true
		done(s, stop)
	}
}
