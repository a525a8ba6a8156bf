package v1alpha1

import (
	"fmt"
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	v1 "github.com/keelson-dev/keelson/examples/operator/api/v1"
)

// EnvironmentAnnotation holds the environment, in JSON, for which this version has no field: an object that
// is read in this version and written back keeps it.
const EnvironmentAnnotation = "demo.keelson.dev/environment"

// ConvertTo fills in an empty hub. Labels and annotations have been taken over; see webhook.SpokeOf.
func (w *Website) ConvertTo(hub *v1.Website) error {
	if kept, ok := w.Annotations[EnvironmentAnnotation]; ok {
		if err := codec.Unmarshal([]byte(kept), &hub.Spec.Environment); err != nil {
			return fmt.Errorf("annotation %s: %w", EnvironmentAnnotation, err)
		}
		hub.Annotations = maps.Clone(w.Annotations)
		if delete(hub.Annotations, EnvironmentAnnotation); len(hub.Annotations) == 0 {
			hub.Annotations = nil
		}
	}
	hub.Spec.Image, hub.Spec.Replicas, hub.Spec.Port, hub.Spec.Host = w.Spec.Image, w.Spec.Size, w.Spec.Port, w.Spec.Host
	hub.Status = v1.WebsiteStatus(w.Status)
	return nil
}

// ConvertFrom fills in an empty Website of this version from the hub.
func (w *Website) ConvertFrom(hub *v1.Website) error {
	if len(hub.Spec.Environment) > 0 {
		text, err := codec.Marshal(hub.Spec.Environment)
		if err != nil {
			return err
		}
		w.Annotations = maps.Clone(hub.Annotations)
		if w.Annotations == nil {
			w.Annotations = map[string]string{}
		}
		w.Annotations[EnvironmentAnnotation] = string(text)
	}
	w.Spec = WebsiteSpec{Image: hub.Spec.Image, Size: hub.Spec.Replicas, Port: hub.Spec.Port, Host: hub.Spec.Host}
	w.Status = WebsiteStatus(hub.Status)
	return nil
}
