// Package proxy forwards traffic for Services to their endpoints with rules of the Linux kernel, as
// kube-proxy does.
//
//	err := proxy.Add(m, proxy.Options{NodeName: "node-1", ClusterCIDRs: []netip.Prefix{pods}})
//	err = m.Run(ctx)
//
// It has three parts. [Plan] computes what a port of a Service means on one node ([ServicePort]) from its
// EndpointSlices. A [Table] keeps that for all Services: it is given one changed Service at a time, settles
// once which port gets an address that several have, and yields a [Delta], whose size is that of the change.
// A [Backend] writes deltas. The backends for nftables and iptables keep no rules: what a change removes they
// render from the port as it was, so that the price of a change does not depend on the number of Services.
// The backend for ipvs writes virtual servers of the kernel's load balancer, the addresses of a dummy device,
// and sets for a few constant rules of iptables. These parts work without I/O, on any system; [Script]
// returns the text for a delta. [Add] joins them: it watches the API with informers and writes changes to the
// [Kernel], at most once per MinSyncPeriod. Package proxytest tests backends without a kernel. [Userspace] is
// a backend that forwards in the process, for tests of what connects to Services.
//
// # Guarantees
//
//   - Rules change in one transaction per table, so no packet is processed by half of a change. A change of
//     very many ports takes several with iptables, as does a write of all rules with nftables if there are
//     more than 1,000 ports and no clients of sticky Services to keep: each port changes in one of them, and
//     a new table takes effect as a whole. IPVS has no transactions: what a change adds is complete before
//     packets are sent to it, and what it removes stays until none are.
//   - Only changes are written. If that fails, or another program has removed the rules, and once an hour,
//     all rules are written. If that fails too, the ports that the kernel refuses are found and keep their
//     previous rules: they are named in an event and in Metrics.Refused, and tried again with growing
//     delays. If nothing can be written, the last good rules stay and the write is retried.
//   - Clients of Services with session affinity stay with their endpoint over restarts and full writes.
//   - With ipvs, an endpoint that is removed gets no new connections, and the established ones continue until
//     they end.
//   - The rules of a previous run, killed or not, are replaced by the first write.
//   - It changes only its own rules: tables named kube-proxy with nftables; with iptables, chains that
//     start with KUBE- and the jumps to them; with ipvs, such chains and sets, the device kube-ipvs0, and
//     all virtual servers outside IPVSOptions.ExcludeCIDRs.
//   - When Run ends, they are removed unless Options.KeepRules is set.
//   - UDP flows to an endpoint that no longer serves, and flows to a Service from before its first
//     endpoint, are deleted from connection tracking, so that their next packet follows the rules.
//
// Names of chains and maps, marks and metrics are those of kube-proxy, so that tools that depend on them
// keep working.
package proxy
