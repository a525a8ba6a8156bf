//go:build upstream

// Decisions of kube-scheduler's own framework and default plugins, as lines of JSON: what TestDecisionsBeside
// compares with. A line on the standard input is a world: the objects of a cluster and pods to decide about,
// each as if it were the next. The line on the standard output says for each pod and node which plugin
// refuses it, or what each plugin's score is. .ci/peers builds it; the build tag keeps it out of this module.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
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
	Error  string                      `json:",omitempty"`
}

func main() {
	metrics.Register()
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 256<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var w world
		if err := json.Unmarshal(in.Bytes(), &w); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		decisions, err := w.decide()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := out.Encode(decisions); err != nil {
			os.Exit(1)
		}
	}
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
	client := fake.NewClientset(all...)
	factory := informers.NewSharedInformerFactory(client, 0)
	cfg, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile := cfg.Profiles[0]
	profile.Plugins.MultiPoint.Enabled = slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled, func(p config.Plugin) bool { return p.Name == "DynamicResources" })
	snapshot := cache.NewSnapshot(w.Placed, w.Nodes)
	f, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), &profile, frameworkruntime.WithClientSet(client), frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(snapshot), frameworkruntime.WithParallelism(1),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Second, ctx.Done())))
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	out := make([]decision, len(w.Pods))
	for i, p := range w.Pods {
		out[i] = w.one(ctx, f, snapshot, p)
	}
	return out, nil
}

func said(st *fwk.Status) answer { return answer{st.Code().String(), st.Plugin(), st.Reasons()} }

func (w *world) one(ctx context.Context, f framework.Framework, snapshot *cache.Snapshot, p *v1.Pod) (d decision) {
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
	return d
}
