// Package clusterdns answers DNS queries about Services and pods, as Kubernetes' specification of DNS-based
// service discovery says, and passes other queries on.
//
//	err := clusterdns.Add(m, clusterdns.Options{Addresses: []string{"10.0.0.1:1053"}, Upstreams: upstreams})
//	err = clusterdns.Publish(ctx, conn, netip.MustParseAddr("10.96.0.10"), netip.MustParseAddr("10.0.0.1"), 1053)
//
// With the domain cluster.local it knows
//
//   - svc.ns.svc.cluster.local: the cluster IPs of a Service; of a headless one the addresses of its ready
//     endpoints; of one with an external name a CNAME, followed as far as it can be;
//   - _port._protocol.svc.ns.svc.cluster.local: SRV records of a named port;
//   - host.svc.ns.svc.cluster.local: an endpoint of a headless Service by its hostname, or by its address
//     written 10-0-0-1;
//   - 10-0-0-1.ns.pod.cluster.local: that address, see [Options.Pods];
//   - the reverse, in in-addr.arpa and ip6.arpa, for cluster IPs and endpoints of headless Services.
//
// A name that is not there is NXDOMAIN; one that is there without such records is an empty answer; both carry
// the SOA, so that resolvers remember them for the time records live, and no longer. Until the informers have
// synced every such query is SERVFAIL, which resolvers ask again. Answers come from the informers' copies:
// nothing is kept twice, and an answer is as fresh as the watch.
//
// Messages from the network never panic; what is not a plain query is refused; how many queries wait for
// other resolvers is bounded.
package clusterdns
