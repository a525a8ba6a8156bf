//go:build upstream

// Decisions of kube-scheduler's own framework and default plugins, as lines of JSON: what TestDecisionsBeside
// compares with. A line on the standard input is a world: the objects of a cluster and pods to decide about,
// each as if it were the next. The line on the standard output says for each pod and node which plugin
// refuses it, or what each plugin's score is. .ci/peers builds it; the build tag keeps it out of this module.
package main

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"upstream/lines"
)

type world struct {
	Nodes       []*v1.Node
	Placed      []*v1.Pod
	Namespaces  []*v1.Namespace
	Services    []*v1.Service
	ReplicaSets []*appsv1.ReplicaSet
	Claims      []*v1.PersistentVolumeClaim
	Volumes     []*v1.PersistentVolume
	Classes     []*storagev1.StorageClass
	CSINodes    []*storagev1.CSINode
	CSIDrivers  []*storagev1.CSIDriver
	Capacities  []*storagev1.CSIStorageCapacity
	Attachments []*storagev1.VolumeAttachment
	Devices     []*resourcev1.ResourceClaim
	Slices      []*resourcev1.ResourceSlice
	DeviceTypes []*resourcev1.DeviceClass
	Pods        []*v1.Pod
}

type answer struct {
	Code    string
	Plugin  string
	Reasons []string
}

type decision struct {
	// Refused says why the pod fits on no node at all.
	Refused *answer `json:",omitempty"`
	// Only are the nodes that PreFilter leaves, if not all.
	Only  []string          `json:",omitempty"`
	Nodes map[string]answer `json:",omitempty"`
	// Scores are the weighted ones, by node and plugin.
	Scores map[string]map[string]int64 `json:",omitempty"`
	Totals map[string]int64            `json:",omitempty"`
	// Devices are those that the claims of the pod would get, by node and claim.
	Devices map[string]map[string]*resourcev1.AllocationResult `json:",omitempty"`
	Error   string                                             `json:",omitempty"`
}

func main() {
	metrics.Register()
	lines.Answer((*world).decide)
}

func objects[T runtime.Object](all []runtime.Object, list []T) []runtime.Object {
	for _, o := range list {
		all = append(all, o)
	}
	return all
}

func (w *world) decide() ([]decision, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all []runtime.Object
	all = objects(all, w.Nodes)
	all = objects(all, w.Namespaces)
	all = objects(all, w.Services)
	all = objects(all, w.ReplicaSets)
	all = objects(all, w.Claims)
	all = objects(all, w.Volumes)
	all = objects(all, w.Classes)
	all = objects(all, w.CSINodes)
	all = objects(all, w.CSIDrivers)
	all = objects(all, w.Capacities)
	all = objects(all, w.Attachments)
	all = objects(all, w.Devices)
	all = objects(all, w.Slices)
	all = objects(all, w.DeviceTypes)
	client := fake.NewClientset(all...)
	factory := informers.NewSharedInformerFactory(client, 0)
	cfg, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile := cfg.Profiles[0]
	known := assumecache.NewAssumeCache(klog.Background(), factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	published, err := tracker.StartTracker(ctx, tracker.Options{EnableConsumableCapacity: true, SliceInformer: factory.Resource().V1().ResourceSlices(), KubeClient: client})
	if err != nil {
		return nil, err
	}
	manager := dynamicresources.NewDRAManager(ctx, known, published, factory)
	if h, ok := manager.DeviceClassResolver().(toolscache.ResourceEventHandler); ok {
		if _, err := factory.Resource().V1().DeviceClasses().Informer().AddEventHandler(h); err != nil {
			return nil, err
		}
	}
	snapshot := cache.NewSnapshot(w.Placed, w.Nodes)
	f, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), &profile, frameworkruntime.WithClientSet(client), frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(snapshot), frameworkruntime.WithParallelism(1),
		frameworkruntime.WithSharedDRAManager(manager),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Second, ctx.Done())))
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for !w.counted(manager) || !w.resolved(manager) {
		time.Sleep(time.Millisecond) // the events are on the way
	}
	out := make([]decision, len(w.Pods))
	for i, p := range w.Pods {
		out[i] = w.one(ctx, f, snapshot, manager, p)
	}
	return out, nil
}

