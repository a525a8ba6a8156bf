// Package proxytest tests what forwards traffic for Services without a kernel: [Kernel] is one that checks
// what is written to it and refuses what Linux refuses, [Kernel.Send] runs packets through its rules, [World]
// is a random set of Services that says by itself what should become of a packet, and [Run] is the
// conformance suite for implementations of proxy.Backend.
package proxytest
