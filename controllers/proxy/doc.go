// Package proxy forwards traffic for Services to their endpoints with rules of the Linux kernel, as
// kube-proxy does.
//
//	err := proxy.Add(m, proxy.Options{NodeName: "node-1", ClusterCIDRs: []netip.Prefix{pods}})
//	err = m.Run(ctx)
//
// It has two halves. The first one computes rules without I/O, on any system: [Plan] computes the forwarding
// of each port of a Service on one node ([ServicePort]) from its EndpointSlices, and [Compiler] compiles
// these into a [Ruleset] for nftables or iptables, which is text. The second one writes rules: [Add] watches
// the API with informers and writes changes to the [Kernel], at most once per MinSyncPeriod.
//
// # Guarantees
//
//   - Rules change in one transaction per table, so no packet is processed by half of a change.
//   - Only changes are written. If that fails, or another program has removed the rules, all rules are
//     rewritten. If that fails too, the last good rules stay and the write is retried with growing delays.
//   - The rules of a previous run, killed or not, are replaced by the first write.
//   - It changes only its own rules: tables named kube-proxy with nftables; with iptables, chains that
//     start with KUBE- and the jumps to them.
//   - When Run ends, they are removed unless Options.KeepRules is set.
//   - UDP flows to a removed endpoint, and flows to a Service from before its first endpoint, are deleted
//     from connection tracking, so that their next packet follows the rules.
//
// Names of chains and maps, marks and metrics are those of kube-proxy, so that tools that depend on them keep
// working.
package proxy
