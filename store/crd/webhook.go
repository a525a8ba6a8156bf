package crd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/webhook"
)

// WebhookOptions configure a Webhook. The zero value reaches URLs only.
type WebhookOptions struct {
	// Dial opens connections; nil uses the network, see webhook.Options.
	Dial webhook.DialFunc
	// Services finds services for the default Dial. Nil means that services cannot be reached.
	Services webhook.Services
	// Timeout bounds one conversion. Zero means 30 seconds.
	Timeout time.Duration
}

// Webhook is a Converter that asks the webhook a definition names. One request is made for each object.
type Webhook struct {
	options WebhookOptions
	client  *webhook.Client
}

// NewWebhook returns a Webhook. Close it when it is no longer used.
func NewWebhook(o WebhookOptions) *Webhook {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	return &Webhook{options: o, client: webhook.New(webhook.Options{Dial: o.Dial, Services: o.Services})}
}

// Close drops idle connections.
func (w *Webhook) Close() error { return w.client.Close() }

// Between implements Converter.
func (w *Webhook) Between(d *apiextensionsv1.CustomResourceDefinition, stored, served schema.GroupVersion) (fromStored, toStored func(metav1.Object) (metav1.Object, error)) {
	hook := codec.DeepCopy(d.Spec.Conversion.Webhook)
	to := func(gv schema.GroupVersion) func(metav1.Object) (metav1.Object, error) {
		return func(obj metav1.Object) (metav1.Object, error) {
			u, ok := obj.(*metav1.Unstructured)
			if !ok || u.APIVersion == gv.String() {
				return obj, nil
			}
			converted, err := w.convert(hook, u, gv)
			if err != nil {
				return nil, fmt.Errorf("conversion webhook for %s failed: %w", schema.FromAPIVersionAndKind(u.APIVersion, u.Kind), err)
			}
			return converted, nil
		}
	}
	return to(served), to(stored)
}

func (w *Webhook) convert(hook *apiextensionsv1.WebhookConversion, u *metav1.Unstructured, gv schema.GroupVersion) (*metav1.Unstructured, error) {
	if hook == nil || hook.ClientConfig == nil || !slices.Contains(hook.ConversionReviewVersions, "v1") {
		return nil, errors.New("the definition names no webhook that understands ConversionReview v1")
	}
	raw, err := codec.Marshal(u)
	if err != nil {
		return nil, err
	}
	review := &apiextensionsv1.ConversionReview{Request: &apiextensionsv1.ConversionRequest{
		UID: types.UID("conversion-" + strconv.FormatInt(time.Now().UnixNano(), 36)), DesiredAPIVersion: gv.String(), Objects: []metav1.RawExtension{{Raw: raw}},
	}}
	review.SetGroupVersionKind(apiextensionsv1.GroupVersion.WithKind("ConversionReview"))
	answer, err := w.ask(hook.ClientConfig, review)
	if err != nil {
		return nil, err
	}
	return accept(u, review.Request, answer, gv)
}

// accept checks an answer. A webhook may change everything but the kind and what identifies the object.
func accept(u *metav1.Unstructured, request *apiextensionsv1.ConversionRequest, answer *apiextensionsv1.ConversionReview, gv schema.GroupVersion) (*metav1.Unstructured, error) {
	r := answer.Response
	switch {
	case r == nil:
		return nil, errors.New("the answer has no response")
	case r.UID != request.UID:
		return nil, fmt.Errorf("the answer is for request %q, not %q", r.UID, request.UID)
	case r.Result.Status != metav1.StatusSuccess:
		return nil, errors.New(r.Result.Message)
	case len(r.ConvertedObjects) != 1:
		return nil, fmt.Errorf("the answer has %d objects, not 1", len(r.ConvertedObjects))
	}
	out := &metav1.Unstructured{}
	if err := codec.Unmarshal(r.ConvertedObjects[0].Raw, out); err != nil {
		return nil, err
	}
	switch {
	case out.APIVersion != gv.String() || out.Kind != u.Kind:
		return nil, fmt.Errorf("the answer is a %s of %s, not a %s of %s", out.Kind, out.APIVersion, u.Kind, gv)
	case out.Name != u.Name || out.Namespace != u.Namespace || out.UID != u.UID:
		return nil, errors.New("the answer is another object")
	}
	labels, annotations := out.Labels, out.Annotations
	out.ObjectMeta = u.ObjectMeta
	out.Labels, out.Annotations = labels, annotations
	return out, nil
}

// ask sends a review to the webhook of a definition.
func (w *Webhook) ask(c *apiextensionsv1.WebhookClientConfig, review *apiextensionsv1.ConversionReview) (*apiextensionsv1.ConversionReview, error) {
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
	answer := &apiextensionsv1.ConversionReview{}
	return answer, w.client.Call(context.Background(), t, w.options.Timeout, review, answer)
}
