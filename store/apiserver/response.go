package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

var statusKind = schema.GroupVersionKind{Version: "v1", Kind: "Status"}

// fail answers with the Status of err. What breaks inside because the request's time is up, a webhook's
// answer above all, is a timeout.
func (r *request) fail(err error) {
	status := apierrors.ToStatus(err)
	if status.Code == http.StatusInternalServerError && errors.Is(r.Context().Err(), context.DeadlineExceeded) {
		status = apierrors.ToStatus(apierrors.NewTimeout("request did not complete within the allotted timeout", 0))
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		r.w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	out, _ := negotiate(r.Header.Get("Accept"), offers{proto: true, cbor: r.server.options.CBOR, table: true, meta: true})
	out.as = asObject
	r.send(int(status.Code), out, statusKind, &status)
}

// succeed answers with a Status without more to say.
func (r *request) succeed(code int, details *metav1.StatusDetails) {
	out, err := r.accepts(offers{proto: true, table: true, meta: true})
	if err != nil {
		r.fail(err)
		return
	}
	status := metav1.Status{Status: metav1.StatusSuccess, Details: details}
	if code != http.StatusOK {
		status.Code = int32(code)
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	r.send(code, out, statusKind, &status)
}

// accepts negotiates the answer.
func (r *request) accepts(o offers) (output, error) {
	o.cbor = r.server.options.CBOR
	out, ok := negotiate(r.Header.Get("Accept"), o)
	if !ok {
		return out, apierrors.NewNotAcceptable("only the following media types are accepted: " + r.server.mediaTypes())
	}
	return out, nil
}

// send encodes v, which has apiVersion and kind set, and answers with it.
func (r *request) send(code int, out output, gvk schema.GroupVersionKind, v any) {
	var body []byte
	var err error
	switch out.media {
	case mediaProto:
		body, err = codec.MarshalEnvelope(gvk.GroupVersion().String(), gvk.Kind, v)
	case mediaYAML:
		body, err = codec.MarshalYAML(v)
	case mediaCBOR:
		body, err = cbor.Marshal(v)
	default:
		body, err = codec.AppendJSON(make([]byte, 0, 2048), v)
		body = append(body, '\n')
	}
	if err != nil {
		r.server.logger.Error("an answer could not be encoded", "path", r.info.Path, "err", err)
		http.Error(r.w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.sendBytes(code, out.media, body)
}

// pretty reports whether JSON is for somebody to read: because the query says so, or because people use that
// program.
func (r *request) pretty() bool {
	if r.URL.RawQuery != "" {
		if text := r.query.Get("pretty"); text != "" {
			yes, _ := strconv.ParseBool(text)
			return yes
		}
	}
	for _, program := range [...]string{"curl", "Wget", "Mozilla/5.0"} {
		if strings.HasPrefix(r.UserAgent(), program) {
			return true
		}
	}
	return false
}

// sendBytes answers with an encoded object.
func (r *request) sendBytes(code int, m media, body []byte) {
	if m == mediaJSON && r.pretty() {
		var b bytes.Buffer
		if json.Indent(&b, body, "", "  ") == nil {
			body = b.Bytes()
		}
	}
	h := r.w.Header()
	h["Content-Type"] = contentTypes[m]
	r.sendWarnings()
	if z := r.compressor(len(body)); z != nil {
		r.w.WriteHeader(code)
		_, _ = z.Write(body)
		_ = z.Close()
		return
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	r.w.WriteHeader(code)
	_, _ = r.w.Write(body)
}

// contentTypes are ready-made header values, never changed.
var contentTypes = [...][]string{mediaJSON: {typeJSON}, mediaYAML: {typeYAML}, mediaProto: {typeProto}, mediaCBOR: {typeCBOR}}
