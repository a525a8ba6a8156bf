package proxytest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/controllers/proxy"
)

// Kernel implements proxy.Kernel without Linux. It understands what the backends write and refuses what Linux
// would refuse: a chain that is in use cannot be deleted, an element cannot be added twice, a rule cannot
// refer to what is not there. Its methods may be called concurrently.
type Kernel struct {
	mu  sync.Mutex
	nft map[string]*table                  // by family: ip, ip6
	ipt map[proxy.Family]map[string]*table // by name: filter, nat, mangle

	// Refuse, if set, may fail a write; tool is nft, iptables-restore or the like, or ipvs for a new virtual
	// server, whose address is the text, or a new endpoint, whose text is "server -> endpoint".
	Refuse func(tool, text string) error
	// Looks, if set, is how reading rules fails.
	Looks error
	// NoIPVS makes it a kernel without IPVS.
	NoIPVS bool

	// limited and left are what StopAfter has set.
	limited bool
	left    int

	writes  []string
	listens []string
	flows   []proxy.Flow
	deletes int
	sysctls map[string]string

	servers map[serverKey]*virtual
	device  map[netip.Addr]bool // the addresses of proxy.IPVSDevice; nil if there is none
	ipsets  map[string]*ipset
	calls   []string
}

// NewKernel returns a kernel without rules.
func NewKernel() *Kernel {
	k := &Kernel{nft: map[string]*table{}, ipt: map[proxy.Family]map[string]*table{}, sysctls: map[string]string{},
		servers: map[serverKey]*virtual{}, ipsets: map[string]*ipset{}}
	for _, f := range []proxy.Family{proxy.IPv4, proxy.IPv6} {
		k.ipt[f] = map[string]*table{}
		for name, chains := range builtin {
			t := newTable()
			for _, c := range chains {
				t.chains[c] = &chain{}
			}
			k.ipt[f][name] = t
		}
	}
	return k
}

// builtin are the chains of iptables that exist from the beginning, by table.
var builtin = map[string][]string{
	"filter": {"INPUT", "FORWARD", "OUTPUT"},
	"nat":    {"PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"},
	"mangle": {"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"},
}

// Run implements proxy.Kernel for nft, ipset, iptables, iptables-restore, iptables-save and their IPv6 forms.
func (k *Kernel) Run(_ context.Context, stdin []byte, name string, args ...string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out, code, err := k.run(string(stdin), name, args)
	if err != nil {
		return nil, &proxy.CommandError{Command: name + " " + strings.Join(args, " "), Output: err.Error(), Err: exitError(code)}
	}
	return []byte(out), nil
}

// NFTRules implements proxy.Kernel.
func (k *Kernel) NFTRules(f proxy.Family, _, chain string) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.Looks != nil {
		return 0, k.Looks
	}
	t := k.nft[nftFamily(f)]
	if t == nil || t.chains[chain] == nil {
		return 0, nil
	}
	return len(t.chains[chain].rules), nil
}

type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
func (e exitError) ExitCode() int { return int(e) }

func (k *Kernel) run(stdin, name string, args []string) (out string, code int, err error) {
	if stdin != "" {
		k.writes = append(k.writes, stdin)
		if k.Refuse != nil {
			if err := k.Refuse(name, stdin); err != nil {
				return "", 1, err
			}
		}
	}
	family := proxy.IPv4
	if strings.HasPrefix(name, "ip6") {
		family = proxy.IPv6
	}
	switch {
	case name == "ipset":
		return k.runIPSet(stdin, args)
	case args[0] == "--version":
		return map[bool]string{true: "nftables v1.0.6 (Lester Gooch #5)", false: "iptables v1.8.9 (nf_tables)"}[name == "nft"], 0, nil
	case name == "nft" && args[0] == "-f":
		if err := k.change(); err != nil {
			return "", 1, err
		}
		return "", 1, k.nftRun(stdin)
	case k.Looks != nil:
		return "", 4, k.Looks
	case name == "nft":
		return k.nftList(args)
	case strings.HasSuffix(name, "-restore"):
		return "", 1, k.restore(family, stdin)
	case strings.HasSuffix(name, "-save"):
		return k.save(family), 0, nil
	case slices.Contains(args, "-S"):
		return k.listChain(family, args[slices.Index(args, "-t")+1], args[len(args)-1])
	}
	return "", 2, fmt.Errorf("%s %v: not understood", name, args)
}

// SetSysctl implements proxy.Kernel.
func (k *Kernel) SetSysctl(name, value string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sysctls[name] = value
	return nil
}

// Sysctl implements proxy.Kernel.
func (k *Kernel) Sysctl(name string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, ok := k.sysctls[name]; ok {
		return v, nil
	}
	if name == "kernel/osrelease" {
		return "6.1.0", nil
	}
	return "0", nil
}

// Addrs implements proxy.Kernel.
func (k *Kernel) Addrs() ([]netip.Addr, error) {
	return []netip.Addr{NodeAddr(proxy.IPv4), NodeAddr(proxy.IPv6)}, nil
}

// Listen implements proxy.Kernel; it always fails.
func (k *Kernel) Listen(_ context.Context, network, address string) (net.Listener, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listens = append(k.listens, network+" "+address)
	return nil, fs.ErrPermission
}

