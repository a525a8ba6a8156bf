// Package noderuntime starts a private containerd for a node. It has its own directories, socket, network
// configuration and pause image, and imports images from archives, so it needs no registry and does not
// interfere with other instances.
//
//	if why := noderuntime.Missing(); why != nil { ... }
//	rt, err := noderuntime.Start(ctx, noderuntime.Options{
//		Dir: "/var/lib/keelson/node", PodCIDR: netip.MustParsePrefix("10.244.0.0/24"),
//	})
//	defer rt.Close()
//	k, err := kubelet.New(conn, kubelet.Options{RuntimeEndpoint: rt.Endpoint(), ...})
//
// Close leaves no process, mount or network device behind. The next Start with the same Dir stops the pods of
// a program that was killed, or continues them if [Options.Adopt] is set.
//
// It requires Linux and root; see [Missing]. It uses the network namespace of the calling process.
package noderuntime
