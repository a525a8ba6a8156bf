package manifest

import (
	"cmp"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// Order is the place of a kind when objects are created together; those of a lower one come first. Deletions
// go the other way.
type Order int

// The places, in order.
const (
	// Definitions of custom resources, without which the kinds of others do not exist.
	Definitions Order = iota
	// Namespaces, without which objects of others cannot be created.
	Namespaces
	// Ordinary objects.
	Ordinary
	// Hooks change how the server treats other objects: webhook configurations, admission policies and API
	// services. They come last, because what serves them is among the ordinary objects.
	Hooks
)

// OrderOf returns the place of a kind.
func OrderOf(gk schema.GroupKind) Order {
	switch gk.Group {
	case "apiextensions.k8s.io":
		if gk.Kind == "CustomResourceDefinition" {
			return Definitions
		}
	case "":
		if gk.Kind == "Namespace" {
			return Namespaces
		}
	case "admissionregistration.k8s.io", "apiregistration.k8s.io":
		return Hooks
	}
	return Ordinary
}

// Sort orders objects by [OrderOf] of their kinds. Objects of one place keep their order.
func Sort(objs []*metav1.Unstructured) {
	slices.SortStableFunc(objs, func(a, b *metav1.Unstructured) int {
		return cmp.Compare(OrderOf(a.GroupVersionKind().GroupKind()), OrderOf(b.GroupVersionKind().GroupKind()))
	})
}
