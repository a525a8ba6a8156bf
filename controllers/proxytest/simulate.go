package proxytest

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/controllers/proxy"
)

// Packet is the first one of a connection.
type Packet struct {
	Src, Dst netip.Addr
	Protocol string // tcp, udp or sctp
	Port     uint16
	// FromNode reports that a process of the node sends it.
	FromNode bool
}

// String describes the packet.
func (p Packet) String() string {
	from := ""
	if p.FromNode {
		from = " (the node)"
	}
	return fmt.Sprintf("%s %s%s -> %s", p.Protocol, p.Src, from, netip.AddrPortFrom(p.Dst, p.Port))
}

// Outcomes is what may become of a packet, with probabilities: drop, reject, or the address that it reaches,
// followed by " masqueraded" if it is given the node's address.
type Outcomes map[string]float64

// masqueraded marks outcomes of packets that are given the node's address.
const masqueraded = " masqueraded"

// state is a packet in the kernel.
type state struct {
	Packet
	mark, masq bool
	// dnat reports that the packet was redirected.
	dnat    bool
	node    netip.Addr
	kernel  *Kernel
	verdict string // what happened: "", "drop" or "reject"
}

func (s *state) local(a netip.Addr) bool {
	return a == s.node || a.IsLoopback() || s.kernel.device[a]
}

func (s *state) outcome() string {
	if s.verdict != "" {
		return s.verdict
	}
	text := netip.AddrPortFrom(s.Dst, s.Port).String()
	if s.masq {
		text += masqueraded
	}
	return text
}

// redirect sends the packet to an address and port.
func (s *state) redirect(to string) {
	ap := netip.MustParseAddrPort(to)
	s.Dst, s.Port, s.dnat = ap.Addr(), ap.Port(), true
}

// split is a packet with the probability that it is this one.
type split struct {
	state
	p float64
}

// verdicts of a chain.
const (
	goOn = iota // the chain ended: the caller goes on
	stop        // the hook is done with the packet
)

// stage is one table's part of a hook.
type stage func(s split, next func(split))

// Send returns what becomes of a packet that meets the rules of a mode.
func (k *Kernel) Send(mode proxy.Mode, p Packet) Outcomes {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := proxy.IPv4
	if p.Dst.Is6() {
		f = proxy.IPv6
	}
	hook := func(name string) []stage { return k.hook(mode, f, name) }
	out := Outcomes{}
	begin := split{state{Packet: p, node: NodeAddr(f), kernel: k}, 1}
	end := func(s split) { out[s.outcome()] += s.p }
	if mode == proxy.IPVS {
		k.sendIPVS(f, begin, end)
		return out
	}
	first := "prerouting"
	if p.FromNode {
		first = "output"
	}
	runStages(hook(first), begin, func(s split) {
		var second []stage
		if s.local(s.Dst) { // what the node sends to itself comes in over lo
			second = hook("input")
		} else if !p.FromNode {
			second = hook("forward")
		}
		runStages(second, s, func(s split) {
			runStages(hook("postrouting"), s, end)
		})
	})
	return out
}

func runStages(stages []stage, s split, done func(split)) {
	if len(stages) == 0 {
		done(s)
		return
	}
	stages[0](s, func(s split) { runStages(stages[1:], s, done) })
}

// hook returns what a packet goes through at a hook of the kernel.
func (k *Kernel) hook(mode proxy.Mode, f proxy.Family, hook string) (stages []stage) {
	through := func(t *table, chain string, eval evaluator) {
		stages = append(stages, func(s split, next func(split)) {
			if s.verdict != "" {
				next(s)
				return
			}
			eval(t, chain, s, func(s split, _ int) { next(s) })
		})
	}
	if mode == proxy.NFTables {
		t := k.nft[nftFamily(f)]
		if t == nil {
			return nil
		}
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
			through(t, name, nftEval)
		}
		return stages
	}
	chain := strings.ToUpper(hook)
	for _, table := range []string{"nat", "filter"} {
		if t := k.ipt[f][table]; t.chains[chain] != nil {
			through(t, chain, iptEval)
		}
	}
	return stages
}

// evaluator runs a packet through a chain and calls done for every way it may go.
type evaluator func(t *table, chain string, s split, done func(split, int))

func inRange(a netip.Addr, text string) bool {
	if strings.Contains(text, "/") {
		return netip.MustParsePrefix(text).Contains(a)
	}
	return netip.MustParseAddr(text) == a
}