// DeleteFlows implements proxy.Kernel.
func (k *Kernel) DeleteFlows(f proxy.Family, match func(proxy.Flow) bool) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.deletes++
	before := len(k.flows)
	k.flows = slices.DeleteFunc(k.flows, func(fl proxy.Flow) bool {
		return fl.To.Addr().Is4() == (f == proxy.IPv4) && match(fl)
	})
	return before - len(k.flows), nil
}

// AddFlow adds a flow to connection tracking.
func (k *Kernel) AddFlow(f proxy.Flow) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.flows = append(k.flows, f)
}

// Flows returns the flows of connection tracking, and how often they were looked through.
func (k *Kernel) Flows() (flows []proxy.Flow, looks int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.flows), k.deletes
}

// SetRefuse replaces Refuse while the kernel is in use.
func (k *Kernel) SetRefuse(f func(tool, text string) error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Refuse = f
}

// SetLooks replaces Looks while the kernel is in use.
func (k *Kernel) SetLooks(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Looks = err
}

// Writes returns the texts that were written, the refused ones too.
func (k *Kernel) Writes() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.writes)
}

// Listens returns the addresses that Listen was called with, each after its network.
func (k *Kernel) Listens() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.listens)
}

// Flush removes all rules, as another program may.
func (k *Kernel) Flush() {
	k.mu.Lock()
	defer k.mu.Unlock()
	fresh := NewKernel()
	k.nft, k.ipt, k.servers, k.ipsets, k.device = fresh.nft, fresh.ipt, fresh.servers, fresh.ipsets, nil
}

// NFT runs a script of nft, as another program may.
func (k *Kernel) NFT(script string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.nftRun(script)
}

// Set returns the elements of a set or map of the nftables table of a family, with their verdicts; nil if
// there is no such set.
func (k *Kernel) Set(f proxy.Family, name string) map[string]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.nft[nftFamily(f)]; t != nil {
		return maps.Clone(t.sets[name])
	}
	return nil
}

// Sets returns the names of the sets and maps of the nftables table of a family, in order.
func (k *Kernel) Sets(f proxy.Family) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.nft[nftFamily(f)]; t != nil {
		return slices.Sorted(maps.Keys(t.sets))
	}
	return nil
}

// AddElement adds an element to a set of the nftables table of a family, as the kernel does for packets.
func (k *Kernel) AddElement(f proxy.Family, set, key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nft[nftFamily(f)].sets[set][key] = ""
}

// HasTable reports whether there is an nftables table of the proxy in a family.
func (k *Kernel) HasTable(f proxy.Family) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.nft[nftFamily(f)] != nil
}

func nftFamily(f proxy.Family) string {
	if f == proxy.IPv6 {
		return "ip6"
	}
	return "ip"
}

// unordered are the shared chains in which the order of rules does not matter.
var unordered = []string{"KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-EXTERNAL-SERVICES", "KUBE-PROXY-FIREWALL"}

// Dump returns all rules as text. Equal texts forward alike.
func (k *Kernel) Dump() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var b strings.Builder
	for _, family := range slices.Sorted(maps.Keys(k.nft)) {
		k.nft[family].dump(&b, "nft "+family)
	}
	for _, f := range []proxy.Family{proxy.IPv4, proxy.IPv6} {
		for _, name := range slices.Sorted(maps.Keys(k.ipt[f])) {
			k.ipt[f][name].dump(&b, f.String()+" "+name)
		}
	}
	k.dumpIPVS(&b)
	return b.String()
}

func (k *Kernel) nftRun(text string) error {
	next := map[string]*table{}
	for n, t := range k.nft {
		next[n] = t.clone()
	}
	if err := nftApply(next, text); err != nil {
		return err
	}
	k.nft = next
	return nil
}

func (k *Kernel) nftList(args []string) (string, int, error) {
	var b strings.Builder // -t list WHAT FAMILY
	what, family := args[2], args[3]
	if t := k.nft[family]; t != nil {
		t.list(&b, "table "+family+" kube-proxy", what)
	}
	f := map[string]proxy.Family{"ip": proxy.IPv4, "ip6": proxy.IPv6}[family]
	for name, t := range k.ipt[f] {
		t.list(&b, "table "+family+" "+name, what)
	}
	return b.String(), 0, nil
}

func (k *Kernel) listChain(f proxy.Family, table, name string) (string, int, error) {
	c := k.ipt[f][table].chains[name]
	if c == nil {
		return "", 1, errors.New("No chain/target/match by that name")
	}
	var b strings.Builder
	for _, r := range c.rules {
		fmt.Fprintf(&b, "-A %s %s\n", name, r)
	}
	return b.String(), 0, nil
}

func (k *Kernel) save(f proxy.Family) string {
	var b strings.Builder
	for name, t := range k.ipt[f] {
		fmt.Fprintf(&b, "*%s\n", name)
		for c := range t.chains {
			fmt.Fprintf(&b, ":%s - [0:0]\n", c)
		}
	}
	return b.String()
}

// restore runs input of iptables-restore --noflush; each table is one transaction.
func (k *Kernel) restore(f proxy.Family, text string) error {
	var name string
	var t *table
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		var err error
		switch {
		case strings.HasPrefix(line, "*"):
			name = line[1:]
			t = k.ipt[f][name].clone()
		case line == "COMMIT":
			if err = errors.Join(t.iptCheck(), k.setCheck(t), k.change()); err == nil {
				k.ipt[f][name] = t
			}
		default:
			err = t.iptApply(line)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	return nil
}
