package clusterdns

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/ptr"
)

// specVersion is the version of the specification, the answer for dns-version.cluster.local.
const specVersion = "1.1.0"

// maxNames is how many names one answer may lead through.
const maxNames = 8

// result is what is known of a name.
type result struct {
	// exists distinguishes a name without such records (no data) from one that does not exist.
	exists        bool
	answer, extra []dns.RR
	// alias is where the name leads to, if it is a CNAME.
	alias string
	// seen are the records of srv.
	seen map[srvRecord]bool
	// failed says that what decides the answer cannot be read now.
	failed bool
}

// unknown is the result of a look-up that cannot be decided because of err, or of a name that is not there.
func unknown(err error) result { return result{failed: err != nil && !apierrors.IsNotFound(err)} }

// answer decides who knows the name.
func (s *Server) answer(r *request) (m *dns.Msg, forwarded bool) {
	q := r.Question[0]
	name := dns.CanonicalName(q.Name)
	switch {
	case dns.IsSubDomain(s.opts.Domain, name):
		if !s.synced() {
			return reply(r.Msg, dns.RcodeServerFailure), false
		}
		return s.own(r, name), false
	case dns.IsSubDomain("in-addr.arpa.", name), dns.IsSubDomain("ip6.arpa.", name):
		if !s.synced() {
			return reply(r.Msg, dns.RcodeServerFailure), false
		}
		res := s.reverse(q, name)
		if res.exists {
			m := reply(r.Msg, dns.RcodeSuccess)
			m.Authoritative, m.Answer = true, res.answer
			return m, false
		}
		if res.failed {
			return reply(r.Msg, dns.RcodeServerFailure), false
		}
		if len(s.opts.Upstreams) == 0 {
			return reply(r.Msg, dns.RcodeNameError), false
		}
	}
	return s.forward(r), true
}

// own answers a name of the cluster's domain.
func (s *Server) own(r *request, name string) *dns.Msg {
	q := r.Question[0]
	m := reply(r.Msg, dns.RcodeSuccess)
	m.Authoritative = true
	seen := map[string]bool{}
	for owner := q.Name; ; {
		res := s.lookup(owner, name, q.Qtype)
		if res.failed {
			return reply(r.Msg, dns.RcodeServerFailure)
		}
		if !res.exists && len(m.Answer) == 0 {
			m.Rcode = dns.RcodeNameError
		}
		m.Answer = append(m.Answer, res.answer...)
		m.Extra = append(m.Extra, res.extra...)
		if res.alias == "" || q.Qtype == dns.TypeCNAME {
			break
		}
		seen[name] = true
		owner, name = res.alias, dns.CanonicalName(res.alias)
		if len(seen) >= maxNames || seen[name] {
			break
		}
		if !dns.IsSubDomain(s.opts.Domain, name) {
			m.Answer = append(m.Answer, s.follow(r, owner, q.Qtype)...)
			break
		}
	}
	if len(m.Answer) == 0 {
		m.Ns = []dns.RR{s.soa()}
	}
	return m
}

func (s *Server) header(name string, rrtype uint16) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: rrtype, Class: dns.ClassINET, Ttl: uint32(s.opts.TTL / time.Second)}
}

func (s *Server) soa() dns.RR {
	return &dns.SOA{Hdr: s.header(s.opts.Domain, dns.TypeSOA), Ns: "ns.dns." + s.opts.Domain, Mbox: "hostmaster." + s.opts.Domain,
		// The serial is a time as elsewhere; the zone is never transferred.
		Serial: uint32(time.Now().Unix()), Refresh: 7200, Retry: 1800, Expire: 86400, Minttl: uint32(s.opts.TTL / time.Second)}
}

// lookup finds the records of a name of the domain. owner is the name in the question, name its canonical
// form.
func (s *Server) lookup(owner, name string, qtype uint16) result {
	rest := strings.TrimSuffix(strings.TrimSuffix(name, s.opts.Domain), ".")
	if rest == "" {
		return s.apex(owner, qtype)
	}
	labels := dns.SplitDomainName(rest)
	kind := labels[len(labels)-1]
	labels = labels[:len(labels)-1]
	switch {
	case kind == "svc" && len(labels) == 0, kind == "pod" && len(labels) == 0 && s.opts.Pods != PodsDisabled, rest == "dns":
		return result{exists: true}
	case rest == "ns.dns":
		return s.nameServer(owner, qtype)
	case kind == "dns-version" && len(labels) == 0:
		res := result{exists: true}
		if qtype == dns.TypeTXT || qtype == dns.TypeANY {
			res.answer = []dns.RR{&dns.TXT{Hdr: s.header(owner, dns.TypeTXT), Txt: []string{specVersion}}}
		}
		return res
	case kind == "svc":
		return s.service(owner, labels, qtype)
	case kind == "pod" && s.opts.Pods != PodsDisabled:
		return s.pod(owner, labels, qtype)
	}
	return result{}
}

