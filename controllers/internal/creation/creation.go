// Package creation creates objects whose names the server makes. Its tests are those of the controllers with
// lost answers, TestLostAnswers of controllers/builtin.
package creation

import (
	"context"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers"
)

// Create creates an object. If the answer is lost, so that the object may exist under a name that only the
// server has, it returns the error when the copy of its kind has reached what the server has then: who reads
// the copy next sees the object and does not create another one. While the server does not answer it waits,
// until the end of ctx.
func Create[T metav1.Object](ctx context.Context, api *client.Client[T], copies informers.Lister[T], obj T) (T, error) {
	created, err := api.Create(ctx, obj)
	if err == nil || refused(err) {
		return created, err
	}
	for range backoff.Attempts(ctx, backoff.Policy{}) {
		list, listErr := api.List(ctx, client.ListOptions{Namespace: metav1.MetaOf(obj).Namespace, Limit: 1})
		if listErr == nil {
			_ = copies.AtLeast(ctx, list.ResourceVersion) // the error of the creation is the one to report
		}
		if listErr == nil || refused(listErr) {
			break
		}
	}
	return created, err
}

// refused reports whether a request has certainly changed nothing.
func refused(err error) bool {
	s, answered := apierrors.StatusOf(err)
	return answered && s.Code >= http.StatusBadRequest && s.Code < http.StatusInternalServerError
}
