package apiserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// accepts negotiates the encoding of the response.
func (r *request) accepts(o offers) (output, error) {
	o.cbor = r.server.opts.CBOR
	out, ok := negotiate(r.Header.Get("Accept"), o)
	if !ok {
		return out, apierrors.NewNotAcceptable("only the following media types are accepted: " + r.server.mediaTypes())
	}
	return out, nil
}

// send encodes v, which has apiVersion and kind set, and sends it as the response.
func (r *request) send(code int, out output, gvk schema.GroupVersionKind, v any) {
	r.auditResponse(v)
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
		// The response to a write is the object that the request brought, and a little more.
		body, err = codec.AppendJSON(make([]byte, 0, 2048+len(r.body)), v)
		body = append(body, '\n')
	}
	if err != nil {
		r.server.logger.Error("encoding a response failed", "path", r.info.Path, "err", err)
		http.Error(r.w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.sendBytes(code, out.media, body)
}

// pretty reports whether JSON is to be indented: as the query's parameter pretty says, else for the user
// agents of interactive programs.
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

// sendBytes sends an encoded object as the response.
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
