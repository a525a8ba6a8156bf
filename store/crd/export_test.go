package crd

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/cache"
)

// Follow returns a function that brings the claims of a controller to a snapshot and returns how many
// definitions it decoded.
func Follow() func(ctx context.Context, snap *cache.Snapshot, decode func(context.Context, *cache.Object) (metav1.Object, error)) int {
	c := claims{groups: map[string]*group{}, byName: map[string]claim{}}
	return func(ctx context.Context, snap *cache.Snapshot, decode func(context.Context, *cache.Object) (metav1.Object, error)) (decoded int) {
		c.update(ctx, snap, decode, func(*definition) { decoded++ })
		return decoded
	}
}
