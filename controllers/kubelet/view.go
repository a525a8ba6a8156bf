package kubelet

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Labels and annotations by which what the runtime holds is recognised.
const (
	labelPodName       = "io.kubernetes.pod.name"
	labelPodNamespace  = "io.kubernetes.pod.namespace"
	labelPodUID        = "io.kubernetes.pod.uid"
	labelContainerName = "io.kubernetes.container.name"

	annotationHash          = "io.kubernetes.container.hash"
	annotationRestarts      = "io.kubernetes.container.restartCount"
	annotationMessagePath   = "io.kubernetes.container.terminationMessagePath"
	annotationMessagePolicy = "io.kubernetes.container.terminationMessagePolicy"
	annotationGrace         = "io.kubernetes.pod.terminationGracePeriod"
)

// sandbox is a pod sandbox as the runtime reports it.
type sandbox struct {
	id      string
	attempt uint32
	ready   bool
	created time.Time
	ips     []string
}

// container is one run of a container as the runtime reports it.
type container struct {
	id, name  string
	sandboxID string
	restarts  int32
	state     cri.ContainerState
	created   time.Time
	started   time.Time
	finished  time.Time
	exitCode  int32
	reason    string
	message   string
	image     string
	imageID   string
	hash      string
	logPath   string
	status    *cri.ContainerStatus
}

func (c *container) running() bool {
	return c != nil && c.state == cri.ContainerState_CONTAINER_RUNNING
}
func (c *container) exited() bool { return c != nil && c.state == cri.ContainerState_CONTAINER_EXITED }

// unstarted reports a container that has never been started, because its start failed or its creator ended
// before.
func (c *container) unstarted() bool {
	return c != nil && c.state == cri.ContainerState_CONTAINER_CREATED
}

// lost reports that the runtime does not know whether the container has a process.
func (c *container) lost() bool { return c != nil && c.state == cri.ContainerState_CONTAINER_UNKNOWN }

// view is all the runtime holds of one pod, the newest first. It is shared and must not be changed.
type view struct {
	uid        types.UID
	namespace  string
	name       string
	sandboxes  []sandbox
	containers []*container
}

// empty reports whether the runtime holds nothing of the pod.
func (v *view) empty() bool { return len(v.containers) == 0 && len(v.sandboxes) == 0 }

// current is the sandbox the pod runs in; nil without one that is ready.
func (v *view) current() *sandbox {
	if len(v.sandboxes) > 0 && v.sandboxes[0].ready {
		return &v.sandboxes[0]
	}
	return nil
}

// runs are the runs of one container, the newest first.
func (v *view) runs(name string) []*container {
	var list []*container
	for _, c := range v.containers {
		if c.name == name {
			list = append(list, c)
		}
	}
	return list
}

// latest is the newest run of a container; nil if there is none.
func (v *view) latest(name string) *container {
	for _, c := range v.containers {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (v *view) running() []*container { return v.all((*container).running) }

// alive are the containers that have a process or may have one.
func (v *view) alive() []*container {
	return v.all(func(c *container) bool { return c.running() || c.lost() })
}

func (v *view) all(is func(*container) bool) []*container {
	var list []*container
	for _, c := range v.containers {
		if is(c) {
			list = append(list, c)
		}
	}
	return list
}

// unsettled reports whether some run of a container neither runs nor has ended, so that no other may be
// started.
func (v *view) unsettled(name string) bool {
	return slices.ContainsFunc(v.containers, func(c *container) bool { return c.name == name && (c.unstarted() || c.lost()) })
}

// found is what lists have of one pod.
type found struct {
	boxes      []*cri.PodSandbox
	containers []*cri.Container
}

// shows reports whether a view has the sandboxes and containers of a list, in the same states.
func (v *view) shows(f *found) bool {
	if v == nil || len(v.sandboxes) != len(f.boxes) || len(v.containers) != len(f.containers) {
		return false
	}
	for _, b := range f.boxes {
		ready := b.State == cri.PodSandboxState_SANDBOX_READY
		if !slices.ContainsFunc(v.sandboxes, func(s sandbox) bool { return s.id == b.Id && s.ready == ready }) {
			return false
		}
	}
	for _, c := range f.containers {
		if have := v.container(c.Id); have == nil || have.state != c.State {
			return false
		}
	}
	return true
}

// growsTo reports whether later has the sandboxes of v, and no containers but those of all.
func (v *view) growsTo(later, all *view) bool {
	if later == v {
		return true
	}
	if later == nil || !slices.EqualFunc(later.sandboxes, v.sandboxes, func(a, b sandbox) bool { return a.id == b.id && a.ready == b.ready }) {
		return false
	}
	return !slices.ContainsFunc(later.containers, func(c *container) bool { return all.container(c.id) == nil })
}

// find lists what the runtime has of one pod.
func (r *runtime) find(ctx context.Context, uid types.UID) (*found, error) {
	selector := map[string]string{labelPodUID: string(uid)}
	boxes, err := r.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{LabelSelector: selector}})
	if err != nil {
		return nil, err
	}
	list, err := r.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{LabelSelector: selector}})
	if err != nil {
		return nil, err
	}
	return &found{boxes.Items, list.Containers}, nil
}

