package webhook

import (
	"context"
	"fmt"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// Conversion returns the handler of the conversion webhook of a CustomResourceDefinition. convert changes obj
// from the version in its APIVersion to the version to; the handler sets APIVersion afterwards. convert is
// not called for objects that already have that version. It must not change metadata other than labels and
// annotations. An error or a panic fails the whole request.
func Conversion(convert func(ctx context.Context, obj *metav1.Unstructured, to schema.GroupVersion) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		var review apiextensionsv1.ConversionReview
		if !read(w, hr, &review) {
			return
		}
		if review.Request == nil || review.APIVersion != "apiextensions.k8s.io/v1" || review.Kind != "ConversionReview" {
			http.Error(w, "expected a ConversionReview of apiextensions.k8s.io/v1 with a request", http.StatusBadRequest)
			return
		}
		answer := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, ConvertedObjects: []metav1.RawExtension{}}
		err := guarded(hr, true, func() (err error) {
			answer.ConvertedObjects, err = convertAll(hr.Context(), review.Request, convert)
			return err
		})
		if answer.Result.Status = metav1.StatusSuccess; err != nil {
			answer.ConvertedObjects = []metav1.RawExtension{}
			answer.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
		}
		write(w, &apiextensionsv1.ConversionReview{TypeMeta: review.TypeMeta, Response: answer})
	})
}

func convertAll(ctx context.Context, r *apiextensionsv1.ConversionRequest, convert func(context.Context, *metav1.Unstructured, schema.GroupVersion) error) ([]metav1.RawExtension, error) {
	to, err := schema.ParseGroupVersion(r.DesiredAPIVersion)
	if err != nil {
		return nil, err
	}
	out := make([]metav1.RawExtension, len(r.Objects))
	for i, o := range r.Objects {
		obj := &metav1.Unstructured{}
		if err := codec.Unmarshal(o.Raw, obj); err != nil {
			return nil, err
		}
		if obj.APIVersion != r.DesiredAPIVersion {
			from := obj.APIVersion
			if err := convert(ctx, obj, to); err != nil {
				return nil, fmt.Errorf("convert %s %s from %s to %s: %w", obj.Kind, metav1.KeyOf(obj), from, r.DesiredAPIVersion, err)
			}
			obj.APIVersion = r.DesiredAPIVersion
		}
		if out[i].Raw, err = codec.Marshal(obj); err != nil {
			return nil, err
		}
	}
	return out, nil
}
