package crd

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/cache"
)

// Follower follows definitions as a controller does.
type Follower struct{ claims claims }

// NewFollower returns a follower of none.
func NewFollower() *Follower { return &Follower{newClaims()} }

// Wrote notes an own write, which a definition has as obj.
func (f *Follower) Wrote(obj metav1.Object) { f.claims.recordWrite(obj.(*definition)) }

// Update brings the claims to a snapshot and returns how many definitions had changed and how many of them it
// decoded.
func (f *Follower) Update(ctx context.Context, snap *cache.Snapshot, decode func(context.Context, *cache.Object) (metav1.Object, error)) (changed, decoded int) {
	f.claims.update(ctx, snap, func(ctx context.Context, o *cache.Object) (metav1.Object, error) {
		decoded++
		return decode(ctx, o)
	}, func(*definition) { changed++ })
	return changed, decoded
}
