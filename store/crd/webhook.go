package crd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/webhook"
)

// WebhookOptions configure a Webhook. The zero value reaches URLs only.
type WebhookOptions struct {
	// Dial opens connections; nil uses the network, see webhook.Options.
	Dial webhook.DialFunc
	// Services resolves services for the default Dial. Nil means that services cannot be reached.
	Services webhook.Services
	// Loopback sends the requests to the API server itself, see webhook.Options.
	Loopback http.RoundTripper
	// Called, if set, is called after each call of a server.
	Called func(webhook.Call)
	// Converted, if set, is called after each conversion.
	Converted func(Conversion)
	// Timeout bounds one conversion. Zero means 30 seconds.
	Timeout time.Duration
}

// Webhook is a Converter that calls the webhook a definition names, once for all objects that are read
// together. A call ends with the context of the conversion, and after Timeout.
type Webhook struct {
	options WebhookOptions
	client  *webhook.Client
}

// NewWebhook returns a Webhook. Close it when it is no longer used.
func NewWebhook(o WebhookOptions) *Webhook {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	return &Webhook{options: o, client: webhook.New(webhook.Options{Dial: o.Dial, Services: o.Services, Loopback: o.Loopback, Called: o.Called})}
}

// Close closes idle connections.
func (w *Webhook) Close() error { return w.client.Close() }

// To implements Converter. Objects of that version are not sent.
func (w *Webhook) To(d *apiextensionsv1.CustomResourceDefinition, to schema.GroupVersion) func(context.Context, []metav1.Object) ([]metav1.Object, error) {
	hook := codec.DeepCopy(d.Spec.Conversion.Webhook)
	return func(ctx context.Context, objs []metav1.Object) ([]metav1.Object, error) {
		out := slices.Clone(objs)
		var others []*metav1.Unstructured
		var places []int
		for i, obj := range objs {
			if u, ok := obj.(*metav1.Unstructured); ok && u.APIVersion != to.String() {
				others, places = append(others, u), append(places, i)
			}
		}
		if len(others) == 0 {
			return out, nil
		}
		began := time.Now()
		converted, err := w.convert(ctx, hook, others, to)
		if report := w.options.Converted; report != nil {
			_, from, _ := strings.Cut(others[0].APIVersion, "/")
			c := Conversion{Definition: d.Name, From: from, To: to.Version, Elapsed: time.Since(began)}
			if failed, ok := errors.AsType[*conversionError](err); ok {
				c.Failure = failed.failure
			} else if err != nil {
				c.Failure = CallFailed // it could not be made
			}
			report(c)
		}
		if err != nil {
			return nil, &responseError{schema.FromAPIVersionAndKind(others[0].APIVersion, others[0].Kind), err}
		}
		for i, place := range places {
			out[place] = converted[i]
		}
		return out, nil
	}
}

// responseError is the error of a conversion of objects of a kind, as clients see it.
type responseError struct {
	kind schema.GroupVersionKind
	err  error
}

func (e *responseError) Error() string {
	return fmt.Sprintf("conversion webhook for %s failed: %v", e.kind, e.err)
}

// Unwrap returns the error of the call or of its response.
func (e *responseError) Unwrap() error { return e.err }

// Status is that of the request for whose sake the objects are converted, as in Kubernetes: without a reason,
// and whatever status the webhook has responded with.
func (e *responseError) Status() metav1.Status {
	return apierrors.New(http.StatusInternalServerError, "", e.Error()).ErrStatus
}

// convert converts all objects with one call.
func (w *Webhook) convert(ctx context.Context, hook *apiextensionsv1.WebhookConversion, objs []*metav1.Unstructured, to schema.GroupVersion) ([]*metav1.Unstructured, error) {
	if hook == nil || hook.ClientConfig == nil {
		return nil, errors.New("the definition names no webhook")
	}
	// The first supported version, as upstream. Both have the same fields.
	i := slices.IndexFunc(hook.ConversionReviewVersions, func(v string) bool { return v == "v1" || v == "v1beta1" })
	if i < 0 {
		return nil, errors.New("no supported conversion review versions")
	}
	version := hook.ConversionReviewVersions[i]
	review := &apiextensionsv1.ConversionReview{Request: &apiextensionsv1.ConversionRequest{
		UID: types.UID(rand.Text()), DesiredAPIVersion: to.String(), Objects: make([]metav1.RawExtension, len(objs))}}
	review.SetGroupVersionKind(schema.GroupVersionKind{Group: apiextensionsv1.GroupVersion.Group, Version: version, Kind: "ConversionReview"})
	for i, u := range objs {
		raw, err := codec.Marshal(u)
		if err != nil {
			return nil, err
		}
		review.Request.Objects[i].Raw = raw
	}
	reply, err := w.call(ctx, hook.ClientConfig, review)
	if err != nil {
		return nil, &conversionError{CallFailed, err}
	}
	if got := reply.GroupVersionKind(); version == "v1" && got != review.GroupVersionKind() {
		return nil, &conversionError{ResponseInvalid, fmt.Errorf("expected webhook response of %v, got %v", review.GroupVersionKind(), got)}
	}
	if version == "v1beta1" && reply.Response != nil {
		reply.Response.UID = review.Request.UID // which v1beta1 webhooks may omit
	}
	return checkResponse(objs, review.Request, reply, to)
}

