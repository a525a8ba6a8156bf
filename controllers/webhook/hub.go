package webhook

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// Spoke is a version of a kind whose objects are converted to and from the hub of type H. It is made by
// [SpokeOf].
type Spoke[H metav1.Object] struct {
	version schema.GroupVersion
	toHub   func(raw []byte, hub H) error
	fromHub func(hub H) ([]byte, error)
}

// SpokeOf returns the version whose objects are of type S. toHub fills in an empty hub from an S, fromHub an
// empty S from the hub. They need not set apiVersion, kind and metadata other than labels and annotations,
// which are taken over. What one version cannot express has to be kept in the other, such as in an
// annotation: an object that is read in one version and written back unchanged must not lose anything.
func SpokeOf[S, H metav1.Object](version schema.GroupVersion, toHub, fromHub func(S, H) error) Spoke[H] {
	return Spoke[H]{
		version: version,
		toHub: func(raw []byte, hub H) error {
			obj, err := decode[S](raw)
			if err != nil {
				return err
			}
			hub.SetLabels(obj.GetLabels())
			hub.SetAnnotations(obj.GetAnnotations())
			return toHub(obj, hub)
		},
		fromHub: func(hub H) ([]byte, error) {
			obj, err := decode[S]([]byte("{}"))
			if err != nil {
				return nil, err
			}
			obj.SetLabels(hub.GetLabels())
			obj.SetAnnotations(hub.GetAnnotations())
			if err := fromHub(obj, hub); err != nil {
				return nil, err
			}
			return codec.Marshal(obj)
		},
	}
}

// ConversionByHub returns the handler of the conversion webhook of a kind that has one version, the hub, to
// and from which all others are converted. Objects of two spokes are converted by way of the hub, usually the
// version that is stored. See [Conversion] for what an error does.
//
//	server.Handle("/convert", webhook.ConversionByHub(v2.GroupVersion,
//		webhook.SpokeOf(v1.GroupVersion, (*v1.Website).ConvertTo, (*v1.Website).ConvertFrom)))
func ConversionByHub[H metav1.Object](hub schema.GroupVersion, spokes ...Spoke[H]) http.Handler {
	byVersion := map[string]Spoke[H]{}
	for _, s := range spokes {
		byVersion[s.version.String()] = s
	}
	return Conversion(func(_ context.Context, obj *metav1.Unstructured, to schema.GroupVersion) error {
		for _, version := range []string{obj.APIVersion, to.String()} {
			if _, ok := byVersion[version]; !ok && version != hub.String() {
				return fmt.Errorf("there is no conversion for %s: the versions are %s", version, versionsOf(hub, spokes))
			}
		}
		raw, err := codec.Marshal(obj)
		if err != nil {
			return err
		}
		out, err := byHub(hub, byVersion, raw, obj.APIVersion, to.String())
		if err != nil {
			return err
		}
		return replace(obj, out)
	})
}

// versionsOf lists the versions.
func versionsOf[H metav1.Object](hub schema.GroupVersion, spokes []Spoke[H]) string {
	names := []string{hub.String()}
	for _, s := range spokes {
		names = append(names, s.version.String())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// byHub converts the JSON of an object from a version to another one.
func byHub[H metav1.Object](hub schema.GroupVersion, spokes map[string]Spoke[H], raw []byte, from, to string) ([]byte, error) {
	text := raw
	if from != hub.String() {
		text = []byte("{}")
	}
	obj, err := decode[H](text)
	if err != nil {
		return nil, err
	}
	if from != hub.String() {
		if err := spokes[from].toHub(raw, obj); err != nil {
			return nil, err
		}
	}
	if to != hub.String() {
		return spokes[to].fromHub(obj)
	}
	return codec.Marshal(obj)
}

// replace replaces the fields of obj by those of the JSON of another version of it. Of the metadata, only
// labels and annotations can differ.
func replace(obj *metav1.Unstructured, raw []byte) error {
	other := &metav1.Unstructured{}
	if err := codec.Unmarshal(raw, other); err != nil {
		return err
	}
	obj.SetLabels(other.GetLabels())
	obj.SetAnnotations(other.GetAnnotations())
	obj.Fields = other.Fields
	return nil
}
