package apiserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/flowcontrol"
)

// maxBody is the greatest size of a request body, in bytes.
const maxBody = 3 << 20

// request is one request on its way through the server. It is used by one goroutine; others reach its
// connection through whileServed only.
type request struct {
	*http.Request
	server   *Server
	w        http.ResponseWriter
	info     RequestInfo
	rt       *route            // nil until the resource has been found
	seat     *flowcontrol.Seat // nil until it runs, or if it does not count
	long     *Measurement      // set while Metrics.LongRunning counts the request
	handler  string            // path of the handler that serves a request that is not for a resource
	query    url.Values
	begun    time.Time
	outside  time.Duration // waiting to be let run, and for webhooks
	warnings []string
	body     []byte
	bodyRead bool        // or tried to
	bodyHere atomic.Bool // all of it

	serving sync.Mutex // held while another goroutine uses the ResponseWriter
	over    bool       // the handler has returned, or is about to; guarded by serving
}

// whileServed calls f, which may use the ResponseWriter, from a goroutine that is not the request's, unless
// the handler has returned: net/http takes the ResponseWriter back then, and that of HTTP/2 panics if it is
// used. f must not wait for the handler.
func (r *request) whileServed(f func()) {
	r.serving.Lock()
	defer r.serving.Unlock()
	if !r.over {
		f()
	}
}

// served waits for a call of whileServed that has begun, and refuses those to come. It is the last thing the
// handler does.
func (r *request) served() {
	r.serving.Lock()
	r.over = true
	r.serving.Unlock()
}

// key is the object's key: the namespace is empty for cluster-scoped kinds.
func (r *request) key(namespaced bool) types.NamespacedName {
	if !namespaced {
		return types.NamespacedName{Name: r.info.Name}
	}
	return types.NamespacedName{Namespace: r.info.Namespace, Name: r.info.Name}
}

// warn adds a warning to the answer, once.
func (r *request) warn(text string) {
	const most = 20
	if len(r.warnings) >= most {
		return
	}
	for _, w := range r.warnings {
		if w == text {
			return
		}
	}
	r.warnings = append(r.warnings, text)
}

// Bounds of warnings in an answer, in characters: clients and proxies bound headers, and a webhook or a
// request may cause any text.
const (
	allWarnings = 4096 // in all; if they are longer,
	oneWarning  = 256  // each is cut to this, and the last are left out
)

// sendWarnings writes the warnings into the header. Called before the status is.
func (r *request) sendWarnings() {
	total := 0
	for _, text := range r.warnings {
		total += utf8.RuneCountInString(text)
	}
	cut, sent := total > allWarnings, 0
	for _, text := range r.warnings {
		if cut {
			text = firstRunes(text, oneWarning)
		}
		if sent += utf8.RuneCountInString(text); sent > allWarnings {
			break
		}
		r.w.Header().Add("Warning", warningHeader(text))
	}
	r.warnings = nil
}

// firstRunes is the beginning of a text, of at most n characters.
func firstRunes(text string, n int) string {
	for at := range text {
		if n == 0 {
			return text[:at]
		}
		n--
	}
	return text
}

// warningHeader is the text as a Warning header of RFC 7234: quoted, without control characters.
func warningHeader(text string) string {
	var b strings.Builder
	b.WriteString(`299 - "`)
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < ' ' || c == 0x7f:
			b.WriteByte(' ')
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// readBody returns the body, read once.
func (r *request) readBody() ([]byte, error) {
	if r.bodyRead {
		return r.body, nil
	}
	r.bodyRead = true
	if r.ContentLength > maxBody {
		return nil, tooLarge()
	}
	if r.Body == nil || r.ContentLength == 0 {
		return nil, nil
	}
	if n := r.ContentLength; n > 0 {
		b, err := readGrowing(r.Body, int(n))
		if err != nil {
			return nil, r.unread(err)
		}
		r.body = b
		r.bodyHere.Store(true)
		return b, nil
	}
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge()
	}
	if err != nil {
		return nil, r.unread(err)
	}
	r.body = b
	r.bodyHere.Store(true)
	return b, nil
}

// promised is the most that is allocated for a body before any of it has come: clients may announce more than
// they send.
const promised = 64 << 10

// readGrowing reads exactly n bytes into memory that grows with what arrives.
func readGrowing(in io.Reader, n int) ([]byte, error) {
	b := make([]byte, min(n, promised))
	for got := 0; ; {
		k, err := io.ReadFull(in, b[got:])
		if err != nil {
			return nil, err
		}
		if got += k; got == n {
			return b, nil
		}
		grown := make([]byte, min(n, 2*len(b)))
		copy(grown, b)
		b = grown
	}
}

