package proxy

import "time"

// Metrics are hooks that the proxy calls; each may be nil. The comments name the corresponding metrics of
// kube-proxy. Except for Changed and Pending, they are not called concurrently.
type Metrics struct {
	// Changed is called for every change of a Service or EndpointSlice that may change rules
	// (kubeproxy_sync_proxy_rules_{service,endpoint}_changes_total).
	Changed func(resource string)
	// Pending is the number of Services that wait for the next sync because of a change of the Service itself
	// or of one of its EndpointSlices (kubeproxy_sync_proxy_rules_{service,endpoint}_changes_pending).
	Pending func(resource string, n int)
	// Queued is called when a write becomes necessary
	// (kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds).
	Queued func(at time.Time)
	// Synced is called after each write; full reports whether all rules were written
	// (kubeproxy_sync_proxy_rules_duration_seconds,
	// kubeproxy_sync_{full,partial}_proxy_rules_duration_seconds,
	// kubeproxy_sync_proxy_rules_last_timestamp_seconds).
	Synced func(f Family, took time.Duration, full bool)
	// Failed is called when a write fails (kubeproxy_sync_proxy_rules_iptables_restore_failures_total,
	// kubeproxy_sync_proxy_rules_nftables_sync_failures_total).
	Failed func(f Family)
	// PartialFailed is called when a write of changes fails, which one of all rules follows
	// (kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total).
	PartialFailed func(f Family)
	// Refused is the number of ports whose last change the kernel refused; they keep their previous rules.
	Refused func(f Family, n int)
	// Rules is the number of rules in a table (kubeproxy_sync_proxy_rules_iptables_total).
	Rules func(f Family, table string, n int)
	// RulesWritten is the number of rules of a table in the last write
	// (kubeproxy_sync_proxy_rules_iptables_last).
	RulesWritten func(f Family, table string, n int)
	// Programmed reports the time from the change of an endpoint, as annotated in its slice, until it was in
	// the rules (kubeproxy_network_programming_duration_seconds).
	Programmed func(f Family, took time.Duration)
	// NoLocalEndpoints is how many service ports of a family have policy Local and no endpoint here, by
	// "internal" and "external" (kubeproxy_sync_proxy_rules_no_local_endpoints_total).
	NoLocalEndpoints func(f Family, policy string, n int)
	// FlowsDeleted counts the flows deleted from connection tracking
	// (kubeproxy_conntrack_reconciler_deleted_entries_total).
	FlowsDeleted func(f Family, n int)
	// FlowsChecked is called after stale flows were looked for
	// (kubeproxy_conntrack_reconciler_sync_duration_seconds).
	FlowsChecked func(f Family, took time.Duration)
}

func call[A any](f func(A), a A) {
	if f != nil {
		f(a)
	}
}

func call2[A, B any](f func(A, B), a A, b B) {
	if f != nil {
		f(a, b)
	}
}

func call3[A, B, C any](f func(A, B, C), a A, b B, c C) {
	if f != nil {
		f(a, b, c)
	}
}
