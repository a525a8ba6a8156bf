package proxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

var nodeAddr = netip.MustParseAddr("192.0.2.1")

// packet is the first one of a connection.
type packet struct {
	src, dst netip.Addr
	proto    string
	port     uint16
	fromNode bool // sent by a process of the node
	mark     bool
	masq     bool
	state    string // what happened: "", "drop" or "reject"
}

func (p packet) local(a netip.Addr) bool { return a == nodeAddr || a.IsLoopback() }

// outcome is what becomes of a packet.
func (p packet) outcome() string {
	if p.state != "" {
		return p.state
	}
	s := netip.AddrPortFrom(p.dst, p.port).String()
	if p.masq {
		s += " masqueraded"
	}
	return s
}

// split is a packet with the probability that it is this one.
type split struct {
	packet
	p float64
}

// verdicts of a chain.
const (
	goOn = iota // the chain ended: the caller goes on
	stop        // the hook is done with the packet
)

// evaluator runs a packet through a chain and calls done for every way it may go.
type evaluator func(t *fakeTable, chain string, s split, done func(split, int))

// simulate returns what becomes of a packet, with probabilities, by running it through the hooks of a
// ruleset's text.
func simulate(mode Mode, tables map[string]*fakeTable, p packet) map[string]float64 {
	out := map[string]float64{}
	through := func(hook string) []func(split, func(split)) {
		var stages []func(split, func(split))
		stage := func(t *fakeTable, chain string, eval evaluator) {
			stages = append(stages, func(s split, next func(split)) {
				if s.state != "" {
					next(s)
					return
				}
				eval(t, chain, s, func(s split, _ int) { next(s) })
			})
		}
		if mode == NFTables {
			t := tables["ip"]
			var names []string
			for name, c := range t.chains {
				if strings.Contains(c.hook, " hook "+hook+" ") {
					names = append(names, name)
				}
			}
			priority := func(name string) int {
				w := strings.Fields(t.chains[name].hook)
				n, _ := strconv.Atoi(w[slices.Index(w, "priority")+1])
				return n
			}
			slices.SortFunc(names, func(a, b string) int { return priority(a) - priority(b) })
			for _, name := range names {
				stage(t, name, nftEval)
			}
			return stages
		}
		for _, table := range []string{tableNAT, tableFilter} {
			for _, j := range slices.Backward(iptJumps) {
				if strings.EqualFold(j.from, hook) && j.table == table {
					stage(tables[table], j.to, iptEval)
				}
			}
		}
		return stages
	}
	var run func(stages []func(split, func(split)), s split, done func(split))
	run = func(stages []func(split, func(split)), s split, done func(split)) {
		if len(stages) == 0 {
			done(s)
			return
		}
		stages[0](s, func(s split) { run(stages[1:], s, done) })
	}
	first := "prerouting"
	if p.fromNode {
		first = "output"
	}
	run(through(first), split{p, 1}, func(s split) {
		second := []func(split, func(split)){}
		if p.local(s.dst) { // what the node sends to itself comes in over lo
			second = through("input")
		} else if !p.fromNode {
			second = through("forward")
		}
		run(second, s, func(s split) {
			run(through("postrouting"), s, func(s split) { out[s.outcome()] += s.p })
		})
	})
	return out
}

func inRange(a netip.Addr, text string) bool {
	if strings.Contains(text, "/") {
		return netip.MustParsePrefix(text).Contains(a)
	}
	return netip.MustParseAddr(text) == a
}

// nftEval interprets rules of nft.
func nftEval(t *fakeTable, chain string, s split, done func(split, int)) {
	nftRulesOf(t, t.chains[chain].rules, s, done)
}

func nftVerdict(t *fakeTable, verdict string, s split, done func(split, int)) {
	switch w := strings.Fields(verdict); w[0] {
	case "goto":
		nftEval(t, w[1], s, done)
	case "drop", "reject":
		s.state = w[0]
		done(s, stop)
	default:
		panic(verdict)
	}
}

