package registry

import (
	"context"
	"errors"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store"
)

type guardsKey struct{}

// WithGuard returns ctx under which every write commits only if g holds too. Fencing uses it: a leader's
// writes are guarded with the key its token names.
func WithGuard(ctx context.Context, g store.Guard) context.Context {
	return context.WithValue(ctx, guardsKey{}, append(slices.Clip(guardsFrom(ctx)), g))
}

func guardsFrom(ctx context.Context) []store.Guard {
	g, _ := ctx.Value(guardsKey{}).([]store.Guard)
	return g
}

var errGuard = errors.New("a condition of the request does not hold any more")

func (r *Resource) guardError(_ *store.GuardError, name string) error {
	return apierrors.NewConflict(r.gr, name, errGuard)
}
