package volume

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// sizes are what is known of the expansion of a volume on this node. Who has the turn may use them.
type sizes struct {
	// now is the size that the volume has here; zero before that is known.
	now resource.Quantity
	// inUse is true after the driver has refused to let the volume grow while pods use it, failed after any
	// error of the driver.
	inUse, failed bool
	// failures is how often the volume could not grow while pods had it since it last did, and again when
	// that is to be tried next; zero if it need not be.
	failures int
	again    time.Time
}

// expandedElsewhere is the annotation of a claim whose volume grows without its nodes.
const expandedElsewhere = "volume.kubernetes.io/node-expansion-not-required"

// grow lets the volume use what its PersistentVolume has got, and the claim show it. mounting is true while
// the volume is made for the pod, which has to wait for it then; otherwise a failure leaves the volume as
// good as before, and is an event. The turn is held.
func (e *entry) grow(ctx context.Context, s *Spec, mounting bool) error {
	if s.PV == nil || s.Claim == nil {
		return nil
	}
	to, claimed := s.PV.Spec.Capacity[corev1.ResourceStorage], s.Claim.Status.Capacity[corev1.ResourceStorage]
	known := &e.unit.sizes
	if known.now.IsZero() {
		known.now = claimed
	}
	has := known.now
	if mounting {
		has = claimed
	}
	if has.IsZero() || has.Cmp(to) >= 0 || !mounting && (known.inUse || time.Now().Before(known.again)) {
		return nil
	}
	if s.ReadOnly {
		if mounting && e.record.Driver != "" {
			e.both(s, false, "FileSystemResizeFailed", "MountVolume.NodeExpandVolume failed for volume %q requested read-only file system", e.record.Name)
		}
		return nil
	}
	x := &expansion{entry: e, s: s, to: to, progress: s.Claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]}
	x.legacy = x.progress == "" && s.Claim.Status.AllocatedResources == nil
	if q, ok := s.Claim.Status.AllocatedResources[corev1.ResourceStorage]; ok {
		x.to = q
	}
	x.shown = claimed.Cmp(x.to) >= 0 && x.progress == ""
	err := x.run(ctx)
	switch {
	case err == nil:
		known.failures, known.again = 0, time.Time{}
		return nil
	case ctx.Err() != nil || errors.As(err, new(blocked)):
		return err
	case mounting:
		return unexpanded{e.record, err}
	}
	known.failures++
	known.again = time.Now().Add(retry.Delay(ctx, known.failures))
	e.m.opts.Host.Event(s.Pod, false, "VolumeResizeFailed", fmt.Sprintf("NodeExpandVolume.NodeExpandVolume failed for volume %q : %v", e.record.Name, err))
	return nil
}

// unexpanded is why a volume that has been made for a pod cannot be used by it yet.
type unexpanded struct {
	record *Record
	error
}

func (u unexpanded) Error() string {
	op := "MountVolume.Setup"
	if u.record.Device {
		op = "MapVolume.MarkVolumeAsMounted"
	}
	return fmt.Sprintf("%s failed while expanding volume for volume %q : %v", op, u.record.Name, u.error)
}

func (u unexpanded) Unwrap() error { return u.error }

// both makes an event of the pod and one of the claim.
func (e *entry) both(s *Spec, normal bool, reason, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	e.m.opts.Host.Event(s.Pod, normal, reason, text)
	e.m.opts.Host.ClaimEvent(s.Claim, normal, reason, text)
}

// expansion is one attempt to let a volume grow.
type expansion struct {
	*entry
	s        *Spec
	to       resource.Quantity
	progress corev1.ClaimResourceStatus // of the claim; empty if it has none
	// legacy is true if who expands the volume does not say how far that is. shown is true if the claim shows
	// the size already, because another node has reported it.
	legacy, shown bool
}

