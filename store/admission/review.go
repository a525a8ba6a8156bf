package admission

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/authn"
)

var (
	errNoObject = errors.New("the request has no object that could be changed")
	reviewKind  = admissionv1.GroupVersion.WithKind("AdmissionReview")
)

// newUID returns a random identifier of a review.
func newUID() types.UID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// newRequest returns the AdmissionRequest of a version, without the objects: expressions have them as
// variables.
func newRequest(a *Attributes, form *Served) (*admissionv1.AdmissionRequest, error) {
	options, err := optionsOf(a)
	if err != nil {
		return nil, err
	}
	kind, resource := metaKind(a.Kind), metaResource(a.Resource)
	return &admissionv1.AdmissionRequest{
		Kind: metaKind(form.Kind), Resource: metaResource(form.Resource), SubResource: a.Subresource,
		RequestKind: &kind, RequestResource: &resource, RequestSubResource: a.Subresource,
		Name: a.Name, Namespace: a.requestNamespace(), Operation: admissionv1.Operation(a.Operation), UserInfo: userInfo(a.User),
		DryRun: &a.DryRun, Options: metav1.RawExtension{Raw: options},
	}, nil
}

// newReview returns the review to send to a webhook.
func newReview(ctx context.Context, f *forms, form *Served) (*admissionv1.AdmissionReview, error) {
	request, err := newRequest(f.a, form)
	if err != nil {
		return nil, err
	}
	request.UID = newUID()
	now, err := f.object(ctx, form.Kind)
	if err != nil {
		return nil, err
	}
	old, err := f.oldObject(ctx, form.Kind)
	if err != nil {
		return nil, err
	}
	request.Object.Raw, request.OldObject.Raw = now.json, old.json
	review := &admissionv1.AdmissionReview{Request: request}
	review.SetGroupVersionKind(reviewKind)
	return review, nil
}

func metaKind(k schema.GroupVersionKind) metav1.GroupVersionKind {
	return metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

func metaResource(r schema.GroupVersionResource) metav1.GroupVersionResource {
	return metav1.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
}

func userInfo(u *authn.User) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: u.Name, UID: u.UID, Groups: u.Groups}
	if len(u.Extra) > 0 {
		info.Extra = make(map[string]authenticationv1.ExtraValue, len(u.Extra))
		for k, v := range u.Extra {
			info.Extra[k] = v
		}
	}
	return info
}

// optionsOf returns the request's options in JSON, those of a patch as those of its create or update.
func optionsOf(a *Attributes) ([]byte, error) {
	var options any
	kind := ""
	switch o := a.Options.(type) {
	case *metav1.CreateOptions:
		c := *o
		options, kind = &c, "CreateOptions"
	case *metav1.UpdateOptions:
		c := *o
		options, kind = &c, "UpdateOptions"
	case *metav1.PatchOptions:
		if a.Operation == Create {
			options, kind = &metav1.CreateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation}, "CreateOptions"
		} else {
			options, kind = &metav1.UpdateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation}, "UpdateOptions"
		}
	case *metav1.DeleteOptions:
		c := *o
		options, kind = &c, "DeleteOptions"
	default:
		return nil, nil
	}
	options.(interface {
		SetGroupVersionKind(schema.GroupVersionKind)
	}).SetGroupVersionKind(schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: kind})
	return codec.Marshal(options)
}

// verify checks that a response belongs to a review. The rules of v1beta1 are laxer.
func verify(reply, review *admissionv1.AdmissionReview, mutating bool) (*admissionv1.AdmissionResponse, error) {
	r := reply.Response
	if r == nil {
		return nil, errors.New("webhook response was absent")
	}
	strict := review.APIVersion == reviewKind.GroupVersion().String()
	patched, typed := len(r.Patch) > 0, r.PatchType != nil
	switch got := reply.GroupVersionKind(); {
	case strict && got != reviewKind:
		return nil, fmt.Errorf("expected webhook response of %v, got %v", reviewKind, got)
	case strict && r.UID != review.Request.UID:
		return nil, fmt.Errorf("expected response.uid=%q, got %q", review.Request.UID, r.UID)
	case !mutating && (patched || typed) && strict:
		return nil, errors.New("validating webhook may not return response.patch or response.patchType")
	case strict && patched && !typed:
		return nil, errors.New("webhook returned response.patch but not response.patchType")
	case patched && typed && *r.PatchType != admissionv1.PatchTypeJSONPatch:
		return nil, fmt.Errorf("webhook returned invalid response.patchType of %q", *r.PatchType)
	case strict && !patched && typed:
		return nil, errors.New("webhook returned response.patchType but not response.patch")
	}
	return r, nil
}

// denial returns the error for a request that a webhook refused.
func denial(webhook string, result *metav1.Status) error {
	status := metav1.Status{}
	if result != nil {
		status = *result
	}
	if status.Code < http.StatusBadRequest {
		status.Code = http.StatusBadRequest
	}
	if status.Status == "" || status.Status == metav1.StatusSuccess {
		status.Status = metav1.StatusFailure
	}
	denied := fmt.Sprintf("admission webhook %q denied the request", webhook)
	switch {
	case status.Message != "":
		status.Message = denied + ": " + status.Message
	case status.Reason != "":
		status.Message = denied + ": " + string(status.Reason)
	default:
		status.Message = denied + " without explanation"
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// timeoutOf returns the timeout of a webhook.
func timeoutOf(seconds *int32) time.Duration {
	if seconds == nil {
		return 10 * time.Second
	}
	return time.Duration(*seconds) * time.Second
}

// refuse returns the 403 error of a request, with the generateName of an object without a name.
func refuse(a *Attributes, err error) *apierrors.StatusError {
	name := a.Name
	if name == "" {
		name = "Unknown"
		if a.Object != nil && metav1.MetaOf(a.Object).GenerateName != "" {
			name = metav1.MetaOf(a.Object).GenerateName
		}
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), name, err)
}
