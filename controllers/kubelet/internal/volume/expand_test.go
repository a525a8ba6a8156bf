package volume

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// expander is the plugin and the host of one volume that grows.
type expander struct {
	Plugin
	Host
	unable bool
	err    error
	calls  []string // the sizes
	seen   []string // events, and states of the claim
}

func (x *expander) Expand(_ context.Context, _ *Spec, _ *Record, _ bool, to resource.Quantity) (bool, error) {
	x.calls = append(x.calls, to.String())
	return !x.unable && x.err == nil, x.err
}

func (x *expander) UpdateClaim(_ context.Context, s *Spec, edit func(*corev1.PersistentVolumeClaimStatus)) error {
	s.Claim = codec.DeepCopy(s.Claim)
	edit(&s.Claim.Status)
	x.seen = append(x.seen, state(s.Claim))
	return nil
}

func state(c *corev1.PersistentVolumeClaim) string {
	size := c.Status.Capacity[corev1.ResourceStorage]
	text := []string{size.String(), string(c.Status.AllocatedResourceStatuses[corev1.ResourceStorage])}
	for _, c := range c.Status.Conditions {
		text = append(text, string(c.Type)+" "+c.Message)
	}
	return strings.TrimSpace(strings.Join(text, " "))
}

func (x *expander) Event(_ *corev1.Pod, _ bool, reason, message string) {
	x.seen = append(x.seen, "pod "+reason+": "+message)
}

func (x *expander) ClaimEvent(_ *corev1.PersistentVolumeClaim, _ bool, reason, message string) {
	x.seen = append(x.seen, "claim "+reason+": "+message)
}

func (*expander) Done(*Record, string, time.Time, error) {}

// growing is a volume of 1Gi whose PersistentVolume has 2Gi, and a claim that says how far that is.
func growing(x *expander, progress corev1.ClaimResourceStatus) (*entry, *Spec) {
	size := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
	}
	s := &Spec{Pod: &corev1.Pod{}, PV: &corev1.PersistentVolume{}, Claim: &corev1.PersistentVolumeClaim{}}
	s.Pod.Spec.NodeName = "n1"
	s.PV.Spec.Capacity = size("2Gi")
	s.Claim.Spec.Resources.Requests = size("2Gi")
	s.Claim.Status.Capacity = size("1Gi")
	if progress != "" {
		s.Claim.Status.AllocatedResources = size("2Gi")
		s.Claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: progress}
		s.Claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
	}
	m := &Manager{opts: Options{Host: x}, log: slog.New(slog.DiscardHandler)}
	return &entry{m: m, plugin: x, unit: &unit{}, volume: &corev1.Volume{Name: "data"}, record: &Record{Name: "pv", Driver: "d"}}, s
}

const (
	pending, inProgress = corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress
	grown               = `FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume "pv" n1`
)

// A claim whose volume has to grow on the node shows how far that is, and both it and the pod have an event.
func TestExpansion(t *testing.T) {
	x := &expander{}
	e, s := growing(x, pending)
	require.NoError(t, e.grow(t.Context(), s, false))
	require.Equal(t, []string{"1Gi NodeResizeInProgress FileSystemResizePending", "pod " + grown, "claim " + grown, "2Gi"}, x.seen)
	require.NoError(t, e.grow(t.Context(), s, false))
	require.NoError(t, e.grow(t.Context(), s, true))
	require.Equal(t, []string{"2Gi"}, x.calls, "once")

	// Another kubelet began.
	x = &expander{}
	e, s = growing(x, inProgress)
	require.NoError(t, e.grow(t.Context(), s, true))
	require.Equal(t, []string{"pod " + grown, "claim " + grown, "2Gi"}, x.seen)

	// The size to give is that of the claim, not yet another one.
	x = &expander{}
	e, s = growing(x, pending)
	s.PV.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("3Gi")}
	require.NoError(t, e.grow(t.Context(), s, true))
	require.Equal(t, []string{"2Gi"}, x.calls)

	// What expands volumes may be older than these fields.
	x = &expander{}
	e, s = growing(x, "")
	require.NoError(t, e.grow(t.Context(), s, false))
	require.Equal(t, []string{"pod " + grown, "claim " + grown, "2Gi"}, x.seen)
}

