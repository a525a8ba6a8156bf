package apiserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// fieldValidation is how unknown and duplicate fields are handled.
type fieldValidation uint8

const (
	fieldsWarn fieldValidation = iota
	fieldsStrict
	fieldsIgnore
)

func (r *request) fieldValidation() (fieldValidation, error) {
	switch v := r.query.Get("fieldValidation"); v {
	case "", metav1.FieldValidationWarn:
		return fieldsWarn, nil
	case metav1.FieldValidationStrict:
		return fieldsStrict, nil
	case metav1.FieldValidationIgnore:
		return fieldsIgnore, nil
	default:
		kind := "UpdateOptions"
		switch r.info.Verb {
		case "create":
			kind = "CreateOptions"
		case "patch":
			kind = "PatchOptions"
		}
		return 0, invalidOption(kind, "fieldValidation", v, []string{"", metav1.FieldValidationIgnore, metav1.FieldValidationStrict, metav1.FieldValidationWarn})
	}
}

// kindGetter is implemented by objects that carry their kind.
type kindGetter interface {
	GroupVersionKind() schema.GroupVersionKind
}

// decode reads the body into obj, which must be of kind gvk. Unknown and duplicate fields cause an error, a
// warning or nothing.
func (r *request) decode(obj any, gvk schema.GroupVersionKind) error {
	data, err := r.readBody()
	if err != nil {
		return err
	}
	m, err := r.contentMedia()
	if err != nil {
		return err
	}
	if m == mediaProto && r.isCustom() {
		return apierrors.NewUnsupportedMediaType("the body of the request was in an unknown format - a custom resource has no protobuf form, accepted media types include: " + r.server.mediaTypes())
	}
	if len(data) == 0 {
		return apierrors.NewBadRequest("the request has no body")
	}
	fv, err := r.fieldValidation()
	if err != nil {
		return err
	}
	if err := r.decodeAs(data, m, obj, gvk, fv); err != nil {
		return err
	}
	r.auditBody(obj, gvk)
	return nil
}

func (r *request) decodeAs(data []byte, m media, obj any, gvk schema.GroupVersionKind, fv fieldValidation) error {
	var issues []codec.FieldIssue
	var err error
	o := codec.DecodeOptions{Strict: fv != fieldsIgnore}
	got := gvk
	switch m {
	case mediaProto:
		if !codec.IsEnvelope(data) {
			return apierrors.NewBadRequest("the body is not in the protobuf envelope")
		}
		got = schema.GroupVersionKind{}
		var apiVersion, kind string
		if apiVersion, kind, err = codec.UnmarshalEnvelope(data, obj); err == nil {
			got = schema.FromAPIVersionAndKind(apiVersion, kind)
		}
	case mediaYAML:
		issues, err = codec.UnmarshalYAML(data, obj, o)
	case mediaCBOR:
		issues, err = cbor.Unmarshal(data, obj, o)
	default:
		issues, err = codec.UnmarshalOptions(data, obj, o)
	}
	if err == nil && m != mediaProto {
		if k, ok := obj.(kindGetter); ok {
			got = k.GroupVersionKind()
		}
	}
	if err != nil {
		return apierrors.NewBadRequest(cannotHandle(gvk, err.Error()))
	}
	return r.checkDecoded(obj, got, gvk, issues, fv)
}

// checkDecoded compares the decoded kind with the expected one and handles unknown and duplicate fields.
func (r *request) checkDecoded(obj any, got, gvk schema.GroupVersionKind, issues []codec.FieldIssue, fv fieldValidation) error {
	_, unstructured := obj.(*metav1.Unstructured)
	if unstructured && got.Kind != gvk.Kind && got.Kind != "" && got.GroupVersion() == gvk.GroupVersion() {
		name := ""
		if o, ok := obj.(metav1.Object); ok {
			name = o.GetName()
		}
		return apierrors.NewInvalid(got.GroupKind(), name, validation.ErrorList{
			validation.Invalid(validation.NewPath("kind"), got.Kind, "must be "+gvk.Kind)})
	}
	if unstructured && r.isCustom() && (got.Kind == "" || got.Version == "") {
		// Only the Go types of built-in kinds imply a kind.
		if got.Kind == "" {
			return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): Object 'Kind' is missing", gvk.Kind))
		}
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data () does not match the expected API version (%s)", gvk.GroupVersion()))
	}
	if err := sameKind(got, gvk); err != nil {
		return err
	}
	if o, ok := obj.(metav1.Object); ok && unstructured && r.isCustom() {
		if prune := r.rt.res.Definition().Prune; prune != nil {
			for _, path := range prune(o) {
				issues = append(issues, codec.FieldIssue{Kind: codec.UnknownField, Path: path})
			}
		}
	}
	return r.report(issues, gvk, fv)
}

// isCustom reports whether the request is for a custom resource.
func (r *request) isCustom() bool {
	return r.rt != nil && r.rt.res != nil && r.rt.res.Definition().Custom
}

func cannotHandle(gvk schema.GroupVersionKind, reason string) string {
	return fmt.Sprintf("%s in version %q cannot be handled as a %s: %s", gvk.Kind, gvk.Version, gvk.Kind, reason)
}

// sameKind compares the kind of a body with the expected one. Empty parts match.
func sameKind(got, want schema.GroupVersionKind) error {
	if got.Kind == "" && got.Version == "" && got.Group == "" || got == want {
		return nil
	}
	if got.Kind == "" {
		got.Kind = want.Kind
	}
	if got.Version == "" && got.Group == "" {
		got.Group, got.Version = want.Group, want.Version
	}
	if got == want {
		return nil
	}
	if got.GroupVersion() != want.GroupVersion() {
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)",
			got.GroupVersion(), want.GroupVersion()))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the kind in the data (%s) does not match the expected kind (%s)", got.Kind, want.Kind))
}

// strictError is the error for unknown and duplicate fields with strict validation.
type strictError struct {
	error
	reason string
}

func (e *strictError) Unwrap() error { return e.error }

// textOf lists issues as kube-apiserver does. Those of YAML come first, a line each.
func textOf(issues []codec.FieldIssue) string {
	var keys strings.Builder
	var texts []string
	for _, issue := range issues {
		if issue.Line == 0 {
			texts = append(texts, issue.String())
			continue
		}
		if keys.Len() == 0 {
			keys.WriteString("yaml: unmarshal errors:")
		}
		keys.WriteString("\n  " + issue.String())
	}
	if keys.Len() > 0 {
		texts = slices.Insert(texts, 0, keys.String())
	}
	return strings.Join(texts, ", ")
}

// report turns unknown and duplicate fields into an error or warnings.
func (r *request) report(issues []codec.FieldIssue, gvk schema.GroupVersionKind, fv fieldValidation) error {
	if len(issues) == 0 || fv == fieldsIgnore {
		return nil
	}
	if fv == fieldsStrict {
		reason := cannotHandle(gvk, "strict decoding error: "+textOf(issues))
		return &strictError{apierrors.NewBadRequest(reason), reason}
	}
	for _, issue := range issues {
		r.warn(issue.String())
	}
	return nil
}
