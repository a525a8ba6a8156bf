package proxy

import (
	"net/netip"
	"slices"
	"strconv"
)

// nftLimit is the number of ports above which a table is written in several transactions of so many. In one,
// the kernel looks through all of it for each map of a rule, so its time grows with the square of the ports:
// with 10,000, that is half of all that a start takes. But nft reads what is there before each transaction,
// so many small ones are not better: between 500 and 2,000 ports the sum hardly differs.
var nftLimit = 1000

// nftFull is a full write. wanted are the names of all chains, sets and maps that are written.
type nftFull struct {
	*nftRenderer
	wanted map[string]bool
}

func (r *nftRenderer) full() *nftFull {
	r.rules = 0
	return &nftFull{nftRenderer: r, wanted: map[string]bool{}}
}

// all is text that writes everything over what is left of another run; nil means that there is nothing.
func (r *nftRenderer) all(d *Delta, left *nftLeft) string {
	f, w := r.full(), &nftScript{family: r.ip()}
	w.table()
	if left != nil {
		f.prepare(w, left, d)
	}
	f.declare(w)
	f.chains(w, r.base(), nil)
	f.members(w, d)
	for _, c := range d.Ports {
		b := r.port(c.Now)
		f.chains(w, b, nil)
		for _, e := range b.elements {
			w.add(e)
		}
	}
	if left != nil {
		left.deleteUnwanted(w, f.wanted)
	}
	return w.String()
}

// parts are texts for one transaction each, which write a large table; nil means that there is nothing left
// of another run. At first the chains of ports are written, each port in one transaction: what was there
// before still leads to those that had been there. What leads to them now is written by the last part, which
// also has the chains that the kernel calls. So until then a new table does nothing.
//
// What is left must have no sets of clients: see nftLeft.sticky.
func (r *nftRenderer) parts(d *Delta, left *nftLeft) (texts []string) {
	f, there := r.full(), map[string]bool{}
	if left == nil {
		left = &nftLeft{}
	}
	for _, name := range left.chains {
		there[name] = true
	}
	w, last, on := &nftScript{family: r.ip()}, &nftScript{family: r.ip()}, &nftScript{family: r.ip()}
	w.table()
	// The kernel looks for the set of each element in the order in which sets were made, also in every later
	// change: the shared ones come before those within rules.
	f.declare(w)
	texts = append(texts, w.String())
	for group := range slices.Chunk(d.Ports, nftLimit) {
		w := &nftScript{family: r.ip()}
		for _, c := range group {
			b := r.port(c.Now)
			f.chains(w, b, there)
			for _, e := range b.elements {
				on.add(e)
			}
		}
		texts = append(texts, w.String())
	}
	for _, name := range left.chains {
		if there[name] {
			last.line("flush chain", name, "")
		}
	}
	for _, s := range left.sets {
		last.line("flush "+s.what, s.name, "")
	}
	f.chains(last, r.base(), nil)
	f.members(last, d)
	last.WriteString(on.String())
	left.deleteUnwanted(last, f.wanted)
	return append(texts, last.String())
}

// declare declares the sets and maps that all ports share.
func (f *nftFull) declare(w *nftScript) {
	sets, maps := f.shared()
	f.sets(w, "map", maps)
	f.sets(w, "set", sets)
}

func (f *nftFull) sets(w *nftScript, what string, list []nftSet) {
	for _, s := range list {
		f.wanted[s.name] = true
		w.line("add "+what, s.name, "{ "+s.decl+" }")
	}
}

// chains writes the sets and chains of a block. Those of its chains that are in there have other rules, which
// are removed; then they are taken out of it.
func (f *nftFull) chains(w *nftScript, b *nftBlock, there map[string]bool) {
	f.rules += b.rules()
	f.sets(w, "set", b.sets)
	for i := range b.chains {
		c := &b.chains[i]
		f.wanted[c.name] = true
		if there[c.name] {
			w.line("flush chain", c.name, "")
			delete(there, c.name)
		}
		w.chain(c)
	}
}

// members writes the elements that do not belong to one port.
func (f *nftFull) members(w *nftScript, d *Delta) {
	for _, key := range f.nodePorts() {
		w.add(nftElement{in: nftNodePortIPs, key: key})
	}
	members(w, nftClusterIPs, d.ClusterIPs, netip.Addr.String)
	members(w, nftHairpins, d.Loopbacks, nftHairpin)
}

// prepare empties what is left of another run, so that everything can be added once more. Sets whose entries
// the kernel makes, those of session affinity, keep them if they are declared as before.
func (f *nftFull) prepare(w *nftScript, left *nftLeft, d *Delta) {
	timeouts := map[string]string{}
	for _, c := range d.Ports {
		if c.Now.AffinitySeconds > 0 {
			for _, ep := range c.Now.endpointsUsed() {
				timeouts["affinity-"+nftEndpointName(c.Now.Name, ep)] = strconv.Itoa(int(c.Now.AffinitySeconds)) + "s"
			}
		}
	}
	for _, name := range left.chains {
		w.line("flush chain", name, "")
	}
	for i := range left.sets {
		s := &left.sets[i]
		if s.timeout == "" {
			w.line("flush "+s.what, s.name, "")
		} else if timeouts[s.name] != s.timeout {
			w.line("delete "+s.what, s.name, "")
			s.deleted = true
		}
	}
}
