package devicetainteviction

import (
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/internal/podclaims"
)

// eviction is when a pod is to be evicted, and because of which rules. Other reasons are taints that drivers
// published. The zero value is none.
type eviction struct {
	at    time.Time
	rules []*rule
}

// is reports whether there is an eviction.
func (e *eviction) is() bool { return !e.at.IsZero() }

// add adds what a taint causes, of a rule or, if that is nil, published by a driver.
func (e *eviction) add(at time.Time, by *rule) {
	if !e.is() || at.Before(e.at) {
		e.at = at
	}
	if by != nil && !slices.Contains(e.rules, by) {
		e.rules = append(e.rules, by)
	}
}

// evictionBy adds to e what the taints of the devices of an allocated claim cause. Taints published by
// drivers are those that published returns for a device; the taints of rules have the effect NoExecute.
func evictionBy(e *eviction, claim *resourcev1.ResourceClaim, published func(*device) ([]resourcev1.DeviceTaint, error), rules []*rule) error {
	for i := range claim.Status.Allocation.Devices.Results {
		d := &claim.Status.Allocation.Devices.Results[i]
		taints, err := published(d)
		if err != nil {
			return err
		}
		for j := range taints {
			if at, evicts := tolerated(d.Tolerations, &taints[j]); evicts {
				e.add(at, nil)
			}
		}
		for _, r := range rules {
			if !r.Spec.DeviceSelector.Matches(d.Driver, d.Pool, d.Device) {
				continue
			}
			if at, evicts := tolerated(d.Tolerations, &r.Spec.Taint); evicts {
				e.add(at, r)
			}
		}
	}
	return nil
}

// tolerated returns until when a taint is tolerated; ends is false if it is forever, or if the taint does not
// evict.
func tolerated(tolerations []resourcev1.DeviceToleration, taint *resourcev1.DeviceTaint) (until time.Time, ends bool) {
	if taint.Effect != resourcev1.DeviceTaintEffectNoExecute {
		return time.Time{}, false
	}
	if taint.TimeAdded != nil {
		until = taint.TimeAdded.Time
	}
	limited, seconds := false, int64(0)
	for i := range tolerations {
		t := &tolerations[i]
		if !t.Tolerates(taint) {
			continue
		}
		if t.TolerationSeconds == nil {
			return time.Time{}, false
		}
		if s := max(*t.TolerationSeconds, 0); !limited || s < seconds {
			limited, seconds = true, s
		}
	}
	if until.IsZero() {
		until = time.Unix(0, 0) // servers date taints; one without a date counts as very old
	}
	return until.Add(time.Duration(seconds) * time.Second), true
}

// publishedTaints returns the taints of a device in the slices of its pool.
func publishedTaints(all []*resourcev1.ResourceSlice, name string) []resourcev1.DeviceTaint {
	for _, s := range newestOf(all) {
		for i := range s.Spec.Devices {
			if s.Spec.Devices[i].Name == name {
				return s.Spec.Devices[i].Taints
			}
		}
	}
	return nil
}

// newestOf returns those of the slices of a pool that have the highest generation: only these count.
func newestOf(all []*resourcev1.ResourceSlice) (newest []*resourcev1.ResourceSlice) {
	for _, s := range all {
		switch {
		case len(newest) == 0 || s.Spec.Pool.Generation > newest[0].Spec.Pool.Generation:
			newest = []*resourcev1.ResourceSlice{s}
		case s.Spec.Pool.Generation == newest[0].Spec.Pool.Generation:
			newest = append(newest, s)
		}
	}
	return newest
}

// inUse reports whether a pod that is on a node uses a claim: it is allocated, reserved for the pod and, if
// it was made for a pod, for this one.
func inUse(pod *corev1.Pod, claim *resourcev1.ResourceClaim) bool {
	if claim.Status.Allocation == nil || !podclaims.Reserved(claim, pod) {
		return false
	}
	for i := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[i]
		if name, _ := podclaims.Name(pod, entry); name == claim.Name && entry.ResourceClaimTemplateName != nil {
			return metav1.IsControlledBy(claim, pod.UID)
		}
	}
	return true
}

// evictable reports whether a pod is to be looked at: it is on a node and has neither ended nor been deleted.
func evictable(p *corev1.Pod) bool {
	return p.Spec.NodeName != "" && p.DeletionTimestamp == nil && !p.HasEnded()
}