// unread says why there is no body.
func (r *request) unread(err error) error {
	if r.Context().Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return apierrors.NewTimeout("the body did not arrive within the allotted timeout", 0)
	}
	return apierrors.NewBadRequest("the body could not be read: " + err.Error())
}

func tooLarge() error {
	return apierrors.NewRequestEntityTooLarge(fmt.Sprintf("limit is %d", maxBody))
}

// fieldValidation is how fields that do not belong are treated.
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

// kinded is what a body says it is.
type kinded interface {
	GroupVersionKind() schema.GroupVersionKind
}

// decode reads the body into obj, which must be of kind gvk. Fields that do not belong are refused, warned of
// or ignored.
func (r *request) decode(obj any, gvk schema.GroupVersionKind) error {
	data, err := r.readBody()
	if err != nil {
		return err
	}
	m, err := r.contentMedia()
	if err != nil {
		return err
	}
	if m == mediaProto && r.custom() {
		return apierrors.NewUnsupportedMediaType("the body of the request was in an unknown format - a custom resource has no protobuf form, accepted media types include: " + r.server.mediaTypes())
	}
	if len(data) == 0 {
		return apierrors.NewBadRequest("the request has no body")
	}
	fv, err := r.fieldValidation()
	if err != nil {
		return err
	}
	return r.decodeAs(data, m, obj, gvk, fv)
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
		if k, ok := obj.(kinded); ok {
			got = k.GroupVersionKind()
		}
	}
	if err != nil {
		return apierrors.NewBadRequest(cannotHandle(gvk, err.Error()))
	}
	return r.checked(obj, got, gvk, issues, fv)
}

// checked compares the kind of what was decoded and deals with fields that do not belong.
func (r *request) checked(obj any, got, gvk schema.GroupVersionKind, issues []codec.FieldIssue, fv fieldValidation) error {
	_, unstructured := obj.(*metav1.Unstructured)
	if unstructured && got.Kind != gvk.Kind && got.Kind != "" && got.GroupVersion() == gvk.GroupVersion() {
		name := ""
		if o, ok := obj.(metav1.Object); ok {
			name = o.GetName()
		}
		return apierrors.NewInvalid(got.GroupKind(), name, validation.ErrorList{
			validation.Invalid(validation.NewPath("kind"), got.Kind, "must be "+gvk.Kind)})
	}
	if unstructured && r.custom() && (got.Kind == "" || got.Version == "") {
		// Only the types of built-in kinds say what their objects are.
		if got.Kind == "" {
			return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): Object 'Kind' is missing", gvk.Kind))
		}
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data () does not match the expected API version (%s)", gvk.GroupVersion()))
	}
	if err := sameKind(got, gvk); err != nil {
		return err
	}
	if o, ok := obj.(metav1.Object); ok && unstructured && r.custom() {
		if prune := r.rt.res.Definition().Prune; prune != nil {
			for _, path := range prune(o) {
				issues = append(issues, codec.FieldIssue{Kind: codec.UnknownField, Path: path})
			}
		}
	}
	return r.report(issues, gvk, fv)
}

// custom reports that the request is for a custom resource.
func (r *request) custom() bool {
	return r.rt != nil && r.rt.res != nil && r.rt.res.Definition().Custom
}

func cannotHandle(gvk schema.GroupVersionKind, why string) string {
	return fmt.Sprintf("%s in version %q cannot be handled as a %s: %s", gvk.Kind, gvk.Version, gvk.Kind, why)
}

// sameKind compares what a body says it is with what it has to be. What it leaves out is taken as meant.
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

// strictError refuses fields that do not belong.
type strictError struct {
	error
	why string
}

func (e *strictError) Unwrap() error { return e.error }

// report refuses or warns of fields that do not belong.
func (r *request) report(issues []codec.FieldIssue, gvk schema.GroupVersionKind, fv fieldValidation) error {
	if len(issues) == 0 || fv == fieldsIgnore {
		return nil
	}
	if fv == fieldsStrict {
		texts := make([]string, len(issues))
		for i, issue := range issues {
			texts[i] = issue.String()
		}
		why := cannotHandle(gvk, "strict decoding error: "+strings.Join(texts, ", "))
		return &strictError{apierrors.NewBadRequest(why), why}
	}
	for _, issue := range issues {
		r.warn(issue.String())
	}
	return nil
}
