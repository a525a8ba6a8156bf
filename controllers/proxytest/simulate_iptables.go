package proxytest

import (
	"strconv"
	"strings"
)

// iptEval interprets rules of iptables.
func iptEval(t *table, chain string, s split, done func(split, int)) {
	iptRulesOf(t, t.chains[chain].rules, s, done)
}

func iptRulesOf(t *table, rules []string, s split, done func(split, int)) {
	if len(rules) == 0 {
		done(s, goOn)
		return
	}
	next := func(s split) { iptRulesOf(t, rules[1:], s, done) }
	chance, target := iptMatch(rules[0], &s.state)
	if chance == 0 || len(target) == 0 {
		next(s)
		return
	}
	if chance < 1 {
		other := s
		other.p *= 1 - chance
		next(other)
		s.p *= chance
	}
	iptTarget(t, target, s, next, done)
}

// iptMatch interprets the matches of a rule: with what probability it concerns the packet, and the target
// with its arguments.
func iptMatch(rule string, s *state) (chance float64, target []string) {
	chance = 1
	not := false
	check := func(ok bool) {
		if ok == not {
			chance = 0
		}
		not = false
	}
	w := words(rule)
	for i := 0; i < len(w); i++ {
		option := w[i]
		switch option {
		case "!":
			not = true
			continue
		case "-j":
			return chance, w[i+1:]
		case "--match-set":
			check(s.kernel.ipsets[w[i+1]].has(s, w[i+2]))
			i += 2
			continue
		case "--set", "--reap":
			continue
		case "--rcheck": // no client has connected before
			check(false)
			continue
		}
		i++
		switch value := w[i]; option {
		case "-m", "--comment", "--name", "--seconds", "--mode":
		case "-p":
			check(value == s.Protocol)
		case "--dport":
			n, _ := strconv.Atoi(value)
			check(n == int(s.Port))
		case "-d":
			check(inRange(s.Dst, value))
		case "-s":
			check(inRange(s.Src, value))
		case "--dst-type":
			check(s.local(s.Dst))
		case "--src-type":
			check(s.local(s.Src))
		case "--ctstate":
			check(strings.Contains(value, "NEW"))
		case "--mark":
			check(s.mark)
		case "--probability":
			p, _ := strconv.ParseFloat(value, 64)
			chance *= p
		default:
			panic("cannot interpret " + rule)
		}
	}
	return chance, nil
}

// iptTarget interprets the target of a rule, with its arguments, and calls next or done.
func iptTarget(t *table, target []string, s split, next func(split), done func(split, int)) {
	name, args := target[0], target[1:]
	switch name {
	case "MARK":
		s.mark = args[0] == "--or-mark" || args[0] == "--xor-mark" && !s.mark
		next(s)
	case "MASQUERADE":
		s.masq = true
		done(s, stop)
	case "DNAT":
		s.redirect(args[1])
		done(s, stop)
	case "DROP", "REJECT":
		s.verdict = strings.ToLower(name)
		done(s, stop)
	case "ACCEPT":
		done(s, stop)
	case "RETURN":
		done(s, goOn)
	default:
		iptEval(t, name, s, returnTo(next, done))
	}
}
