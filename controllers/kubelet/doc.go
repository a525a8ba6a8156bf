// Package kubelet runs the pods of one node through a container runtime that speaks CRI v1.
//
//	k, err := kubelet.New(conn, kubelet.Options{NodeName: "node1", RuntimeEndpoint: "unix:///run/containerd/containerd.sock"})
//	err = k.Run(ctx)
//
// It registers the node and maintains its status and Lease, runs the pods bound to the node and those in the
// static pod directory, and serves logs, exec, attach and port forwarding to the API server.
//
// It guarantees:
//
//   - Each pod has one worker, which does one thing at a time: set up, keep running, terminate, clean up. The
//     worker decides from the pod's spec and from what the runtime reports, never from memory alone, so a
//     restarted kubelet continues running pods without restarting their containers.
//   - A pod object is deleted (grace period 0, with its UID as precondition) only after all its containers
//     have stopped.
//   - The phase of a pod that has ended never changes again.
//   - When Run has returned no goroutine is left. Containers keep running; [Options.StopPods] ends them.
//   - Volumes with the content of API objects are updated atomically: readers see all files of one version.
//
// It works on Linux. On other systems it compiles, and volumes that need mounts are plain folders.
package kubelet
