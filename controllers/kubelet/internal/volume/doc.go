// Package volume brings the volumes of pods that need a driver or a mount of their own to the node, and takes
// them away again, apart from the workers of the pods.
//
// What pods want is in memory ([Manager.Want], [Manager.Drop]). What is there is on the disk: before a driver
// is called, a [Record] of the volume is written, and it is removed after the driver has taken the volume
// down. A kubelet that starts again reads the records, so that whatever was begun before is either continued
// or undone.
//
// Each volume of a pod has a goroutine of its own, and calls for the same volume of the node happen one at a
// time. A driver that hangs therefore costs the pods that use the volume and no others.
package volume
