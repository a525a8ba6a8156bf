package scheduler

import (
	"context"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Plugin takes part in scheduling. It implements those of the interfaces below that it needs, each of one
// method and named as in kube-scheduler's framework. Plugins of decisions, from QueueSort to Unreserve, are
// called by one goroutine for each [Cluster], perhaps of several clusters at a time, and do no I/O;
// PreEnqueue, Permit, PreBind, Bind and PostBind are called concurrently.
type Plugin interface {
	// Name returns the name by which profiles and messages know the plugin.
	Name() string
}

// PreEnqueuePlugin decides whether a pod may be scheduled at all yet. A pod that is refused is gated: it is
// looked at again when it changes, and after the events of [EnqueueExtensions]. If the plugin fails, it is
// called again after the pod's back-off.
type PreEnqueuePlugin interface {
	Plugin
	PreEnqueue(p *Pod) *Status
}

// QueueSortPlugin orders the pods that wait. All profiles must have the same one. It is called with the queue
// locked, and must neither block nor call the scheduler. If it fails, or does not return within
// [Options.DecisionTimeout], the pods are in the order of [PrioritySort] for 30 s.
type QueueSortPlugin interface {
	Plugin
	Less(a, b *QueuedPod) bool
}

// QueuedPod is a pod that waits.
type QueuedPod struct {
	*Pod
	// Since is when the pod came to the queue.
	Since time.Time
	// Attempts is how often it was tried.
	Attempts int
}

// PreFilterPlugin prepares a decision. The NodeFilter it returns is used for the nodes of this decision; nil
// means that every node passes. A status other than Success refuses all nodes.
type PreFilterPlugin interface {
	Plugin
	PreFilter(cy *Cycle) (NodeFilter, *Status)
}

// NodeFilter is what a plugin knows of one decision. It must read what other pods do from the nodes, and not
// keep it: trials remove pods from nodes between two calls.
type NodeFilter interface {
	// Filter returns why the pod cannot be on the node, nil if it can.
	Filter(n *Node) *Status
}

// FilterPlugin refuses nodes. One that needs no preparation implements it instead of PreFilterPlugin. If it
// also implements SignPlugin, its answers are remembered for pods with equal signatures until the node
// changes: it must depend on nothing but the signed part of the pod, and on the node without its pods.
type FilterPlugin interface {
	Plugin
	Filter(p *Pod, n *Node) *Status
}

// SignPlugin appends to a signature what the plugin's filters and scores depend on of a pod, and returns it;
// nil says that the pod cannot be compared with others. Pods with equal signatures get equal answers about a
// node that has the same pods, whatever other nodes have. If all plugins of a profile that filter or score
// sign pods, pods that are the same and follow each other are a batch, see the package's documentation.
type SignPlugin interface {
	Plugin
	Sign(p *Pod, signature []byte) []byte
}

// PostFilterPlugin makes room for a pod that fits on no node. The first that nominates a node is the last to
// be called.
type PostFilterPlugin interface {
	Plugin
	PostFilter(cy *Cycle) (nominated string, victims []*corev1.Pod, st *Status)
}

// PreScorePlugin prepares the scores of a decision. A nil NodeScore leaves the plugin out.
type PreScorePlugin interface {
	Plugin
	PreScore(cy *Cycle, feasible []*Node) (NodeScore, *Status)
}

// NodeScore is what a plugin needs to score the nodes of one decision.
type NodeScore interface {
	Score(n *Node) int64
}

// ScorePlugin ranks feasible nodes, the best with the highest number. One that needs no preparation
// implements it instead of PreScorePlugin. Scores after normalization are from 0 to [MaxNodeScore].
type ScorePlugin interface {
	Plugin
	Score(p *Pod, n *Node) int64
}

// Normalizer brings scores to 0 to [MaxNodeScore]. A plugin or its NodeScore implements it.
type Normalizer interface {
	NormalizeScore(scores []int64)
}

// MaxNodeScore is the highest score of a plugin, before its weight.
const MaxNodeScore = 100

// PlacementGeneratePlugin divides the nodes among which the pods of a group are placed together. A profile
// has at most one; without one, the only placement is all nodes. It returns at least one placement, or says
// why there is none.
type PlacementGeneratePlugin interface {
	Plugin
	GeneratePlacements(g *PodGroup, nodes []*Node) ([]*Placement, *Status)
}

// PlacementScorePlugin ranks those placements where the group has room, the best with the highest number.
// Scores after normalization are from 0 to [MaxNodeScore].
type PlacementScorePlugin interface {
	Plugin
	ScorePlacement(g *PodGroup, p *Placement) int64
}

// PlacementNormalizer brings scores of placements to 0 to [MaxNodeScore].
type PlacementNormalizer interface {
	NormalizePlacementScore(scores []int64)
}

// PodGroupPostFilterPlugin makes room for a group that fits nowhere, see [Options.PodGroupPreemption]. fits
// reports whether the group fits now; it may be called between changes to the cluster, all of which are taken
// back. The victims are ended if the status is Success.
type PodGroupPostFilterPlugin interface {
	Plugin
	PodGroupPostFilter(g *PodGroup, fits func() bool) (victims []*corev1.Pod, st *Status)
}

// ReservePlugin keeps an account of its own. Reserve is called when a pod is placed, before it is bound;
// Unreserve when that placement is taken back, for every Reserve that was called. Neither does I/O. If
// Unreserve does not return within [Options.DecisionTimeout], it is left behind, and called for other
// placements when it has returned.
type ReservePlugin interface {
	Plugin
	Reserve(p *Pod, node string) *Status
	Unreserve(p *Pod, node string)
}

// PermitPlugin allows, refuses, or with the code Wait delays the binding of a placed pod. A delayed pod waits
// for at most the returned time, and is refused then.
type PermitPlugin interface {
	Plugin
	Permit(ctx context.Context, p *Pod, node string) (*Status, time.Duration)
}

// PreBindPlugin does what must be done before a pod is bound.
type PreBindPlugin interface {
	Plugin
	PreBind(ctx context.Context, p *Pod, node string) *Status
}

// PreBindPreFlight reports whether PreBind will do something for a pod that has room on a node. Of a plugin
// without it, it is taken that it will: the pod's status then shows the node before, which costs a request.
// It does no I/O.
type PreBindPreFlight interface {
	PreBindPlugin
	PreBindPreFlight(p *Pod, node string) bool
}

// BindPlugin binds a pod. The first one that does not Skip is the last to be called.
type BindPlugin interface {
	Plugin
	Bind(ctx context.Context, p *Pod, node string) *Status
}

// PostBindPlugin is notified of bound pods.
type PostBindPlugin interface {
	Plugin
	PostBind(ctx context.Context, p *Pod, node string)
}
