package apiserver

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
)

func (s *Server) watch(rt *route, r *request) {
	out, err := r.accepts(rt.offers(true))
	if err != nil {
		r.fail(err)
		return
	}
	o, err := r.listOptions(rt, true)
	if err != nil {
		r.fail(err)
		return
	}
	include, err := r.includeObject()
	if err != nil {
		r.fail(err)
		return
	}
	wo, err := s.watchOptions(rt, r, o)
	if err != nil {
		r.fail(err)
		return
	}
	ctx, cancel := s.watchContext(r, o)
	defer cancel()
	if !wo.InitialEvents {
		r.seat.Release() // the rest of the watch costs little
	}
	stream := &eventStream{request: r, rt: rt, out: out, include: include, form: formOf(rt, out), bookmarks: o.bookmarks,
		explicit: wo.InitialEvents && !(o.initialDefaulted && s.opts.NoWatchList), control: http.NewResponseController(r.w)}
	wo.OnSlow = stream.abandon
	stream.begin()
	key := types.NamespacedName{Name: r.info.Name}
	if rt.info.Namespaced {
		key.Namespace = r.info.Namespace
	}
	stream.end(rt.res.Watch(ctx, key, wo, stream.deliver))
}

// watchContext returns a context that ends with the request, its timeout, or the server.
func (s *Server) watchContext(r *request, o listOptions) (context.Context, context.CancelFunc) {
	timeout := o.timeout
	if timeout == 0 {
		timeout = s.opts.MinWatch + backoff.Spread(r.Context(), s.opts.MinWatch)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	ctx, stop := s.lifecycle.within(ctx, ending)
	return ctx, func() {
		stop()
		cancel()
	}
}

// watchOptions returns where a watch begins.
func (s *Server) watchOptions(rt *route, r *request, o listOptions) (cache.WatchOptions, error) {
	wo := cache.WatchOptions{Match: o.matcher(r.Context(), rt.res)}
	if o.bookmarks {
		wo.Bookmarks = s.bookmarkInterval(r)
		if o.timeout > 0 {
			wo.Bookmarks = min(wo.Bookmarks, o.timeout*9/10)
		}
	}
	for _, req := range o.fields.Requirements() {
		if req.Operator == fields.Equals && !isMetadataField(req.Field) && !rt.res.ConvertsFields() {
			wo.Field, wo.Value = req.Field, req.Value
			break
		}
	}
	if o.initial != nil && !o.initialDefaulted && s.opts.NoWatchList {
		return wo, invalidOptions("ListOptions", validation.Forbidden(validation.NewPath("sendInitialEvents"),
			"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"))
	}
	if o.initial != nil && *o.initial && !o.initialDefaulted && !s.store.Capabilities().Progress {
		return wo, invalidOptions("ListOptions", validation.Forbidden(validation.NewPath("sendInitialEvents"),
			"sendInitialEvents is forbidden for watch: the store cannot report progress"))
	}
	wo.InitialEvents = o.initial != nil && *o.initial
	f, err := rt.res.Warm(r.Context(), registry.Freshness{Any: o.version == "0", AtLeast: o.revision})
	if err != nil {
		return wo, err
	}
	if !wo.InitialEvents && o.revision > 0 {
		wo.From = o.revision
		return wo, nil
	}
	snap, err := rt.res.Snapshot(r.Context(), f)
	if err != nil {
		return wo, err
	}
	wo.From = snap.Revision()
	namespace := ""
	if rt.info.Namespaced {
		namespace = r.info.Namespace
	}
	return wo, o.convert(r.Context(), rt.res, snap, rt.res.ListPrefix(namespace), "")
}

// Times between the bookmarks of a watch: without Options.BookmarkInterval, and the shortest that a client
// may set by a header.
const (
	defaultBookmarks = time.Minute
	minBookmarks     = 3 * time.Second
)

// bookmarkInterval is the time between bookmarks of a watch.
func (s *Server) bookmarkInterval(r *request) time.Duration {
	every := s.opts.BookmarkInterval
	n, err := strconv.Atoi(r.Header.Get(metav1.BookmarkHeader))
	if err != nil || n <= 0 || n > 3600 || every < 0 || every%time.Second != 0 {
		return cmp.Or(every, defaultBookmarks)
	}
	if every == 0 {
		every = min(defaultBookmarks, max(time.Duration(n)*time.Second, minBookmarks))
	}
	r.w.Header().Set(metav1.BookmarkHeader, strconv.Itoa(int(every/time.Second)))
	return every
}
