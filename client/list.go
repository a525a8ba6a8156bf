package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/internal/scan"
)

// defaultPage is the page size of All.
const defaultPage = 500

// PartialError reports that a list is complete except for items that cannot be decoded. It is returned
// together with the list.
type PartialError struct {
	// Items are the omitted items, each with its key as far as that is known. There is at least one.
	Items []*DecodeError
}

// Error names the first item and the number of others.
func (e *PartialError) Error() string {
	if n := len(e.Items) - 1; n > 0 {
		return fmt.Sprintf("%v (and %d more)", e.Items[0], n)
	}
	return e.Items[0].Error()
}

// Unwrap returns the items' errors.
func (e *PartialError) Unwrap() []error {
	errs := make([]error, len(e.Items))
	for i, item := range e.Items {
		errs[i] = item
	}
	return errs
}

// List reads the selected objects, one page of them if a limit is set.
//
// If items cannot be decoded, the list holds all others and the error is a [*PartialError]. So a caller that
// stops at any error never takes a partial list for a complete one, and a caller that can work with a partial
// list checks the type of the error. With any other error the list is nil.
func (c *Client[T]) List(ctx context.Context, opts ListOptions) (*metav1.List[T], error) {
	raw, err := c.listEncoded(ctx, opts, EncodedOptions{}, false)
	if err != nil {
		return nil, err
	}
	l := &metav1.List[T]{
		TypeMeta: metav1.TypeMeta{Kind: c.res.GVK.Kind + "List", APIVersion: c.res.GVK.APIVersion()},
		ListMeta: metav1.ListMeta{ResourceVersion: raw.ResourceVersion, Continue: raw.Continue},
		Items:    make([]T, 0, len(raw.Items)),
	}
	if raw.Remaining > 0 {
		l.RemainingItemCount = &raw.Remaining
	}
	bad := raw.Errors
	for i := range raw.Items {
		obj, err := c.decode(raw.Items[i])
		if err != nil {
			bad = append(bad, err)
			continue
		}
		l.Items = append(l.Items, obj)
	}
	if len(bad) > 0 {
		return l, &PartialError{Items: bad}
	}
	return l, nil
}

// All iterates over the selected objects in pages (ListOptions.Limit, default 500), all at one version. If
// that version expires meanwhile, the whole list is read again in one request and the objects already yielded
// are skipped, so each key is yielded once; later objects are then at a newer version. An item that cannot be
// decoded is yielded as a *DecodeError, after the objects of its page, and the iteration continues; any other
// error ends it.
func (c *Client[T]) All(ctx context.Context, opts ListOptions) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		if opts.Limit == 0 {
			opts.Limit = defaultPage
		}
		var last types.NamespacedName
		given := false
		for {
			page, err := c.List(ctx, opts)
			if err != nil && opts.Continue != "" && apierrors.IsResourceExpired(err) {
				opts.Limit, opts.Continue, opts.ResourceVersion, opts.ResourceVersionMatch = 0, "", "", ""
				page, err = c.List(ctx, opts)
			}
			partial, _ := errors.AsType[*PartialError](err)
			if err != nil && partial == nil {
				yield(zero, err)
				return
			}
			for _, obj := range page.Items {
				// Lists are ordered by key.
				key := metav1.KeyOf(obj)
				if given && key.Compare(last) <= 0 {
					continue
				}
				if last, given = key, true; !yield(obj, nil) {
					return
				}
			}
			if partial != nil {
				for _, e := range partial.Items {
					if !yield(zero, e) {
						return
					}
				}
			}
			if page.Continue == "" {
				return
			}
			// A token carries the version of the first page.
			opts.Continue, opts.ResourceVersion, opts.ResourceVersionMatch = page.Continue, "", ""
		}
	}
}

// EncodedOptions configure how encoded objects are returned.
type EncodedOptions struct {
	// DropManagedFields removes metadata.managedFields, often half of an object.
	DropManagedFields bool
}

// EncodedList is a page of encoded objects.
type EncodedList struct {
	// ResourceVersion of the list and Continue, the token of the next page.
	ResourceVersion, Continue string
	// Remaining is the server's estimate of how many items follow.
	Remaining int64
	// Items, each in memory of its own.
	Items []Encoded
	// Errors has one error for each item omitted because its metadata cannot be read.
	Errors []*DecodeError
}

// ListEncoded is List without decoding, for caches.
func (c *Client[T]) ListEncoded(ctx context.Context, opts ListOptions, eo EncodedOptions) (*EncodedList, error) {
	return c.listEncoded(ctx, opts, eo, true)
}

func (c *Client[T]) listEncoded(ctx context.Context, opts ListOptions, eo EncodedOptions, copies bool) (*EncodedList, error) {
	if c.err != nil {
		return nil, c.err
	}
	r := c.request("GET", types.NamespacedName{Namespace: opts.Namespace}, "")
	r.Query = opts.query()
	resp, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	form, err := formOf(resp.ContentType)
	if err != nil && resp.Code < 300 {
		return nil, &DecodeError{Resource: c.res.GVR, Err: err}
	}
	reply := Encoded{Form: form, Body: resp.Body}
	if form == Protobuf {
		if reply.apiVersion, reply.kind, reply.Body, err = codec.DecodeEnvelope(resp.Body); err != nil {
			return nil, &DecodeError{Resource: c.res.GVR, Err: err}
		}
	} else {
		reply.apiVersion, reply.kind = leadingKind(resp.Body)
	}
	if err := c.checkReply(resp, reply, strings.HasSuffix(reply.kind, "List"), "a list"); err != nil {
		return nil, err
	}
	l := &EncodedList{}
	item := func(raw []byte) {
		if copies {
			raw = copyBody(form, raw, eo.DropManagedFields)
		}
		e, err := scanEncoded(form, raw)
		if err == nil && e.Key.Name == "" {
			err = errNoName
		}
		if err != nil {
			l.Errors = append(l.Errors, &DecodeError{Resource: c.res.GVR, Key: e.Key, Err: err})
			return
		}
		l.Items = append(l.Items, e)
	}
	if form == Protobuf {
		l.ResourceVersion, l.Continue, l.Remaining, err = scan.ProtoList(reply.Body, item)
	} else {
		l.ResourceVersion, l.Continue, l.Remaining, err = scan.JSONList(resp.Body, item)
	}
	if err != nil {
		return nil, &DecodeError{Resource: c.res.GVR, Err: err}
	}
	return l, nil
}

// leadingKind returns the apiVersion and kind of a JSON body if they precede its items, as servers write
// them.
func leadingKind(body []byte) (apiVersion, kind string) {
	_ = scan.Members(body, func(key, value []byte, _, _ int) bool {
		switch string(key) {
		case "kind":
			kind = scan.Text(value)
		case "apiVersion":
			apiVersion = scan.Text(value)
		case "items":
			return false
		}
		return kind == "" || apiVersion == ""
	})
	return apiVersion, kind
}
