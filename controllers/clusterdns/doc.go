// Package clusterdns is a DNS server for Services and pods that implements Kubernetes' DNS-based service
// discovery and forwards other queries.
//
//	err := clusterdns.Add(m, clusterdns.Options{Addresses: []string{"10.0.0.1:1053"}, Upstreams: upstreams})
//	err = clusterdns.AddPublication(m, clusterdns.Publication{
//		ClusterIPs: []netip.Addr{service}, Addresses: []netip.Addr{node}, Port: 1053,
//	})
//
// With the domain cluster.local it serves
//
//   - svc.ns.svc.cluster.local: the cluster IPs of a Service; of a headless one the addresses of its ready
//     endpoints; of one with an external name a CNAME, followed as far as it can be;
//   - _port._protocol.svc.ns.svc.cluster.local: SRV records of a named port;
//   - host.svc.ns.svc.cluster.local: an endpoint of a headless Service by its hostname, or by its address
//     written 10-0-0-1;
//   - 10-0-0-1.ns.pod.cluster.local: that address, see [Options.Pods];
//   - the reverse, in in-addr.arpa and ip6.arpa, for cluster IPs and endpoints of headless Services.
//
// The response for a name that does not exist is NXDOMAIN, and for one without records of the type an empty
// answer; both contain the SOA record, so that resolvers cache them no longer than records. A headless
// Service without ready endpoints does not exist, as the specification says. Until the informers have synced,
// queries are answered with SERVFAIL, which resolvers retry. What is read of a Service and its EndpointSlices
// is kept until one of them changes, so the price of an answer does not depend on the number of endpoints.
//
// Other queries are answered from a cache, or forwarded to the upstream that has been fastest lately; equal
// queries at a time share one exchange. See [Options.Upstreams].
//
// Malformed messages never cause a panic, and messages other than plain queries are refused. A flood costs
// neither memory nor goroutines: the number of queries waiting for upstream resolvers is bounded, as is that
// of TCP connections, and all other queries over UDP are answered one after the other.
package clusterdns