func said(st *fwk.Status) answer { return answer{st.Code().String(), st.Plugin(), st.Reasons()} }

func (w *world) one(ctx context.Context, f framework.Framework, snapshot *cache.Snapshot, manager fwk.SharedDRAManager, p *v1.Pod) (d decision) {
	state := framework.NewCycleState()
	result, st, _ := f.RunPreFilterPlugins(ctx, state, p)
	if !st.IsSuccess() {
		a := said(st)
		d.Refused = &a
		return d
	}
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		return decision{Error: err.Error()}
	}
	if !result.AllNodes() {
		d.Only = []string{}
		for name := range result.NodeNames {
			d.Only = append(d.Only, name)
		}
	}
	d.Nodes = map[string]answer{}
	var feasible []fwk.NodeInfo
	for _, n := range nodes {
		if d.Only != nil && !result.NodeNames.Has(n.Node().Name) {
			continue
		}
		if st := f.RunFilterPlugins(ctx, state, p, n); st.IsSuccess() {
			feasible = append(feasible, n)
		} else {
			d.Nodes[n.Node().Name] = said(st)
		}
	}
	if len(feasible) == 0 {
		return d
	}
	if st := f.RunPreScorePlugins(ctx, state, p, feasible); !st.IsSuccess() {
		return decision{Error: st.Message()}
	}
	scores, st := f.RunScorePlugins(ctx, state, p, feasible)
	if !st.IsSuccess() {
		return decision{Error: st.Message()}
	}
	d.Scores, d.Totals = map[string]map[string]int64{}, map[string]int64{}
	for _, n := range scores {
		d.Totals[n.Name] = n.TotalScore
		d.Scores[n.Name] = map[string]int64{}
		for _, s := range n.Scores {
			d.Scores[n.Name][s.Name] = s.Score
		}
	}
	if len(p.Spec.ResourceClaims) > 0 {
		d.Devices = map[string]map[string]*resourcev1.AllocationResult{}
		for _, n := range scores {
			if d.Devices[n.Name], err = w.reserve(ctx, f, state, manager, p, n.Name); err != nil {
				return decision{Error: err.Error()}
			}
		}
	}
	return d
}

// reserve returns what the open claims of a pod would get on a node.
func (w *world) reserve(ctx context.Context, f framework.Framework, state fwk.CycleState, manager fwk.SharedDRAManager, p *v1.Pod, node string) (map[string]*resourcev1.AllocationResult, error) {
	defer f.RunReservePluginsUnreserve(ctx, state, p, node)
	if st := f.RunReservePluginsReserve(ctx, state, p, node); !st.IsSuccess() {
		return nil, st.AsError()
	}
	out := map[string]*resourcev1.AllocationResult{}
	for _, c := range w.Devices {
		if a := manager.ResourceClaims().GetPendingAllocation(c.UID); a != nil {
			out[c.Name] = a.DeepCopy()
		}
	}
	return out, nil
}

// counted reports whether all allocated devices are known.
func (w *world) counted(manager fwk.SharedDRAManager) bool {
	n := 0
	for _, c := range w.Devices {
		if c.Status.Allocation != nil {
			n++ // of one device each
		}
	}
	st, err := manager.ResourceClaims().GatherAllocatedState()
	claims, err2 := manager.ResourceClaims().List()
	return err == nil && err2 == nil && len(claims) == len(w.Devices) && len(st.AllocatedDevices)+len(st.AllocatedSharedDeviceIDs) == n
}

// resolved reports whether all classes are known by their extended resource.
func (w *world) resolved(manager fwk.SharedDRAManager) bool {
	return !slices.ContainsFunc(w.DeviceTypes, func(c *resourcev1.DeviceClass) bool {
		return manager.DeviceClassResolver().GetDeviceClass(v1.ResourceName(resourcev1.ResourceDeviceClassPrefix+c.Name)) == nil
	})
}
