package apiserver

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/cache"
)

// includeObject reads which part of the object a table row carries.
func (r *request) includeObject() (metav1.IncludeObjectPolicy, error) {
	switch v := metav1.IncludeObjectPolicy(r.query.Get("includeObject")); v {
	case "":
		return metav1.IncludeMetadata, nil
	case metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
		return v, nil
	default:
		return "", apierrors.NewBadRequest("no table can be made as requested: " + validation.NotSupported(validation.NewPath("includeObject"), v,
			[]metav1.IncludeObjectPolicy{metav1.IncludeMetadata, metav1.IncludeNone, metav1.IncludeObject}).Error())
	}
}

func (r *request) sendTable(rt *route, out output, p *page) error {
	include, err := r.includeObject()
	if err != nil {
		return err
	}
	t := newTable(rt, out)
	t.ResourceVersion, t.Continue, t.RemainingItemCount = strconv.FormatInt(p.revision, 10), p.next, p.remaining
	now := time.Now()
	t.Rows = make([]metav1.TableRow, 0, len(p.items))
	for _, o := range p.items {
		obj, err := rt.res.Decode(r.Context(), o)
		if err != nil {
			return err
		}
		row, err := tableRow(rt, obj, now, include, out.version)
		if err != nil {
			return err
		}
		t.Rows = append(t.Rows, row)
	}
	r.send(http.StatusOK, out, t.GroupVersionKind(), t)
	return nil
}

func (r *request) sendTableOf(rt *route, code int, out output, objs ...metav1.Object) {
	include, err := r.includeObject()
	if err != nil {
		r.fail(err)
		return
	}
	t := newTable(rt, out)
	for _, obj := range objs {
		row, err := tableRow(rt, obj, time.Now(), include, out.version)
		if err != nil {
			r.fail(err)
			return
		}
		t.Rows = append(t.Rows, row)
		t.ResourceVersion = obj.GetResourceVersion()
	}
	if len(objs) != 1 {
		t.ResourceVersion = ""
	}
	r.send(code, out, t.GroupVersionKind(), t)
}

func newTable(rt *route, out output) *metav1.Table {
	t := &metav1.Table{ColumnDefinitions: slices.Clone(rt.table.Columns), Rows: []metav1.TableRow{}}
	t.SetGroupVersionKind(metaKind(out.version, "Table"))
	return t
}

func tableRow(rt *route, obj metav1.Object, now time.Time, include metav1.IncludeObjectPolicy, version string) (metav1.TableRow, error) {
	row := metav1.TableRow{Cells: rt.table.Cells(obj, now), Conditions: rt.table.Conditions(obj)}
	var shown any
	switch include {
	case metav1.IncludeNone:
		return row, nil
	case metav1.IncludeObject:
		shown = obj
	default:
		shown = partialOf(obj, version)
	}
	b, err := codec.Marshal(shown)
	row.Object.Raw = b
	return row, err
}

// watchTable is the table of one watch event.
func watchTable(ctx context.Context, rt *route, o *cache.Object, out output, include metav1.IncludeObjectPolicy, headers bool) (*metav1.Table, error) {
	obj, err := rt.res.Decode(ctx, o)
	if err != nil {
		return nil, err
	}
	row, err := tableRow(rt, obj, time.Now(), include, out.version)
	if err != nil {
		return nil, err
	}
	t := newTable(rt, out)
	if !headers {
		t.ColumnDefinitions = nil
	}
	t.ResourceVersion = strconv.FormatInt(o.Revision, 10)
	t.Rows = append(t.Rows, row)
	return t, nil
}
