package volumeprotection

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers"
)

// reviewAge is how long after its end the answers of a review hold. A pod that gets a node later must not
// begin to use a claim that is being deleted; the scheduler and the kubelet see to that, from copies that may
// be old for a moment.
const reviewAge = time.Second

// reviews find by the server's list of pods whether claims are used, because the copy of pods may be older
// than the deletion of a claim. One list answers for all claims that the index had for its namespace when it
// began, so that the deletion of many claims needs few lists.
type reviews struct {
	pods   *client.Client[*corev1.Pod]
	claims informers.Index[*corev1.PersistentVolumeClaim]
	uses   func(*corev1.Pod, *corev1.PersistentVolumeClaim) bool

	mu    sync.Mutex
	of    map[string]*review // by namespace
	count int                // of reviews begun
}

// review is one list of the pods of a namespace.
type review struct {
	number int // in the order in which they begin
	// claims are those it answers for, by name, until the answer is taken. Guarded by the lock of reviews.
	claims map[string]*corev1.PersistentVolumeClaim
	// done is closed at the end; what follows is set before and then constant.
	done  chan struct{}
	used  map[types.UID]bool
	ended time.Time
	err   error
}

// byDeletion files claims that are being deleted under their namespaces.
var byDeletion = informers.DefineIndex("volumeprotection.deleting", func(c *corev1.PersistentVolumeClaim) []string {
	if c.DeletionTimestamp == nil {
		return nil
	}
	return []string{c.Namespace}
})

// byDoubt files claims that are not being deleted and not known to be unused under their namespaces.
var byDoubt = informers.DefineIndex("volumeprotection.doubt", func(c *corev1.PersistentVolumeClaim) []string {
	if i := indexOfUnused(c); c.DeletionTimestamp != nil || i >= 0 && c.Status.Conditions[i].Status == corev1.ConditionTrue {
		return nil
	}
	return []string{c.Namespace}
})

// unused reports whether no pod uses a claim. That a pod uses it is the answer of a list only that began
// after this call: it may be called because that pod has just gone.
func (r *reviews) unused(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	r.mu.Lock()
	since := r.count
	r.mu.Unlock()
	for {
		rev, begun, err := r.next(claim)
		if err != nil {
			return false, err
		}
		if begun {
			rev.run(ctx, r, claim.Namespace)
		}
		select {
		case <-rev.done:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if r.take(rev, claim) && (!rev.used[claim.UID] || rev.number > since) {
			return !rev.used[claim.UID], rev.err
		}
	}
}

// next returns the review to wait for: the last one if it goes on or has an answer for claim, else a new one,
// which the caller must run.
func (r *reviews) next(claim *corev1.PersistentVolumeClaim) (rev *review, begun bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.of, func(_ string, rev *review) bool { return rev.over() })
	if rev := r.of[claim.Namespace]; rev != nil {
		if c := rev.claims[claim.Name]; !rev.hasEnded() || c != nil && c.UID == claim.UID {
			return rev, false, nil
		}
	}
	r.count++
	rev = &review{number: r.count, claims: map[string]*corev1.PersistentVolumeClaim{}, done: make(chan struct{}), used: map[types.UID]bool{}}
	err = r.claims.View(claim.Namespace, func(c *corev1.PersistentVolumeClaim) bool {
		rev.claims[c.Name] = c
		return true
	})
	if err != nil {
		return nil, false, err
	}
	rev.claims[claim.Name] = claim
	r.of[claim.Namespace] = rev
	return rev, true, nil
}

// take reports whether a review that has ended answers for claim, and takes the answer: one is for one
// decision.
func (r *reviews) take(rev *review, claim *corev1.PersistentVolumeClaim) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := rev.claims[claim.Name]
	if c == nil || c.UID != claim.UID || rev.over() {
		return false
	}
	delete(rev.claims, claim.Name)
	return true
}

// hasEnded reports whether the list has been read.
func (rev *review) hasEnded() bool {
	select {
	case <-rev.done:
		return true
	default:
		return false
	}
}

// over reports whether the answers do not hold any more.
func (rev *review) over() bool { return rev.hasEnded() && time.Since(rev.ended) > reviewAge }

// run reads the pods and ends the review.
func (rev *review) run(ctx context.Context, r *reviews, namespace string) {
	defer close(rev.done)
	claims := maps.Clone(rev.claims) // nothing takes an answer before the end
	for p, err := range r.pods.All(ctx, client.ListOptions{Namespace: namespace}) {
		if err != nil {
			rev.err = err
			break
		}
		for _, key := range p.VolumeClaims() {
			if c := claims[key.Name]; c != nil && r.uses(p, c) {
				rev.used[c.UID] = true
			}
		}
	}
	rev.ended = time.Now()
}