func nftRulesOf(t *fakeTable, rules []string, s split, done func(split, int)) {
	if len(rules) == 0 {
		done(s, goOn)
		return
	}
	rule, _, _ := strings.Cut(rules[0], " comment ")
	w := strings.Fields(rule)
	next := func(s split) { nftRulesOf(t, rules[1:], s, done) }
	addr := func(which string) netip.Addr {
		if which == "saddr" {
			return s.src
		}
		return s.dst
	}
	for len(w) > 0 {
		text := strings.Join(w, " ")
		switch {
		case strings.HasPrefix(text, "ip daddr . meta l4proto . th dport vmap @"), strings.HasPrefix(text, "meta l4proto . th dport vmap @"):
			key := fmt.Sprintf("%s . %d", s.proto, s.port)
			if w[0] == "ip" {
				key = s.dst.String() + " . " + key
			}
			if v, ok := t.sets[w[len(w)-1][1:]][key]; ok {
				nftVerdict(t, v, s, done)
				return
			}
			next(s)
			return
		case w[0] == "ip":
			want, n := true, 3
			if w[2] == "!=" {
				want, n = false, 4
			}
			a, match := addr(w[1]), false
			switch x := w[n-1]; {
			case x == "{":
				n = slices.Index(w, "}") + 1
				match = slices.ContainsFunc(w[3:n-1], func(r string) bool { return inRange(a, strings.TrimSuffix(r, ",")) })
			case strings.HasPrefix(x, "@affinity"): // nobody has been here before
			case x[0] == '@':
				_, match = t.sets[x[1:]][a.String()]
			default:
				match = inRange(a, x)
			}
			if match != want {
				next(s)
				return
			}
			w = w[n:]
		case w[0] == "fib": // fib daddr type local
			if !s.local(addr(w[1])) {
				next(s)
				return
			}
			w = w[4:]
		case strings.HasPrefix(text, "ct state new "):
			w = w[3:]
		case strings.HasPrefix(text, "mark and 0x4000 == 0 "):
			if s.mark {
				next(s)
				return
			}
			w = w[5:]
		case strings.HasPrefix(text, "meta l4proto "):
			if w[2] != s.proto {
				next(s)
				return
			}
			w = w[3:]
		case len(w) > 2 && w[1] == "dport":
			if n, _ := strconv.Atoi(w[2]); w[0] != s.proto || n != int(s.port) {
				next(s)
				return
			}
			w = w[3:]
		case w[0] == "jump":
			nftEval(t, w[1], s, func(s split, v int) {
				if v == stop {
					done(s, stop)
					return
				}
				next(s)
			})
			return
		case w[0] == "goto", w[0] == "drop", w[0] == "reject":
			nftVerdict(t, text, s, done)
			return
		case w[0] == "return":
			done(s, goOn)
			return
		case text == "mark set mark or 0x4000":
			s.mark = true
			w = nil
		case text == "mark set mark xor 0x4000":
			s.mark = !s.mark
			w = nil
		case text == "masquerade fully-random":
			s.masq = true
			done(s, stop)
			return
		case w[0] == "update":
			w = nil
		case w[0] == "dnat":
			ap := netip.MustParseAddrPort(w[2])
			s.dst, s.port = ap.Addr(), ap.Port()
			done(s, stop)
			return
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
			return
		default:
			panic("cannot interpret " + text)
		}
	}
	next(s)
}

// iptEval interprets rules of iptables.
func iptEval(t *fakeTable, chain string, s split, done func(split, int)) {
	iptRulesOf(t, t.chains[chain].rules, s, done)
}

func iptRulesOf(t *fakeTable, rules []string, s split, done func(split, int)) {
	if len(rules) == 0 {
		done(s, goOn)
		return
	}
	next := func(s split) { iptRulesOf(t, rules[1:], s, done) }
	match, chance, target, not := true, 1.0, "", false
	var args []string
	w := words(rules[0])
	for i := 0; i < len(w); i++ {
		check := func(ok bool) {
			if ok == not {
				match = false
			}
			not = false
		}
		switch w[i] {
		case "!":
			not = true
			continue
		case "-m", "--comment", "--name", "--seconds", "--mode":
			i++
		case "--rcheck": // nobody has been here before
			check(false)
		case "--set", "--reap":
		case "-p":
			i++
			check(w[i] == s.proto)
		case "--dport":
			i++
			n, _ := strconv.Atoi(w[i])
			check(n == int(s.port))
		case "-d", "-s":
			a := s.dst
			if w[i] == "-s" {
				a = s.src
			}
			i++
			check(inRange(a, w[i]))
		case "--dst-type", "--src-type":
			a := s.dst
			if w[i] == "--src-type" {
				a = s.src
			}
			i++
			check(s.local(a))
		case "--ctstate":
			i++
			check(strings.Contains(w[i], "NEW"))
		case "--mark":
			i++
			check(s.mark)
		case "--probability":
			i++
			chance, _ = strconv.ParseFloat(w[i], 64)
		case "-j":
			target, args = w[i+1], w[i+2:]
			i = len(w)
		default:
			panic("cannot interpret " + rules[0])
		}
	}
	if !match || target == "" {
		next(s)
		return
	}
	if chance < 1 {
		other := s
		other.p *= 1 - chance
		next(other)
		s.p *= chance
	}
	switch target {
	case "MARK":
		s.mark = args[0] == "--or-mark" || args[0] == "--xor-mark" && !s.mark
		next(s)
	case "MASQUERADE":
		s.masq = true
		done(s, stop)
	case "DNAT":
		ap := netip.MustParseAddrPort(args[1])
		s.dst, s.port = ap.Addr(), ap.Port()
		done(s, stop)
	case "DROP", "REJECT":
		s.state = strings.ToLower(target)
		done(s, stop)
	case "ACCEPT":
		done(s, stop)
	case "RETURN":
		done(s, goOn)
	default:
		iptEval(t, target, s, func(s split, v int) {
			if v == stop {
				done(s, stop)
				return
			}
			next(s)
		})
	}
}
