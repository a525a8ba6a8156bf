package scheduler

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// Load returns the state of a cluster as the API server has it: nodes, pods, the rooms that are kept for
// nominated pods, and all that volumes, devices and spreading depend on. Ties are broken by the pod's UID, as
// the scheduler does. What a running scheduler has decided and not written yet is not in it; see
// [Scheduler.Simulate] for that. The kinds are read one after the other, at the server's latest state.
func Load(ctx context.Context, conn client.Conn) (*Cluster, error) {
	c := NewCluster(nil)
	c.random = nil
	object := func(obj metav1.Object) { c.SetObject(obj) }
	var pods []*corev1.Pod
	for _, err := range []error{
		each(ctx, conn, c.SetNode),
		each(ctx, conn, func(n *corev1.Namespace) { c.SetNamespace(n.Name, n.Labels) }),
		each(ctx, conn, func(p *corev1.Pod) { pods = append(pods, p) }),
		each(ctx, conn, c.SetBudget),
		each(ctx, conn, func(o *corev1.Service) { object(o) }),
		each(ctx, conn, func(o *corev1.ReplicationController) { object(o) }),
		each(ctx, conn, func(o *appsv1.ReplicaSet) { object(o) }),
		each(ctx, conn, func(o *appsv1.StatefulSet) { object(o) }),
		each(ctx, conn, func(o *corev1.PersistentVolumeClaim) { object(o) }),
		each(ctx, conn, func(o *corev1.PersistentVolume) { object(o) }),
		each(ctx, conn, func(o *storagev1.StorageClass) { object(o) }),
		each(ctx, conn, func(o *storagev1.CSINode) { object(o) }),
		each(ctx, conn, func(o *storagev1.CSIDriver) { object(o) }),
		each(ctx, conn, func(o *storagev1.CSIStorageCapacity) { object(o) }),
		each(ctx, conn, func(o *storagev1.VolumeAttachment) { object(o) }),
		each(ctx, conn, func(o *resourcev1.ResourceClaim) { object(o) }),
		each(ctx, conn, func(o *resourcev1.ResourceSlice) { object(o) }),
		each(ctx, conn, func(o *resourcev1.DeviceClass) { object(o) }),
	} {
		if err != nil {
			return nil, err
		}
	}
	for _, p := range pods {
		switch {
		case p.Spec.NodeName != "":
			c.SetPod(p)
		case p.Status.NominatedNodeName != "" && !ended(p):
			c.nominations.add(NewPod(p), p.Status.NominatedNodeName, nil)
		}
	}
	return c, nil
}

// each calls f for all objects of a kind.
func each[T metav1.Object](ctx context.Context, conn client.Conn, f func(T)) error {
	of := client.For[T](conn)
	for obj, err := range of.All(ctx, client.ListOptions{}) {
		if err != nil {
			return fmt.Errorf("list %s: %w", of.Resource().GVR.Resource, err)
		}
		f(obj)
	}
	return nil
}
