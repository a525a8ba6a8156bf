package rest

import (
	"context"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// Transcoder converts JSON to another encoding and back. It is safe for concurrent use.
type Transcoder interface {
	FromJSON(data []byte) ([]byte, error)
	ToJSON(data []byte) ([]byte, error)
	// Lines reads a sequence of items as lines of JSON. Closing it closes r.
	Lines(r io.ReadCloser) io.ReadCloser
}

const (
	typeCBOR    = "application/cbor"
	typeCBORSeq = "application/cbor-seq"
)

// transcoder replaces JSON on the wire by CBOR; its callers only handle JSON. The zero value does nothing.
type transcoder struct {
	Transcoder
	mu      sync.Mutex
	refused map[schema.GroupVersion]bool // by 415
}

// supports reports whether bodies of a request may be CBOR: those of resources, unless the server has refused
// one.
func (t *transcoder) supports(r *client.Request) bool {
	if t.Transcoder == nil || r.Path != "" {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.refused[r.Resource.GroupVersion()]
}

// cborTypes are the media types of the bodies that have a CBOR form.
var cborTypes = map[string]string{
	client.MediaJSON:                 typeCBOR,
	string(types.ApplyYAMLPatchType): string(types.ApplyCBORPatchType),
}

// request returns r as it is sent, and whether its body is CBOR. A YAML body is not converted.
func (t *transcoder) request(r *client.Request) (out *client.Request, body bool) {
	if t.Transcoder == nil || r.Path != "" {
		return r, false
	}
	c := *r
	c.Accept = preferCBOR(r.Accept)
	if typ := cborTypes[r.ContentType]; typ != "" && len(r.Body) > 0 && t.supports(r) {
		if b, err := t.FromJSON(r.Body); err == nil {
			c.Body, c.ContentType = b, typ
			return &c, true
		}
	}
	return &c, false
}

// preferCBOR puts CBOR before each JSON of an Accept header, with the same parameters.
func preferCBOR(accept string) string {
	if accept == "" {
		accept = client.MediaJSON
	}
	var out []string
	for part := range strings.SplitSeq(accept, ",") {
		part = strings.TrimSpace(part)
		if params, ok := strings.CutPrefix(part, client.MediaJSON); ok && (params == "" || params[0] == ';') {
			out = append(out, typeCBOR+params)
		}
		out = append(out, part)
	}
	return strings.Join(out, ",")
}

// send repeats a request in JSON if the server does not accept CBOR bodies, and disables them for the
// group-version.
func (t *transcoder) send(ctx context.Context, r *client.Request, send func(*client.Request) error) error {
	req, body := t.request(r)
	err := send(req)
	if !body || apierrors.CodeOf(err) != http.StatusUnsupportedMediaType || ctx.Err() != nil {
		return err
	}
	t.mu.Lock()
	if t.refused == nil {
		t.refused = map[schema.GroupVersion]bool{}
	}
	t.refused[r.Resource.GroupVersion()] = true
	t.mu.Unlock()
	req, _ = t.request(r)
	return send(req)
}

// reply converts a CBOR body to JSON.
func (t *transcoder) reply(contentType string, body []byte) (string, []byte, error) {
	if t.Transcoder == nil || mediaOf(contentType) != typeCBOR {
		return contentType, body, nil
	}
	text, err := t.ToJSON(body)
	return client.MediaJSON, text, err
}

// stream converts a sequence of CBOR items to lines of JSON.
func (t *transcoder) stream(contentType string, body io.ReadCloser) (string, io.ReadCloser) {
	if media := mediaOf(contentType); t.Transcoder == nil || media != typeCBORSeq && media != typeCBOR {
		return contentType, body
	}
	return client.MediaJSON, t.Lines(body)
}

func mediaOf(contentType string) string {
	media, _, _ := mime.ParseMediaType(contentType)
	return media
}