func (s *Server) apex(owner string, qtype uint16) result {
	res := result{exists: true}
	switch qtype {
	case dns.TypeSOA:
		rr := s.soa()
		rr.Header().Name = owner
		res.answer = []dns.RR{rr}
	case dns.TypeNS:
		ns := "ns.dns." + s.opts.Domain
		res.answer = []dns.RR{&dns.NS{Hdr: s.header(owner, dns.TypeNS), Ns: ns}}
		res.extra = s.nameServer(ns, dns.TypeANY).answer
	}
	return res
}

// nameServer answers the name of the server itself: the cluster IPs of its Service, if there is one.
func (s *Server) nameServer(owner string, qtype uint16) result {
	res := result{exists: true}
	svc, err := s.find(Service)
	if err != nil {
		return res
	}
	for _, ip := range svc.ips {
		s.address(&res.answer, owner, ip, qtype)
	}
	return res
}

// service answers [[[_port._protocol | host].]svc.]ns below svc.
func (s *Server) service(owner string, labels []string, qtype uint16) (res result) {
	n := len(labels)
	ns := labels[n-1]
	if n == 1 {
		exists, err := s.namespaces.Has(types.NamespacedName{Name: ns})
		return result{exists: exists, failed: err != nil}
	}
	svc, err := s.find(types.NamespacedName{Namespace: ns, Name: labels[n-2]})
	switch {
	case err != nil:
		return unknown(err)
	case svc.external:
		if n == 2 && svc.target != "" {
			return s.external(owner, svc)
		}
	case svc.headless && len(svc.endpoints) == 0: // there is no such name, the specification says
	case n == 2:
		return s.wholeService(owner, svc, qtype)
	case n == 3 && !strings.HasPrefix(labels[0], "_"):
		for _, ip := range svc.byHost[labels[0]] {
			res.exists = true
			s.address(&res.answer, owner, ip, qtype)
		}
	case n == 3:
		res.exists = labels[0] == "_tcp" || labels[0] == "_udp" || labels[0] == "_sctp"
	case n == 4 && len(labels[0]) > 1 && labels[0][0] == '_' && strings.HasPrefix(labels[1], "_"):
		for _, p := range svc.byName[portName{labels[0][1:], labels[1][1:]}] {
			res.exists = true
			if qtype == dns.TypeSRV || qtype == dns.TypeANY {
				s.srv(&res, owner, svc, p)
			}
		}
	}
	return res
}

func (s *Server) external(owner string, svc *service) result {
	target := dns.Fqdn(svc.target)
	if _, ok := dns.IsDomainName(target); !ok {
		return result{exists: true}
	}
	return result{exists: true, alias: target, answer: []dns.RR{&dns.CNAME{Hdr: s.header(owner, dns.TypeCNAME), Target: target}}}
}

func (s *Server) wholeService(owner string, svc *service, qtype uint16) result {
	res := result{exists: true}
	if qtype == dns.TypeSRV || qtype == dns.TypeANY {
		for _, p := range svc.ports {
			s.srv(&res, owner, svc, p)
		}
	}
	for _, ip := range svc.ips {
		s.address(&res.answer, owner, ip, qtype)
	}
	for _, e := range svc.endpoints {
		s.address(&res.answer, owner, e.ip, qtype)
	}
	if svc.headless {
		rand.Shuffle(len(res.answer), func(i, j int) { res.answer[i], res.answer[j] = res.answer[j], res.answer[i] })
	}
	return res
}

// srv adds the record of a port, and the addresses of its target.
func (s *Server) srv(res *result, owner string, svc *service, p port) {
	target := svc.Name + "." + svc.Namespace + ".svc." + s.opts.Domain
	ips := svc.ips
	if p.endpoint != nil {
		target, ips = p.endpoint.host+"."+target, []netip.Addr{p.endpoint.ip}
	}
	// Both families of an endpoint have one name, and all its ports have the same addresses: each record is
	// given once.
	if key := (srvRecord{target: target, port: p.number}); !res.seen[key] {
		res.add(key)
		res.answer = append(res.answer, &dns.SRV{Hdr: s.header(owner, dns.TypeSRV), Priority: 0, Weight: 100, Port: p.number, Target: target})
	}
	for _, ip := range ips {
		if key := (srvRecord{target: target, ip: ip}); !res.seen[key] {
			res.add(key)
			s.address(&res.extra, target, ip, dns.TypeANY)
		}
	}
}

// srvRecord identifies a record of an SRV answer.
type srvRecord struct {
	target string
	ip     netip.Addr
	port   uint16
}

func (r *result) add(key srvRecord) {
	if r.seen == nil {
		r.seen = map[srvRecord]bool{}
	}
	r.seen[key] = true
}

