package registry

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/cache"
)

// converted is the key of the form in which a cached object keeps its conversion to the served version.
func (r *Resource) converted() cache.FormKey {
	return cache.FormKey{Version: r.form, MediaType: "json", Kind: "converted"}
}

// Converts reports whether reading an object may call a conversion webhook, so that batching with
// [Resource.Convert] is worthwhile.
func (r *Resource) Converts() bool { return r.def.FromStoredAll != nil }

// Convert converts cached objects to the served version with one call of FromStoredAll. Without it each
// object is converted when it is first read. It does nothing for resources without FromStoredAll.
func (r *Resource) Convert(ctx context.Context, objs ...*cache.Object) error {
	if r.def.FromStoredAll == nil {
		return nil
	}
	var missing []*cache.Object
	var stored []metav1.Object
	for _, o := range objs {
		if _, ok := o.Made(r.converted()); ok {
			continue
		}
		if obj, err := r.decodeStored(o.Value); err == nil { // readers of the object get the error
			missing, stored = append(missing, o), append(stored, obj)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	out, err := r.def.FromStoredAll(ctx, stored)
	if err != nil {
		return withStatus(err)
	}
	for i, o := range missing {
		data, err := codec.Marshal(out[i])
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		if _, err := o.Form(r.converted(), func(*cache.Object) ([]byte, error) { return data, nil }); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	return nil
}

// withStatus returns an error that carries a Status as it is, and any other as an internal one.
func withStatus(err error) error {
	if _, ok := apierrors.StatusOf(err); ok {
		return err
	}
	return apierrors.NewInternalError(err)
}

// undecoded returns the error of an object that is stored and cannot be decoded or converted.
func (r *Resource) undecoded(name string, err error) error {
	if _, ok := apierrors.StatusOf(err); ok {
		return err
	}
	return apierrors.NewStoreReadError(r.gr, name, err)
}

// decodeConverted is Decode for cached objects that keep their conversion.
func (r *Resource) decodeConverted(ctx context.Context, o *cache.Object) (metav1.Object, error) {
	if err := r.Convert(ctx, o); err != nil {
		return nil, err
	}
	data, ok := o.Made(r.converted())
	if !ok { // undecodable, or of an old event, whose forms may be dropped at any time
		return r.decode(ctx, o.Value, o.Revision)
	}
	obj := r.info.New()
	if err := codec.Unmarshal(data, obj); err != nil {
		return nil, err
	}
	return r.finish(obj, o.Revision), nil
}
