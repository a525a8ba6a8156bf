// Package noderuntime starts a private containerd for a node: with folders, socket and network configuration
// of its own, its own pause image and images from archives, so that it needs no registry and disturbs no
// other containerd.
//
//	if why := noderuntime.Missing(); why != nil { ... }
//	rt, err := noderuntime.Start(ctx, noderuntime.Options{Dir: "/var/lib/keelson/node", PodCIDR: netip.MustParsePrefix("10.244.0.0/24")})
//	defer rt.Close()
//	k, err := kubelet.New(conn, kubelet.Options{RuntimeEndpoint: rt.Endpoint(), ...})
//
// Close leaves no process, mount or network device behind. What a killed program left under the same Dir is
// taken over by the next Start, which ends it unless [Options.Adopt] is set.
//
// It works on Linux, as root; elsewhere [Missing] says so. It uses the network namespace of the calling
// process.
package noderuntime