// address adds an A or AAAA record if the question is of that type.
func (s *Server) address(out *[]dns.RR, owner string, ip netip.Addr, qtype uint16) {
	switch {
	case ip.Is4() && (qtype == dns.TypeA || qtype == dns.TypeANY):
		*out = append(*out, &dns.A{Hdr: s.header(owner, dns.TypeA), A: net.IP(ip.AsSlice())})
	case ip.Is6() && (qtype == dns.TypeAAAA || qtype == dns.TypeANY):
		*out = append(*out, &dns.AAAA{Hdr: s.header(owner, dns.TypeAAAA), AAAA: net.IP(ip.AsSlice())})
	}
}

// hostOf is the name of an endpoint below its Service.
func hostOf(e *discoveryv1.Endpoint, ip string) string {
	if h := ptr.Deref(e.Hostname); h != "" {
		return strings.ToLower(h)
	}
	return dashed(ip)
}

// dashed writes an address as a label: 10-0-0-1, or 2001-db8--1.
func dashed(ip string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == ':' {
			return '-'
		}
		return r
	}, ip)
}

// undashed is the reverse. 0-0-0-1-0-0-0-2 is an IPv6 address, 10-0-0-1 an IPv4 one.
func undashed(label string) (netip.Addr, bool) {
	if strings.Count(label, "-") == 3 && !strings.Contains(label, "--") {
		if a, err := netip.ParseAddr(strings.ReplaceAll(label, "-", ".")); err == nil {
			return a, true
		}
	}
	a, err := netip.ParseAddr(strings.ReplaceAll(label, "-", ":"))
	return a, err == nil && a.Zone() == ""
}

// pod answers [address.]ns below pod.
func (s *Server) pod(owner string, labels []string, qtype uint16) (res result) {
	ns := labels[len(labels)-1]
	if exists, err := s.namespaces.Has(types.NamespacedName{Name: ns}); err != nil || !exists {
		return unknown(err)
	}
	if len(labels) == 1 {
		return result{exists: true}
	}
	if len(labels) > 2 {
		return res
	}
	a, ok := undashed(labels[0])
	if !ok {
		return res
	}
	if s.opts.Pods == PodsVerified {
		found := false
		err := s.podsByIP.View(a.String(), func(p *corev1.Pod) bool {
			found = p.Namespace == ns
			return !found
		})
		if !found {
			return unknown(err)
		}
	}
	res.exists = true
	s.address(&res.answer, owner, a.Unmap(), qtype)
	return res
}

// reverse answers the names of an address.
func (s *Server) reverse(q dns.Question, name string) (res result) {
	a, ok := fromReverse(name)
	if !ok {
		return res
	}
	add := func(target string) {
		res.exists = true
		if q.Qtype == dns.TypePTR || q.Qtype == dns.TypeANY {
			res.answer = append(res.answer, &dns.PTR{Hdr: s.header(q.Name, dns.TypePTR), Ptr: target})
		}
	}
	err := s.servicesByIP.View(a.String(), func(svc *corev1.Service) bool {
		add(svc.Name + "." + svc.Namespace + ".svc." + s.opts.Domain)
		return false
	})
	if res.exists {
		return res
	}
	err = errors.Join(err, s.slicesByAddress.View(a.String(), func(sl *discoveryv1.EndpointSlice) bool {
		service := types.NamespacedName{Namespace: sl.Namespace, Name: sl.Labels[discoveryv1.LabelServiceName]}
		serviceErr := s.services.View(service, func(svc *corev1.Service) {
			if !headless(svc) {
				return // its pods are not known by name
			}
			for i := range sl.Endpoints {
				for _, ip := range sl.Endpoints[i].Addresses {
					if ip == a.String() && ready(&sl.Endpoints[i]) {
						add(hostOf(&sl.Endpoints[i], ip) + "." + svc.Name + "." + svc.Namespace + ".svc." + s.opts.Domain)
					}
				}
			}
		})
		if serviceErr != nil && !apierrors.IsNotFound(serviceErr) {
			err = serviceErr
		}
		return true
	}))
	if !res.exists {
		return unknown(err)
	}
	return res
}

// fromReverse reads an address out of a name below in-addr.arpa or ip6.arpa.
func fromReverse(name string) (netip.Addr, bool) {
	if rest, ok := strings.CutSuffix(name, ".in-addr.arpa."); ok {
		l := strings.Split(rest, ".")
		if len(l) != 4 {
			return netip.Addr{}, false
		}
		a, err := netip.ParseAddr(l[3] + "." + l[2] + "." + l[1] + "." + l[0])
		return a, err == nil
	}
	rest, ok := strings.CutSuffix(name, ".ip6.arpa.")
	l := strings.Split(rest, ".")
	if !ok || len(l) != 32 {
		return netip.Addr{}, false
	}
	var b strings.Builder
	for i := 31; i >= 0; i-- {
		if len(l[i]) != 1 {
			return netip.Addr{}, false
		}
		b.WriteString(l[i])
		if i%4 == 0 && i > 0 {
			b.WriteByte(':')
		}
	}
	a, err := netip.ParseAddr(b.String())
	return a, err == nil && a.Is6()
}
