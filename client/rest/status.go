package rest

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// maxStatus is the maximum size of an error reply, in bytes.
const maxStatus = 1 << 20

// statusError turns a reply of 400 or more into an error.
func (c *Conn) statusError(r *client.Request, resp *http.Response) error {
	c.warnings(resp.Header)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	if err != nil && len(body) == 0 {
		body = []byte(resp.Status)
	}
	after := retryAfterHeader(resp.Header)
	contentType := resp.Header.Get("Content-Type")
	if typ, text, err := c.cbor.reply(contentType, body); err == nil {
		contentType, body = typ, text
	}
	if s, ok := decodeStatus(contentType, body); ok {
		if s.Code == 0 {
			s.Code = int32(resp.StatusCode)
		}
		if after > 0 && (s.Details == nil || s.Details.RetryAfterSeconds == 0) {
			d := metav1.StatusDetails{}
			if s.Details != nil {
				d = *s.Details
			}
			d.RetryAfterSeconds = int32(after)
			s.Details = &d
		}
		if s.Code == http.StatusNotFound && r.Resource.Resource != "" && (s.Details == nil || s.Details.Name == "" && s.Details.Kind == "") {
			// A 404 without an object: name the resource that was requested.
			s.Message += fmt.Sprintf(" (%s %s)", strings.ToLower(methodOf(r)), r.Resource.GroupResource())
		}
		if err := apierrors.FromStatus(&s); err != nil {
			return err
		}
	}
	method := methodOf(r)
	text := excerpt(body)
	failure := apierrors.NewGenericServerResponse(resp.StatusCode, method, r.Resource.GroupResource(), r.Name, text, after, true)
	if media, _, _ := mime.ParseMediaType(contentType); resp.StatusCode == http.StatusBadRequest && len(text) < 200 && (media == "" || media == "text/plain") {
		failure.ErrStatus.Message += ": " + text // such as: Client sent an HTTP request to an HTTPS server.
	}
	return failure
}

func methodOf(r *client.Request) string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

func decodeStatus(contentType string, body []byte) (metav1.Status, bool) {
	var s metav1.Status
	media, _, _ := mime.ParseMediaType(contentType)
	if media == client.MediaProtobuf {
		_, kind, raw, err := codec.DecodeEnvelope(body)
		return s, err == nil && kind == "Status" && codec.UnmarshalProto(raw, &s) == nil
	}
	err := codec.Unmarshal(body, &s)
	return s, err == nil && s.Kind == "Status"
}

// excerpt returns the start of a reply that is not a Status, for a message.
func excerpt(b []byte) string {
	const limit = 2048
	s := strings.TrimSpace(string(b[:min(len(b), limit)]))
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "?")
	}
	if s == "" {
		return "unknown"
	}
	return s
}
