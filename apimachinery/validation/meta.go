package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Limits of object metadata.
const (
	// AnnotationsMaxSize is the maximum size in bytes of all annotation keys and values of one object
	// together.
	AnnotationsMaxSize = 256 << 10
	// FieldManagerMaxLength is the maximum length in bytes of a field manager's name.
	FieldManagerMaxLength = 128
	// SubresourceMaxLength is the maximum length in bytes of a subresource in managedFields.
	SubresourceMaxLength = 256
)

// The finalizers that determine how dependents are deleted.
const (
	finalizerOrphan     = "orphan"
	finalizerForeground = "foregroundDeletion"
)

// NameFunc checks the name of an object, or with prefix a generateName.
type NameFunc func(name string, prefix bool) []string

// NameIsSubdomain is the NameFunc of most kinds.
func NameIsSubdomain(name string, prefix bool) []string {
	return IsDNS1123Subdomain(completed(name, prefix))
}

// NameIsLabel is the NameFunc of namespaces and kinds whose names become DNS
// labels.
func NameIsLabel(name string, prefix bool) []string {
	return IsDNS1123Label(completed(name, prefix))
}

// NameIsLabel1035 is the NameFunc of kinds whose names must start with a letter.
func NameIsLabel1035(name string, prefix bool) []string {
	return IsDNS1035Label(completed(name, prefix))
}

// NameIsPathSegment is the NameFunc of kinds whose names only have to be valid in a URL path.
func NameIsPathSegment(name string, prefix bool) []string {
	if prefix {
		return IsPathSegmentPrefix(name)
	}
	return IsPathSegmentName(name)
}

// completed turns a prefix into a complete name: a prefix may end in a hyphen, because a random suffix
// follows.
func completed(name string, prefix bool) string {
	if prefix && len(name) > 1 && name[len(name)-1] == '-' {
		return name[:len(name)-2] + "a"
	}
	return name
}

// Labels checks the labels of an object; p is metadata.labels. Findings are in
// the order of the keys.
func Labels(p *Path, labels map[string]string) ErrorList {
	var out ErrorList
	if !anyBad(labels, func(k, v string) bool {
		return len(v) > LabelValueMaxLength || v != "" && !isName(v) || IsQualifiedName(k) != nil
	}) {
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, LabelName(p, k)...)
		out = append(out, InvalidEach(p, labels[k], IsLabelValue(labels[k])).WithOrigin("format=k8s-label-value")...)
	}
	return out
}

func anyBad(m map[string]string, bad func(k, v string) bool) bool {
	for k, v := range m {
		if bad(k, v) {
			return true
		}
	}
	return false
}

// LabelName checks a label key.
func LabelName(p *Path, name string) ErrorList {
	return InvalidEach(p, name, IsQualifiedName(name)).WithOrigin("format=k8s-label-key")
}

// Annotations checks the keys of annotations and the size of all together; p is
// metadata.annotations. Keys may have upper-case letters in their prefix.
func Annotations(p *Path, annotations map[string]string) ErrorList {
	var out ErrorList
	bad := anyBad(annotations, func(k, _ string) bool { return IsQualifiedName(strings.ToLower(k)) != nil })
	if bad {
		for _, k := range slices.Sorted(maps.Keys(annotations)) {
			out = append(out, InvalidEach(p, k, IsQualifiedName(strings.ToLower(k))).WithOrigin("format=k8s-label-key")...)
		}
	}
	if AnnotationsSize(annotations) > AnnotationsMaxSize {
		out = append(out, TooLong(p, AnnotationsMaxSize))
	}
	return out
}

// AnnotationsSize returns the size in bytes of all keys and values.
func AnnotationsSize(annotations map[string]string) int {
	size := 0
	for k, v := range annotations {
		size += len(k) + len(v)
	}
	return size
}

// FinalizerName checks the name of one finalizer in the metadata of any object.
func FinalizerName(p *Path, name string) ErrorList {
	return InvalidEach(p, name, IsQualifiedName(name))
}

// Finalizers checks metadata.finalizers.
func Finalizers(p *Path, finalizers []string) ErrorList {
	var out ErrorList
	for _, name := range finalizers {
		out = append(out, FinalizerName(p, name)...)
	}
	if slices.Contains(finalizers, finalizerOrphan) && slices.Contains(finalizers, finalizerForeground) {
		out = append(out, Invalid(p, finalizers, fmt.Sprintf("finalizer %s and %s cannot be both set", finalizerOrphan, finalizerForeground)))
	}
	return out
}

// NoNewFinalizers refuses finalizers added to an object that is being deleted.
func NoNewFinalizers(p *Path, now, before []string) ErrorList {
	var added []string
	for _, name := range now {
		if !slices.Contains(before, name) && !slices.Contains(added, name) {
			added = append(added, name)
		}
	}
	if added == nil {
		return nil
	}
	slices.Sort(added)
	return ErrorList{Forbidden(p, fmt.Sprintf("no new finalizers can be added if the object is being deleted, found new finalizers %#v", added))}
}

// OwnerReference holds the fields of an owner reference that are checked.
type OwnerReference struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         *bool  `json:"controller,omitempty"`
	BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty"`
}

// OwnerReferences checks metadata.ownerReferences: every field is set, no owner
// is an Event, at most one is the controller.
func OwnerReferences(p *Path, refs []OwnerReference) ErrorList {
	var out ErrorList
	controller := ""
	for _, ref := range refs {
		version := ref.APIVersion
		if _, v, grouped := strings.Cut(ref.APIVersion, "/"); grouped {
			version = v
		}
		if version == "" || strings.Contains(version, "/") {
			out = append(out, Invalid(p.Child("apiVersion"), ref.APIVersion, "version must not be empty"))
		}
		for _, f := range [...]struct{ name, value string }{{"kind", ref.Kind}, {"name", ref.Name}, {"uid", ref.UID}} {
			if f.value == "" {
				out = append(out, Invalid(p.Child(f.name), f.value, "must not be empty"))
			}
		}
		if ref.APIVersion == "v1" && ref.Kind == "Event" {
			out = append(out, Invalid(p, ref, "/v1, Kind=Event is disallowed from being an owner"))
		}
		if ref.Controller == nil || !*ref.Controller {
			continue
		}
		this := ref.Kind + "/" + ref.Name
		if controller != "" {
			out = append(out, Invalid(p, refs, fmt.Sprintf("Only one reference can have Controller set to true. Found \"true\" in references for %s and %s", controller, this)))
		} else {
			controller = this
		}
	}
	return out
}

// FieldManager checks the name of a field manager.
func FieldManager(p *Path, name string) ErrorList {
	var out ErrorList
	if len(name) > FieldManagerMaxLength {
		out = append(out, TooLong(p, FieldManagerMaxLength))
	}
	for i, r := range name {
		if !unicode.IsPrint(r) {
			out = append(out, Invalid(p, name, fmt.Sprintf("invalid character %#U (at position %d)", r, i)))
		}
	}
	return out
}

// Immutable returns a finding if the two values differ.
func Immutable[T comparable](p *Path, now, before T) ErrorList {
	if now == before {
		return nil
	}
	return ErrorList{Invalid(p, now, ImmutableText)}
}
