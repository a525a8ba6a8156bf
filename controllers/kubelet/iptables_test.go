package kubelet_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// packetFilter is a packet filter with the programs iptables and perhaps ip6tables.
type packetFilter struct {
	mu     sync.Mutex
	v6     bool
	broken bool
	rules  map[string][]string // by program, table and chain, such as "iptables filter INPUT"
	calls  int
}

func (f *packetFilter) Run(_ context.Context, program string, args ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.broken || program == "ip6tables" && !f.v6 {
		return fmt.Errorf("%s does not run", program)
	}
	chain, rest := program+" "+args[1]+" "+args[3], strings.Join(args[4:], " ")
	have, there := f.rules[chain]
	builtin := slices.Contains([]string{"POSTROUTING", "INPUT", "OUTPUT"}, args[3])
	switch op := args[2]; {
	case op == "-N" && !there:
		f.rules[chain] = nil
	case op == "-S" && (there || builtin), op == "-C" && slices.Contains(have, rest):
	case op == "-X" && there:
		delete(f.rules, chain)
	case op == "-I":
		f.rules[chain] = append([]string{rest}, have...)
	case op == "-A" && there:
		f.rules[chain] = append(have, rest)
	default:
		return fmt.Errorf("%s fails", args)
	}
	return nil
}

func (f *packetFilter) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *packetFilter) chains() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.rules))
}

// Other components find the variant of iptables by the kubelet's chains, which come back after a flush and
// leave the rules of others alone. The canaries go with the kubelet.
func TestChainsForOthers(t *testing.T) {
	f := &packetFilter{v6: true, rules: map[string][]string{"iptables filter INPUT": {"-j OTHER"}}}
	want := []string{"ip6tables filter KUBE-KUBELET-CANARY", "ip6tables mangle KUBE-IPTABLES-HINT", "ip6tables mangle KUBE-KUBELET-CANARY", "ip6tables nat KUBE-KUBELET-CANARY",
		"iptables filter INPUT", "iptables filter KUBE-FIREWALL", "iptables filter KUBE-KUBELET-CANARY", "iptables filter OUTPUT",
		"iptables mangle KUBE-IPTABLES-HINT", "iptables mangle KUBE-KUBELET-CANARY", "iptables nat KUBE-KUBELET-CANARY"}
	bubble(t, func(r *rig) { r.opts.IPTables = f }, func(r *rig) {
		check := func() {
			require.Equal(t, want, f.chains())
			f.set(func() {
				require.Equal(t, []string{"-j KUBE-FIREWALL", "-j OTHER"}, f.rules["iptables filter INPUT"])
				require.Equal(t, []string{"-j KUBE-FIREWALL"}, f.rules["iptables filter OUTPUT"])
				require.Equal(t, []string{"-m comment --comment block incoming localnet connections --dst 127.0.0.0/8 ! --src 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP"},
					f.rules["iptables filter KUBE-FIREWALL"])
			})
		}
		check()
		calls := 0
		f.set(func() { calls = f.calls })
		time.Sleep(10 * time.Minute)
		f.set(func() { require.Equal(t, 60, f.calls-calls, "a look at each canary a minute") })
		check()

		// One table is flushed, then all, while the programs fail for a while.
		f.set(func() { delete(f.rules, "iptables nat KUBE-KUBELET-CANARY") })
		time.Sleep(time.Minute)
		check()
		f.set(func() { clear(f.rules); f.rules["iptables filter INPUT"] = []string{"-j OTHER"}; f.broken = true })
		time.Sleep(5 * time.Minute)
		require.Len(t, f.chains(), 1)
		f.set(func() { f.broken = false })
		time.Sleep(time.Minute)
		check()

		r.stop()
		want = slices.DeleteFunc(want, func(s string) bool { return strings.HasSuffix(s, "CANARY") })
		check()
		r.start()
		time.Sleep(3 * time.Second)
		require.Len(t, f.chains(), 11)
	})
}

// Without the programs the kubelet runs, and does not try again.
func TestNoPacketFilter(t *testing.T) {
	f := &packetFilter{rules: map[string][]string{}}
	bubble(t, func(r *rig) { r.opts.IPTables = f }, func(r *rig) {
		require.Contains(t, f.chains(), "iptables mangle KUBE-IPTABLES-HINT")
		require.NotContains(t, strings.Join(f.chains(), " "), "ip6tables")
		require.NoError(t, r.k.Healthy())
	})
}
