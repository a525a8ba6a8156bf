package controlplane

import (
	"context"

	"github.com/keelson-dev/keelson/store/aggregation"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authz"
)

// Image is what a server has derived from the content of its store at one revision: immutable plain data that
// any number of servers over stores with that content may share, in any testing/synctest bubbles, which saves
// most of the time and the memory that starting one takes. Pass it in Options that differ in nothing that
// changes which objects every cluster has.
type Image struct {
	revision int64
	server   *apiserver.Image
	policy   *authz.Policy // nil if it was not complete
	agree    bool          // every served version had its APIService
	local    bool          // and none of them a service
}

// Image returns what the server has derived from the content of its store at revision, the current one. It
// returns nil if the server is not [ControlPlane.Ready], or if something was written meanwhile. What has not
// reached the revision is left out.
func (c *ControlPlane) Image(ctx context.Context, revision int64) *Image {
	select {
	case <-c.Ready():
	default:
		return nil
	}
	image := &Image{revision: revision, server: c.Server.Image(revision), agree: c.bookkeeping.services.agreed.Load() == c.Server.Registry().Generation()}
	image.local = c.Server.Registry().Delivered(revision, aggregation.Resource) && c.aggregator.Local()
	if p := c.authorization.policy; p != nil {
		image.policy = p.image(ctx, c.Server.Registry(), revision)
	}
	if now, err := c.Server.Registry().Store().Progress(ctx, ""); err != nil || now != revision {
		return nil
	}
	return image
}
