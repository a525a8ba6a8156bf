// Package proxy carries traffic for Services to their endpoints with rules of the Linux kernel, as kube-proxy
// does.
//
//	err := proxy.Add(m, proxy.Options{NodeName: "node-1", ClusterCIDRs: []netip.Prefix{pods}})
//	err = m.Run(ctx)
//
// It has two halves. The first computes and does no I/O: [Plan] turns a Service and its EndpointSlices into
// what each port of it means on one node ([ServicePort]), and [Compiler] turns all of those into a [Ruleset]
// for nftables or iptables, which is text. It builds and runs on every system. The second writes: [Add]
// follows the API with informers, and whenever something has changed writes the difference to the [Kernel],
// at most every MinSyncPeriod.
//
// # What the proxy promises
//
//   - Rules change in one transaction per table: no packet meets half of a change.
//   - Only what has changed is written. If that fails, or somebody has removed the rules, everything is
//     written anew; if that fails too the last good rules stay and it is tried again with growing delays.
//   - What an earlier run left behind, killed or not, is replaced by the first write.
//   - It touches only what is its own: tables named kube-proxy with nftables; with iptables, chains that
//     start with KUBE- and the jumps to them.
//   - When Run ends with Options.KeepRules unset, all of it is gone.
//   - UDP flows that still lead to an endpoint that has gone, or around a Service that has got its first one,
//     are forgotten by connection tracking, so that their next packet follows the rules.
//
// Chain and map names, marks and metrics are those of kube-proxy, so that tools which look at them keep
// working.
package proxy
