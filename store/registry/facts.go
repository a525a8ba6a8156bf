package registry

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// Facts are the ways in which kinds differ that need no code.
type Facts struct {
	// JSON stores objects as JSON instead of the protobuf envelope.
	JSON bool
	// CreateOnUpdate lets a PUT (or an apply to a missing object, which every kind allows) create the object.
	CreateOnUpdate bool
	// VersionRequired refuses a PUT without metadata.resourceVersion.
	VersionRequired bool
	// Generation says what counts as a change of the desired state.
	Generation GenerationRule
	// Orphans makes Orphan the propagation policy of a delete that names none.
	Orphans bool
}

// GenerationRule says when metadata.generation rises.
type GenerationRule uint8

// The rules. Where the server does not manage the generation the client's value is kept.
const (
	Unmanaged         GenerationRule = iota
	OnSpec                           // anything but metadata and status changes
	OnSpecAndMetadata                // like OnSpec, and annotations count too
)

func builtinFacts(gr schema.GroupResource) Facts {
	var f Facts
	switch gr.Group {
	case "":
		switch gr.Resource {
		case "events", "endpoints", "limitranges", "services":
			f.CreateOnUpdate = true
		case "pods":
			f.Generation = OnSpec
		case "replicationcontrollers":
			f.Generation, f.Orphans = OnSpec, true
		}
	case "apps":
		switch gr.Resource {
		case "deployments":
			f.Generation = OnSpecAndMetadata
		case "daemonsets", "replicasets", "statefulsets":
			f.Generation = OnSpec
		}
	case "batch":
		f.Generation = OnSpec
		f.Orphans = gr.Resource == "jobs"
	case "rbac.authorization.k8s.io":
		f.CreateOnUpdate = true
	case "coordination.k8s.io":
		f.CreateOnUpdate, f.VersionRequired = true, true
	case "node.k8s.io":
		f.CreateOnUpdate, f.VersionRequired = true, true
	case "policy":
		f.Generation, f.VersionRequired = OnSpec, true
	case "discovery.k8s.io":
		f.Generation = OnSpec
	case "networking.k8s.io":
		switch gr.Resource {
		case "networkpolicies", "ingresses", "ingressclasses":
			f.Generation = OnSpec
		}
	case "flowcontrol.apiserver.k8s.io":
		f.Generation = OnSpec
	case "scheduling.k8s.io":
		f.Generation = OnSpec
	case "resource.k8s.io":
		switch gr.Resource {
		case "deviceclasses", "resourceslices":
			f.Generation = OnSpec
		}
	case "storage.k8s.io":
		f.VersionRequired = gr.Resource == "volumeattachments" || gr.Resource == "csidrivers" || gr.Resource == "csinodes" || gr.Resource == "csistoragecapacities"
		if gr.Resource == "csidrivers" {
			f.Generation = Unmanaged
		}
	case "admissionregistration.k8s.io":
		f.Generation, f.VersionRequired = OnSpec, true
	case "storagemigration.k8s.io":
		f.VersionRequired = true
	case "apiextensions.k8s.io", "apiregistration.k8s.io":
		f.JSON, f.VersionRequired = true, true
		if gr.Group == "apiextensions.k8s.io" {
			f.Generation = OnSpec
		}
	}
	return f
}

// storedKinds are the kinds kept at another version than the one they are served at.
var storedKinds = map[schema.GroupVersionResource]schema.GroupVersionResource{
	{Group: "events.k8s.io", Version: "v1", Resource: "events"}:                 {Version: "v1", Resource: "events"},
	{Group: "autoscaling", Version: "v1", Resource: "horizontalpodautoscalers"}: {Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
}

// storedVersions are the apiVersions written into the envelope where they differ from the Go type's, because
// the shape is the same and a Kubernetes server writes that one.
var storedVersions = map[schema.GroupResource]string{
	{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicies"}:       "admissionregistration.k8s.io/v1beta1",
	{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicybindings"}: "admissionregistration.k8s.io/v1beta1",
}

// defaultPropagation returns the policy of a delete that names none.
func (f Facts) defaultPropagation() metav1.DeletionPropagation {
	if f.Orphans {
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}