// view looks at what was listed of a pod. What before, if not nil, has of containers that have ended is taken
// from there: it does not change any more.
func (r *runtime) view(ctx context.Context, uid types.UID, f *found, before *view) (*view, error) {
	v := &view{uid: uid}
	for _, b := range f.boxes {
		s := sandbox{id: b.Id, attempt: b.GetMetadata().GetAttempt(), created: time.Unix(0, b.CreatedAt)}
		labels := b.Labels
		if b.State == cri.PodSandboxState_SANDBOX_READY {
			resp, err := r.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: b.Id})
			if isGone(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if st := resp.GetStatus(); st != nil {
				s, labels = boxOf(st), st.Labels
			}
		}
		v.namespace, v.name = labels[labelPodNamespace], labels[labelPodName]
		v.sandboxes = append(v.sandboxes, s)
	}
	for _, c := range f.containers {
		if old := before.container(c.Id); old.exited() && c.State == cri.ContainerState_CONTAINER_EXITED {
			v.containers = append(v.containers, old)
			continue
		}
		st, err := r.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: c.Id})
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		v.containers = append(v.containers, containerOf(c.PodSandboxId, st.Status))
	}
	v.sort()
	return v, nil
}

// boxOf is a sandbox by its status.
func boxOf(st *cri.PodSandboxStatus) sandbox {
	s := sandbox{id: st.Id, attempt: st.GetMetadata().GetAttempt(), created: time.Unix(0, st.CreatedAt), ready: st.State == cri.PodSandboxState_SANDBOX_READY}
	if n := st.GetNetwork(); s.ready && n.GetIp() != "" {
		s.ips = append(s.ips, n.Ip)
		for _, more := range n.AdditionalIps {
			s.ips = append(s.ips, more.Ip)
		}
	}
	return s
}

// sort puts the newest first.
func (v *view) sort() {
	slices.SortStableFunc(v.sandboxes, func(a, b sandbox) int {
		return cmp.Or(cmp.Compare(b.attempt, a.attempt), b.created.Compare(a.created))
	})
	slices.SortStableFunc(v.containers, func(a, b *container) int {
		return cmp.Or(cmp.Compare(b.restarts, a.restarts), b.created.Compare(a.created))
	})
}

// container returns a container by its id; nil if there is none.
func (v *view) container(id string) *container {
	if v == nil {
		return nil
	}
	for _, c := range v.containers {
		if c.id == id {
			return c
		}
	}
	return nil
}

func containerOf(box string, st *cri.ContainerStatus) *container {
	at := func(nanos int64) time.Time {
		if nanos <= 0 {
			return time.Time{}
		}
		return time.Unix(0, nanos)
	}
	out := &container{
		id: st.Id, name: st.Labels[labelContainerName], sandboxID: box, state: st.State,
		created: at(st.CreatedAt), started: at(st.StartedAt), finished: at(st.FinishedAt),
		exitCode: st.ExitCode, reason: st.Reason, message: st.Message, image: st.GetImage().GetImage(), imageID: st.ImageRef,
		hash: st.Annotations[annotationHash], logPath: st.LogPath, status: st,
	}
	if out.name == "" {
		out.name = st.GetMetadata().GetName()
	}
	if n, err := strconv.ParseInt(st.Annotations[annotationRestarts], 10, 32); err == nil {
		out.restarts = int32(n)
	} else {
		out.restarts = int32(st.GetMetadata().GetAttempt())
	}
	if out.finished.IsZero() && out.exited() {
		out.finished = out.created
	}
	return out
}

// isGone reports that the runtime does not know an id, because it was removed meanwhile.
func isGone(err error) bool { return status.Code(err) == codes.NotFound }
