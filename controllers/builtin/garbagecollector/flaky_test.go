package garbagecollector_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
)

// flaky is a connection to a server that stops serving some resources for a while, as one of several replicas
// does that does not know a CustomResourceDefinition yet, and that answers some lists late.
type flaky struct {
	client.Conn

	mu      sync.Mutex
	hidden  map[schema.GroupResource]bool
	late    map[schema.GroupResource]time.Duration
	streams map[*cutBody]schema.GroupResource
	asked   atomic.Int64 // requests but for watches
	// before is called before each write that is let through, after with its outcome.
	before func(*client.Request)
	takes  func(call string) // nil if a request takes no time
	after  func(*client.Request, error)
}

func newFlaky(conn client.Conn) *flaky {
	return &flaky{Conn: conn, hidden: map[schema.GroupResource]bool{}, late: map[schema.GroupResource]time.Duration{}, streams: map[*cutBody]schema.GroupResource{}}
}

// hide lets everything about a resource answer 404 and ends the watches that are open.
func (f *flaky) hide(gr schema.GroupResource) {
	f.mu.Lock()
	f.hidden[gr] = true
	f.mu.Unlock()
	f.cut(gr)
}

func (f *flaky) show(gr schema.GroupResource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.hidden, gr)
}

// hides reports whether a kind, by its name, is not served at the moment.
func (f *flaky) hides(kind string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for gr := range f.hidden {
		if strings.EqualFold(kind+"s", gr.Resource) {
			return true
		}
	}
	return false
}

// cut ends the watches of a resource.
func (f *flaky) cut(gr schema.GroupResource) {
	f.mu.Lock()
	var cut []*cutBody
	for b, of := range f.streams {
		if of == gr {
			cut = append(cut, b)
		}
	}
	f.mu.Unlock()
	for _, b := range cut {
		b.body.Close()
	}
}

func (f *flaky) admit(ctx context.Context, r *client.Request) error {
	gr := r.Resource.GroupResource()
	if f.takes != nil {
		f.takes(fmt.Sprint(r.Verb(), r.URLPath(), r.Query, string(r.Body)))
	}
	f.mu.Lock()
	hidden, late := f.hidden[gr], f.late[gr]
	f.mu.Unlock()
	if verb := r.Verb(); verb == "list" || verb == "watch" {
		if err := backoff.Sleep(ctx, late); err != nil {
			return err
		}
	}
	if !hidden {
		return nil
	}
	err := apierrors.New(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

func (f *flaky) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if err := f.admit(ctx, r); err != nil {
		return nil, err
	}
	f.asked.Add(1)
	write := r.Method != "" && r.Method != http.MethodGet
	if write && f.before != nil {
		f.before(r)
	}
	resp, err := f.Conn.Do(ctx, r)
	if write && f.after != nil {
		f.after(r, err)
	}
	return resp, err
}

func (f *flaky) Stream(ctx context.Context, r *client.Request) (*client.Stream, error) {
	if err := f.admit(ctx, r); err != nil {
		return nil, err
	}
	s, err := f.Conn.Stream(ctx, r)
	if err != nil {
		return nil, err
	}
	b := &cutBody{f: f, body: s.Body}
	s.Body = b
	f.mu.Lock()
	f.streams[b] = r.Resource.GroupResource()
	f.mu.Unlock()
	return s, nil
}

type cutBody struct {
	f    *flaky
	body io.ReadCloser
}

func (b *cutBody) Read(p []byte) (int, error) { return b.body.Read(p) }

func (b *cutBody) Close() error {
	b.f.mu.Lock()
	delete(b.f.streams, b)
	b.f.mu.Unlock()
	return b.body.Close()
}
