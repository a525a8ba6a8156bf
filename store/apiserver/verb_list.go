package apiserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
)

// page is a list or a page of one.
type page struct {
	items     []*cache.Object
	revision  int64
	next      string // continue token
	remaining *int64
	bytes     int // of the stored forms
	seen      int // objects examined
}

func (s *Server) list(rt *route, r *request) {
	out, err := r.accepts(rt.offers(false))
	if err != nil {
		r.fail(err)
		return
	}
	if out.as == asMetadata {
		r.fail(apierrors.NewNotAcceptable("you requested PartialObjectMetadata, but the requested object is a list (" + rt.info.ListKind().Kind + ")"))
		return
	}
	o, err := r.listOptions(rt, false)
	if err != nil {
		r.fail(err)
		return
	}
	p, err := s.page(rt, r, o)
	if err != nil {
		r.fail(err)
		return
	}
	if err := rt.res.Convert(r.Context(), p.items...); err != nil {
		r.fail(err)
		return
	}
	r.sendPage(rt, out, p)
}

// token is a continue token. It has Kubernetes' format, for clients that decode it.
type token struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	Start    string `json:"start"`
}

const tokenVersion = "meta.k8s.io/v1"

// newToken continues after the key last. A revision of -1 continues at whatever the state is then.
func newToken(prefix, last string, revision int64) string {
	b, err := json.Marshal(token{Version: tokenVersion, Revision: revision, Start: "/" + strings.TrimPrefix(last, prefix) + "\x00"})
	if err != nil {
		return "" // three plain fields always encode
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// readToken returns the key to continue after, and the revision.
func readToken(prefix, text string) (after string, revision int64, err error) {
	refuse := func(why string) (string, int64, error) {
		return "", 0, apierrors.NewBadRequest("invalid continue token: " + why)
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return refuse("continue key is not valid: " + err.Error())
	}
	var t token
	if err := json.Unmarshal(b, &t); err != nil {
		return refuse("continue key is not valid: " + err.Error())
	}
	start, ok := strings.CutPrefix(t.Start, "/")
	start = strings.TrimSuffix(start, "\x00") // the successor of a key
	switch {
	case t.Version != tokenVersion:
		return refuse("unknown version " + strconv.Quote(t.Version))
	case t.Revision == 0 || t.Revision < -1:
		return refuse("incorrect encoded start resourceVersion")
	case !ok || start == "":
		return refuse("incorrect encoded start key")
	}
	for part := range strings.SplitSeq(start, "/") {
		if part == ".." || part == "." || part == "" {
			return refuse("incorrect encoded start key")
		}
	}
	return prefix + start, t.Revision, nil
}

// page reads the objects of a list request.
func (s *Server) page(rt *route, r *request, o listOptions) (*page, error) {
	namespace := ""
	if rt.info.Namespaced {
		namespace = r.info.Namespace
	}
	prefix := rt.res.ListPrefix(namespace)
	f, after := o.freshness(), ""
	if o.cont != "" {
		var revision int64
		var err error
		if after, revision, err = readToken(prefix, o.cont); err != nil {
			return nil, err
		}
		if o.version != "" && o.version != "0" {
			return nil, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		f = registry.Freshness{}
		if revision > 0 {
			f.Exact = revision
		}
	}
	f, err := rt.res.Warm(r.Context(), f)
	if err != nil {
		return nil, err
	}
	var snap *cache.Snapshot
	if compacted := s.compacted.Load(); f.Exact > 0 && f.Exact < compacted {
		// A cache may still have it, or not: whether a token has expired is not to depend on that.
		err = apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	} else {
		snap, err = rt.res.Snapshot(r.Context(), f)
	}
	if err != nil {
		if o.cont != "" && apierrors.IsResourceExpired(err) {
			err = expiredToken(prefix, after)
		}
		return nil, err
	}
	if o.version == "" && o.cont == "" && r.Header.Get(metav1.LastChangeHeader) != "" {
		r.w.Header().Set(metav1.LastChangeHeader, strconv.FormatInt(snap.Changed(), 10))
	}
	limit := int(min(max(o.limit, 0), 1<<31-1))
	if o.version == "0" && o.cont == "" {
		limit = 0 // lists from memory have one page
	}
	var p *page
	if r.info.Name != "" && rt.info.Namespaced && namespace != "" {
		p = onePage(snap, rt, r, o)
	} else {
		if err := o.convert(r.Context(), rt.res, snap, prefix, after); err != nil {
			return nil, err
		}
		if p, err = s.collectInTurn(r, snap, prefix, after, limit, o.matcher(r.Context(), rt.res)); err != nil {
			return nil, err
		}
	}
	if hook := s.opts.Metrics.Listed; hook != nil && snap.Cached() {
		hook(rt.info.GVR.GroupResource(), p.seen, len(p.items))
	}
	return p, nil
}

// maxCauses is how many objects of a list that cannot be read are named.
const maxCauses = 100

// unreadableError is the 500 for a list with objects that cannot be read, which names them, or nil.
func (p *page) unreadableError(rt *route) error {
	var causes []metav1.StatusCause
	for _, o := range p.items {
		if o.Err == nil {
			continue
		}
		if len(causes) == maxCauses {
			causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeTooMany, Message: "too many errors, the list is truncated"})
			break
		}
		causes = append(causes, metav1.StatusCause{
			Type: metav1.CauseTypeUnexpectedServerResponse, Field: o.Key,
			Message: fmt.Sprintf("corrupt object: not decodable: revision=%d: %v", o.Revision, o.Err),
		})
	}
	if len(causes) == 0 {
		return nil
	}
	gr := rt.info.GVR.GroupResource()
	err := apierrors.New(http.StatusInternalServerError, metav1.StatusReasonStoreReadError, fmt.Sprintf("failed to read one or more %s from the storage", gr))
	err.ErrStatus.Details = &metav1.StatusDetails{Group: gr.Group, Kind: gr.Resource, Name: "list", Causes: causes}
	return err
}

// onePage returns the page of a list of one name.
func onePage(snap *cache.Snapshot, rt *route, r *request, o listOptions) *page {
	p := &page{revision: snap.Revision()}
	match := o.matcher(r.Context(), rt.res)
	if obj, ok := snap.Get(rt.res.Key(r.key(true))); ok {
		p.seen = 1
		if match == nil || match(obj) {
			p.items, p.bytes = append(p.items, obj), len(obj.Value)
		}
	}
	return p
}

// collectInTurn is collect in the turn of a request with large selectors.
func (s *Server) collectInTurn(r *request, snap *cache.Snapshot, prefix, after string, limit int, match func(*cache.Object) bool) (*page, error) {
	end, err := s.turns.take(r)
	if err != nil {
		return nil, err
	}
	defer end()
	return collect(snap, prefix, after, limit, match), nil
}

// collect gathers the objects of one page.
func collect(snap *cache.Snapshot, prefix, after string, limit int, match func(*cache.Object) bool) *page {
	p := &page{revision: snap.Revision()}
	size := 0
	if match == nil {
		size = snap.Count(prefix, after)
		if limit > 0 {
			size = min(size, limit)
		}
	}
	p.items = make([]*cache.Object, 0, size)
	for o := range snap.Range(prefix, after) {
		p.seen++
		if match != nil && !match(o) {
			continue
		}
		if limit > 0 && len(p.items) == limit {
			last := p.items[limit-1].Key
			p.next = newToken(prefix, last, p.revision)
			if match == nil {
				p.remaining = new(int64(snap.Count(prefix, last)))
			}
			break
		}
		p.items = append(p.items, o)
		p.bytes += len(o.Value)
	}
	return p
}

// expiredToken is the 410 for a token whose revision is compacted, with a token to continue at the current
// revision.
func expiredToken(prefix, after string) error {
	err := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
		"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the " +
		"first chunk was returned and now may show up in the list.")
	err.ErrStatus.ListMeta.Continue = newToken(prefix, after, -1)
	return err
}