// It is not always the node's turn.
func TestNoExpansion(t *testing.T) {
	for _, progress := range []corev1.ClaimResourceStatus{corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
		corev1.PersistentVolumeClaimNodeResizeInfeasible} {
		x := &expander{}
		e, s := growing(x, progress)
		require.NoError(t, e.grow(t.Context(), s, true))
		require.NoError(t, e.grow(t.Context(), s, false))
		require.Empty(t, append(x.seen, x.calls...), progress)
	}
	x := &expander{}
	e, s := growing(x, pending)
	s.ReadOnly = true
	require.NoError(t, e.grow(t.Context(), s, true))
	require.NoError(t, e.grow(t.Context(), s, false))
	const readOnly = `FileSystemResizeFailed: MountVolume.NodeExpandVolume failed for volume "pv" requested read-only file system`
	require.Equal(t, []string{"pod " + readOnly, "claim " + readOnly}, x.seen)
	require.Empty(t, x.calls)

	x = &expander{unable: true}
	e, s = growing(x, "")
	require.NoError(t, e.grow(t.Context(), s, false))
	require.NoError(t, e.grow(t.Context(), s, false))
	require.Equal(t, []string{"2Gi"}, x.calls)
	require.Empty(t, x.seen, "an older resizer has no answer for it")
}

// A volume that several nodes write grows on each of them, also after another one has reported it.
func TestExpansionOnFurtherNodes(t *testing.T) {
	for annotation, want := range map[string]int{"": 1, expandedElsewhere: 0} {
		x := &expander{}
		e, s := growing(x, pending)
		e.unit.sizes.now = s.Claim.Status.Capacity[corev1.ResourceStorage]
		s.Claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		s.Claim.Annotations = map[string]string{annotation: ""}
		s.Claim.Status = corev1.PersistentVolumeClaimStatus{Capacity: s.PV.Spec.Capacity, AllocatedResources: s.PV.Spec.Capacity}
		require.NoError(t, e.grow(t.Context(), s, false))
		require.NoError(t, e.grow(t.Context(), s, false))
		require.Len(t, x.calls, want)
		require.Len(t, x.seen, 2*want, "events only")
	}
	x := &expander{}
	e, s := growing(x, pending)
	e.unit.sizes.now = s.Claim.Status.Capacity[corev1.ResourceStorage]
	s.Claim.Status = corev1.PersistentVolumeClaimStatus{Capacity: s.PV.Spec.Capacity, AllocatedResources: s.PV.Spec.Capacity}
	require.NoError(t, e.grow(t.Context(), s, false))
	require.Empty(t, append(x.calls, x.seen...), "it did not need this node")
}

// What the driver answers is in the claim: whether the node may be tried again, and why not.
func TestFailedExpansion(t *testing.T) { synctest.Test(t, testFailedExpansion) }

