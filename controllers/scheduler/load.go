package scheduler

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// Load returns the state of a cluster as the API server has it: nodes, pods, the rooms that are kept for
// nominated pods, and all that volumes, devices and spreading depend on. Ties are broken by the pod's UID, as
// the scheduler does. What a running scheduler has decided and not written yet is not in it; see
// [Scheduler.Simulate] for that. The kinds are read one after the other, at the server's latest state. There
// are no PodGroups in it if the server does not serve them.
func Load(ctx context.Context, conn client.Conn) (*Cluster, error) {
	c := NewCluster(nil)
	c.random = nil
	var pods []*corev1.Pod
	for _, read := range []func(context.Context, client.Conn) error{
		each(c.SetNode),
		each(func(n *corev1.Namespace) { c.SetNamespace(n.Name, n.Labels) }),
		each(func(p *corev1.Pod) { pods = append(pods, p) }),
		each(c.SetBudget),
		objects[*corev1.Service](c), objects[*corev1.ReplicationController](c), objects[*appsv1.ReplicaSet](c), objects[*appsv1.StatefulSet](c),
		objects[*corev1.PersistentVolumeClaim](c), objects[*corev1.PersistentVolume](c), objects[*storagev1.StorageClass](c),
		objects[*storagev1.CSINode](c), objects[*storagev1.CSIDriver](c), objects[*storagev1.CSIStorageCapacity](c), objects[*storagev1.VolumeAttachment](c),
		objects[*resourcev1.ResourceClaim](c), objects[*resourcev1.ResourceSlice](c), objects[*resourcev1.DeviceClass](c),
		c.readPodGroups,
	} {
		if err := read(ctx, conn); err != nil {
			return nil, err
		}
	}
	for _, p := range pods {
		switch {
		case p.Spec.NodeName != "":
			c.SetPod(p)
		case p.Status.NominatedNodeName != "" && !p.HasEnded():
			c.nominations.add(NewPod(p), p.Status.NominatedNodeName, nil)
		}
	}
	return c, nil
}

// readPodGroups reads the PodGroups, which not every server serves.
func (c *Cluster) readPodGroups(ctx context.Context, conn client.Conn) error {
	for g, err := range client.ForResource[*schedulingv1alpha2.PodGroup](conn, podGroups).All(ctx, client.ListOptions{}) {
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("list podgroups: %w", err)
		}
		c.SetObject(g)
	}
	return nil
}

// each returns a function that calls f for all objects of a kind.
func each[T metav1.Object](f func(T)) func(context.Context, client.Conn) error {
	return func(ctx context.Context, conn client.Conn) error {
		of := client.For[T](conn)
		for obj, err := range of.All(ctx, client.ListOptions{}) {
			if err != nil {
				return fmt.Errorf("list %s: %w", of.Resource().GVR.Resource, err)
			}
			f(obj)
		}
		return nil
	}
}

// objects is each for a kind of which the cluster holds the objects as they are.
func objects[T metav1.Object](c *Cluster) func(context.Context, client.Conn) error {
	return each(func(o T) { c.SetObject(o) })
}