// checkResponse checks a response and returns its objects.
func checkResponse(objs []*metav1.Unstructured, request *apiextensionsv1.ConversionRequest, reply *apiextensionsv1.ConversionReview, to schema.GroupVersion) ([]*metav1.Unstructured, error) {
	r := reply.Response
	var err error
	switch {
	case r == nil:
		err = errors.New("no response provided")
	case r.UID != request.UID:
		err = fmt.Errorf("expected response.uid=%q, got %q", request.UID, r.UID)
	case r.Result.Status != metav1.StatusSuccess && r.Result.Message == "":
		err = fmt.Errorf("response.result.status was '%s', not 'Success'", r.Result.Status)
	case r.Result.Status != metav1.StatusSuccess:
		err = errors.New(r.Result.Message)
	case len(r.ConvertedObjects) != len(objs):
		return nil, &conversionError{ResponsePartial, fmt.Errorf("expected %d converted objects, got %d", len(objs), len(r.ConvertedObjects))}
	}
	if err != nil {
		return nil, &conversionError{ResponseInvalid, err}
	}
	out := make([]*metav1.Unstructured, len(objs))
	for i := range objs {
		if out[i], err = checkObject(objs[i], r.ConvertedObjects[i].Raw, to); err != nil {
			return nil, &conversionError{ConvertedInvalid, fmt.Errorf("invalid converted object at index %d: %w", i, err)}
		}
	}
	return out, nil
}

// checkObject checks one object of a response. A webhook may change everything but the kind and, of the
// metadata, all but labels and annotations.
func checkObject(u *metav1.Unstructured, raw []byte, to schema.GroupVersion) (*metav1.Unstructured, error) {
	out := &metav1.Unstructured{}
	if err := codec.Unmarshal(raw, out); err != nil {
		return nil, err
	}
	switch {
	case out.APIVersion != to.String() || out.Kind != u.Kind:
		return nil, fmt.Errorf("it is a %s of %s, not a %s of %s", out.Kind, out.APIVersion, u.Kind, to)
	case out.Name != u.Name || out.Namespace != u.Namespace || out.UID != u.UID:
		return nil, errors.New("it is another object")
	}
	labels, annotations := out.Labels, out.Annotations
	if !maps.Equal(labels, u.Labels) || !maps.Equal(annotations, u.Annotations) {
		if err := metav1.ValidateMetaFields(&metav1.ObjectMeta{Labels: labels, Annotations: annotations}, validation.NewPath("metadata")).Err(); err != nil {
			return nil, err
		}
	}
	out.ObjectMeta = u.ObjectMeta
	out.Labels, out.Annotations = labels, annotations
	return out, nil
}

// call sends a review to the webhook of a definition.
func (w *Webhook) call(ctx context.Context, c *apiextensionsv1.WebhookClientConfig, review *apiextensionsv1.ConversionReview) (*apiextensionsv1.ConversionReview, error) {
	t := webhook.Target{CABundle: c.CABundle}
	if c.URL != nil {
		t.URL = *c.URL
	}
	if s := c.Service; s != nil {
		t.Service = &webhook.Service{Namespace: s.Namespace, Name: s.Name}
		if s.Path != nil {
			t.Service.Path = *s.Path
		}
		if s.Port != nil {
			t.Service.Port = *s.Port
		}
	}
	reply := &apiextensionsv1.ConversionReview{}
	ctx, cancel := context.WithTimeout(ctx, w.options.Timeout)
	defer cancel()
	return reply, w.client.Call(ctx, t, 0, review, reply)
}