func testFailedExpansion(t *testing.T) {
	failed := func(text string) string {
		return "FileSystemResizePending  NodeResizeError failed to expand pvc with " + text
	}
	for _, c := range []struct {
		err    error
		unable bool
		wants  string // empty means 2Gi
		last   string // state of the claim after two attempts
		mounts bool   // the pod may use it all the same
		called int
	}{
		{err: status.Error(codes.Unavailable, "x"), last: "1Gi NodeResizeInProgress " + failed("rpc error: code = Unavailable desc = x"), called: 2},
		{err: status.Error(codes.OutOfRange, "x"), last: "1Gi NodeResizeInfeasible " + failed("rpc error: code = OutOfRange desc = x"), called: 1},
		{err: status.Error(codes.Internal, "x"), wants: "1500Mi", last: "1Gi NodeResizeInfeasible " + failed("rpc error: code = Internal desc = x"), called: 2},
		{err: status.Error(codes.FailedPrecondition, "x"), mounts: true, last: "1Gi NodeResizeInProgress " + failed("rpc error: code = FailedPrecondition desc = x"), called: 1},
		{unable: true, last: "1Gi NodeResizeInProgress " + failed("NodeExpand is not supported by the CSI driver d"), called: 2},
	} {
		x := &expander{err: c.err, unable: c.unable}
		e, s := growing(x, pending)
		if c.wants != "" {
			s.Claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(c.wants)}
		}
		require.NoError(t, e.grow(t.Context(), s, false), c.err)
		time.Sleep(time.Second)
		require.NoError(t, e.grow(t.Context(), s, false), c.err)
		require.Equal(t, strings.TrimSpace(c.last), state(s.Claim), c.err)
		require.Len(t, x.calls, c.called, c.err)
		events := 0
		for _, text := range x.seen {
			if strings.HasPrefix(text, `pod VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "pv" : `) {
				events++
			}
		}
		require.Equal(t, c.mounts, events == 0, "%v: %v", c.err, x.seen)

		e, s = growing(x, pending)
		err := e.grow(t.Context(), s, true)
		if c.mounts {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, e.about(err), `MountVolume.Setup failed while expanding volume for volume "pv" : `)
	}

	// A driver that is away has not failed.
	x := &expander{err: Waiting(context.DeadlineExceeded)}
	e, s := growing(x, inProgress)
	require.ErrorIs(t, e.grow(t.Context(), s, false), context.DeadlineExceeded)
	require.Empty(t, x.seen)

	// The first failure stays until the volume has grown.
	x = &expander{err: status.Error(codes.Internal, "first")}
	e, s = growing(x, inProgress)
	require.NoError(t, e.grow(t.Context(), s, false))
	at := s.Claim.Status.Conditions[1].LastTransitionTime
	require.NotEqual(t, metav1.Time{}, at)
	x.err = status.Error(codes.Internal, "second")
	time.Sleep(time.Second)
	require.NoError(t, e.grow(t.Context(), s, false))
	require.Contains(t, s.Claim.Status.Conditions[1].Message, "first")
	x.err = nil
	require.NoError(t, e.grow(t.Context(), s, false))
	require.Contains(t, s.Claim.Status.Conditions[1].Message, "first", "it is too soon")
	time.Sleep(2 * time.Second)
	require.NoError(t, e.grow(t.Context(), s, false))
	require.Equal(t, "2Gi", state(s.Claim))
	require.Zero(t, e.unit.sizes.failures)
	require.Zero(t, e.unit.sizes.again)
}

// The pods of a volume share its delays, and one that comes does not wait for them.
func TestExpansionIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &expander{err: status.Error(codes.Internal, "x")}
		e, s := growing(x, inProgress)
		e.m.opts.Interval = time.Hour
		e.rest(t.Context())
		other := newEntry(e.m, s.Pod, e.volume)
		other.plugin, other.unit, other.record, other.due = e.plugin, &unit{turn: make(chan struct{}, 1)}, e.record, e.due
		e.unit = other.unit
		for _, wait := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second} {
			calls := len(x.calls)
			require.NoError(t, e.care(t.Context(), s))
			require.NoError(t, other.care(t.Context(), s))
			require.Len(t, x.calls, calls+1)
			require.Equal(t, e.grows, other.grows)
			require.InDelta(t, 1.05*wait.Seconds(), time.Until(e.grows).Seconds(), 0.05*wait.Seconds())
			time.Sleep(time.Until(e.grows))
		}
		require.NoError(t, e.care(t.Context(), s))
		x.err = nil
		require.NoError(t, e.grow(t.Context(), s, true))
		require.NoError(t, e.care(t.Context(), s))
		require.True(t, e.grows.IsZero())
		require.Len(t, x.calls, 6)
	})
}
