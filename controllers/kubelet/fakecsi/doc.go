// Package fakecsi is a simulated CSI driver for tests of what runs on a real kubelet: the node's part of a
// driver, with its registration, over gRPC. It checks that the kubelet keeps the order of calls that the
// interface requires, and fails in the ways drivers do: calls that hang, that report success without having
// done anything, whose answers are lost, and restarts.
//
//	d := fakecsi.New("disks.example.com", fakecsi.Options{})
//	dial, wait, err := d.ServeInMemory(ctx, rootDir) // on virtual time; or
//	wait, err := d.Serve(ctx, rootDir)               // with sockets in the kubelet's folders
//
// Volumes need not be made: a test creates PersistentVolumes that name the driver, and, unless the CSIDriver
// object says that volumes are not attached, their VolumeAttachments. With Options.Controller the driver has
// the controller's part too, such as external-provisioner calls it.
package fakecsi
