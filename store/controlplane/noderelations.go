package controlplane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
)

// nodeRelations keeps the graph by which the authorizer Node decides.
type nodeRelations struct {
	access registry.Access
	log    *slog.Logger
	graph  authz.NodeGraph
	// missing is how many of relatedResources are not loaded yet.
	missing atomic.Int32
}

// relatedResources are the resources that the graph is made of, with an object of their types.
var relatedResources = []struct {
	resource schema.GroupVersionResource
	kind     metav1.Object
}{
	{podsResource, &corev1.Pod{}},
	{corev1.GroupVersion.WithResource("persistentvolumes"), &corev1.PersistentVolume{}},
	{storagev1.GroupVersion.WithResource("volumeattachments"), &storagev1.VolumeAttachment{}},
	{resourcev1.GroupVersion.WithResource("resourceslices"), &resourcev1.ResourceSlice{}},
	{certificatesv1beta1.GroupVersion.WithResource("podcertificaterequests"), &certificatesv1beta1.PodCertificateRequest{}},
}

func newNodeRelations(access registry.Access, changed func(string, time.Duration), log *slog.Logger) *nodeRelations {
	n := &nodeRelations{access: access, log: log}
	n.graph.Changed = changed
	n.missing.Store(int32(len(relatedResources)))
	return n
}

// loaded reports whether all that is stored is in the graph.
func (n *nodeRelations) loaded() bool { return n.missing.Load() == 0 }

// ready is the health check.
func (n *nodeRelations) ready(context.Context) error {
	if !n.loaded() {
		return errors.New("the relationships between nodes and objects are not loaded yet")
	}
	return nil
}

// run follows the resources that r serves until ctx ends.
func (n *nodeRelations) run(ctx context.Context, r *registry.Registry) {
	var wg sync.WaitGroup
	for _, of := range relatedResources {
		if r.Resource(of.resource) == nil {
			n.missing.Add(-1)
			continue
		}
		wg.Go(func() { n.follow(ctx, of.resource, of.kind) })
	}
	wg.Wait()
}

func (n *nodeRelations) follow(ctx context.Context, resource schema.GroupVersionResource, kind metav1.Object) {
	first := true
	n.graph.Begin(kind)
	err := n.access.Watch(ctx, resource, "", func(e registry.Event) error {
		switch {
		case e.Expired:
			n.graph.Begin(kind)
		case e.InitialEnd:
			n.graph.End(kind)
			if first {
				first = false
				n.missing.Add(-1)
			}
		case e.Type == cache.Deleted:
			n.graph.Delete(e.Object)
		default:
			n.graph.Set(e.Object)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, cache.ErrStopped) { // the server has ended
		n.log.Error("watch of what nodes need failed", "resource", resource.Resource, "err", err)
	}
}