// run lets the volume grow if it is the turn of its nodes.
func (x *expansion) run(ctx context.Context) error {
	switch claim := x.s.Claim; {
	case x.legacy:
	case x.shown:
		if _, not := claim.Annotations[expandedElsewhere]; not || !slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany) {
			x.unit.sizes.now = x.to
			return nil
		}
	case x.progress != corev1.PersistentVolumeClaimNodeResizePending && x.progress != corev1.PersistentVolumeClaimNodeResizeInProgress:
		return nil
	default:
		if err := x.show(ctx, corev1.PersistentVolumeClaimNodeResizeInProgress, nil); err != nil {
			return err
		}
	}
	began := time.Now()
	did, err := x.plugin.Expand(ctx, x.s, x.record, x.staged, x.to)
	if did || err != nil {
		x.done(ctx, "volume_fs_resize", began, err)
	}
	switch {
	case err != nil:
		return x.fail(ctx, err)
	case !did && !x.legacy && !x.shown:
		return x.fail(ctx, fmt.Errorf("NodeExpand is not supported by the CSI driver %s", x.record.Driver))
	case !did:
		x.unit.sizes.now = x.to
		return nil
	}
	return x.succeed(ctx)
}

// succeed notes in the claim that the volume has grown.
func (x *expansion) succeed(ctx context.Context) error {
	x.both(x.s, true, "FileSystemResizeSuccessful", "MountVolume.NodeExpandVolume succeeded for volume %q %s", x.record.Name, x.s.Pod.Spec.NodeName)
	if has := x.s.Claim.Status.Capacity[corev1.ResourceStorage]; has.Cmp(x.to) < 0 || x.progress != "" {
		err := x.m.opts.Host.UpdateClaim(ctx, x.s, func(st *corev1.PersistentVolumeClaimStatus) {
			st.Capacity[corev1.ResourceStorage] = x.to
			if delete(st.AllocatedResourceStatuses, corev1.ResourceStorage); len(st.AllocatedResourceStatuses) == 0 {
				st.AllocatedResourceStatuses = nil
			}
			st.Conditions = slices.DeleteFunc(st.Conditions, isExpansion)
		})
		if err != nil {
			return fmt.Errorf("mountVolume.NodeExpandVolume update pvc status failed: %w", err)
		}
	}
	x.unit.sizes.now = x.to
	return nil
}

// fail notes in the claim that the driver has failed, and returns the error unless the volume is to stay as
// it is while pods use it.
func (x *expansion) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.As(err, new(blocked)) {
		return err
	}
	known, code := &x.unit.sizes, status.Code(err)
	if !x.legacy {
		wanted := x.s.Claim.Spec.Resources.Requests[corev1.ResourceStorage]
		progress := x.s.Claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
		switch {
		case code == codes.InvalidArgument, code == codes.OutOfRange, code == codes.NotFound,
			known.failed && wanted.Cmp(x.to) != 0: // so that the size that is wanted now is tried
			progress = corev1.PersistentVolumeClaimNodeResizeInfeasible
		}
		known.failed = true
		if unshown := x.show(ctx, progress, err); unshown != nil {
			x.m.log.Info("the failure of an expansion is not noted", "volume", x.record.Name, "err", unshown)
		}
	}
	if code == codes.FailedPrecondition {
		known.inUse = true
		x.m.log.Warn("volume does not grow while it is used", "volume", x.record.Name, "err", err)
		return nil
	}
	return err
}

// show notes in the claim how far the expansion is, and why it fails unless failure is nil. An earlier
// failure stays.
func (x *expansion) show(ctx context.Context, progress corev1.ClaimResourceStatus, failure error) error {
	st := &x.s.Claim.Status
	failed := slices.ContainsFunc(st.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == corev1.PersistentVolumeClaimNodeResizeError && c.Status == corev1.ConditionTrue
	})
	if st.AllocatedResourceStatuses[corev1.ResourceStorage] == progress && (failure == nil || failed) {
		return nil
	}
	return x.m.opts.Host.UpdateClaim(ctx, x.s, func(st *corev1.PersistentVolumeClaimStatus) {
		if progress != "" {
			if st.AllocatedResourceStatuses == nil {
				st.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{}
			}
			st.AllocatedResourceStatuses[corev1.ResourceStorage] = progress
		}
		if failure == nil || failed {
			return
		}
		st.Conditions = slices.DeleteFunc(st.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
			return c.Type == corev1.PersistentVolumeClaimNodeResizeError
		})
		st.Conditions = append(st.Conditions, corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimNodeResizeError, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.Now(), Message: fmt.Sprintf("failed to expand pvc with %v", failure)})
	})
}

// isExpansion reports whether a condition is one of expansions.
func isExpansion(c corev1.PersistentVolumeClaimCondition) bool {
	switch c.Type {
	case corev1.PersistentVolumeClaimResizing, corev1.PersistentVolumeClaimFileSystemResizePending,
		corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError:
		return true
	}
	return false
}
