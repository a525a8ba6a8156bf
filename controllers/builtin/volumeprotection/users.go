package volumeprotection

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/internal/podindex"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// patience is how long the copy of pods may take to reach the last change before pods are listed.
const patience = 5 * time.Second

// users are pods that use claims in one of two ways.
type users struct {
	uses    func(*corev1.Pod, *corev1.PersistentVolumeClaim) bool
	pods    informers.Lister[*corev1.Pod]
	byClaim informers.Index[*corev1.Pod]
	api     *client.Client[*corev1.Pod]
	reviews *reviews
}

// usersIn returns the users by the copy of pods of m. claims has, by namespace, those about which a review is
// to decide together.
func usersIn(m *manager.Manager, claims informers.Index[*corev1.PersistentVolumeClaim], uses func(*corev1.Pod, *corev1.PersistentVolumeClaim) bool) users {
	pods, api := informers.For[*corev1.Pod](m.Informers()), client.For[*corev1.Pod](m.Conn())
	return users{uses: uses, pods: pods.Lister(), byClaim: pods.Index(podindex.ByClaim), api: api,
		reviews: &reviews{pods: api, claims: claims, uses: uses, of: map[string]*review{}}}
}

// none reports whether no pod uses a claim. What the copy of pods says of a user is true or will be soon;
// that there is none is true only if the copy is as new as this call.
func (u *users) none(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	if used, err := u.seen(claim); used || err != nil {
		return false, err
	}
	current, err := u.catchUp(ctx, claim.Namespace)
	if err != nil {
		return false, err
	}
	if !current {
		return u.reviews.unused(ctx, claim)
	}
	used, err := u.seen(claim)
	return !used, err
}

// seen reports whether a pod of the copy uses a claim.
func (u *users) seen(claim *corev1.PersistentVolumeClaim) (used bool, err error) {
	err = u.byClaim.View(claim.Key().String(), func(p *corev1.Pod) bool {
		used = u.uses(p, claim)
		return !used
	})
	return used, err
}

// catchUp waits until the copy of pods has every change up to this call, and reports whether it has.
func (u *users) catchUp(ctx context.Context, namespace string) (bool, error) {
	version, ok, err := u.api.LastChange(ctx, namespace)
	if err != nil || !ok {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = u.pods.AtLeast(ctx, version)
	if errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	return err == nil, err
}

// holds reports whether a pod keeps a claim from being deleted. One without a node does not: no kubelet lets
// it begin to use a claim that is being deleted.
func holds(p *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	// The kubelet is done with such a pod; the claims of its ephemeral volumes are to go with it.
	down := p.DeletionTimestamp != nil && p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 0
	return p.Spec.NodeName != "" && has(p, claim, !down)
}

// names reports whether a pod that has not ended names a claim, on a node or not.
func names(p *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	return !ended(p) && has(p, claim, true)
}

// has reports whether a volume of a pod is a claim, or is made for the pod if ephemeral volumes count.
func has(p *corev1.Pod, claim *corev1.PersistentVolumeClaim, ephemeral bool) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		name, own := p.ClaimOf(&v)
		return name == claim.Name && (!own || ephemeral && metav1.IsControlledBy(claim, p.UID))
	})
}

// ended reports whether a pod has ended, or is being deleted and none of its containers runs.
func ended(p *corev1.Pod) bool {
	return p.HasEnded() || p.DeletionTimestamp != nil && !p.Runs()
}
