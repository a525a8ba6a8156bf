package apiserver

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// maxBody is the greatest size of a request body, in bytes.
const maxBody = 3 << 20

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
			return nil, r.bodyReadError(err)
		}
		r.body = b
		r.bodyComplete.Store(true)
		return b, nil
	}
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge()
	}
	if err != nil {
		return nil, r.bodyReadError(err)
	}
	r.body = b
	r.bodyComplete.Store(true)
	return b, nil
}

// initialBodySize bounds the memory allocated for a body before any of it has arrived: clients may announce
// more than they send.
const initialBodySize = 64 << 10

// readGrowing reads exactly n bytes into memory that grows with what arrives.
func readGrowing(in io.Reader, n int) ([]byte, error) {
	b := make([]byte, min(n, initialBodySize))
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

// bodyReadError maps a read error to a Status.
func (r *request) bodyReadError(err error) error {
	if r.Context().Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return apierrors.NewTimeout("the body did not arrive within the allotted timeout", 0)
	}
	return apierrors.NewBadRequest("the body could not be read: " + err.Error())
}

func tooLarge() error {
	return apierrors.NewRequestEntityTooLarge(fmt.Sprintf("limit is %d", maxBody))
}

// contentMedia parses the Content-Type. An empty one means JSON.
func (r *request) contentMedia() (media, error) {
	contentType := r.Header.Get("Content-Type")
	switch contentType {
	case "", typeJSON:
		return mediaJSON, nil
	case typeProto:
		return mediaProto, nil
	}
	typ, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		typ = ""
	}
	switch typ {
	case typeJSON:
		return mediaJSON, nil
	case typeYAML, "text/yaml", "application/x-yaml":
		return mediaYAML, nil
	case typeProto:
		return mediaProto, nil
	case typeCBOR:
		if r.server.opts.CBOR {
			return mediaCBOR, nil
		}
	}
	return 0, apierrors.NewUnsupportedMediaType("the body of the request was in an unknown format - accepted media types include: " + r.server.mediaTypes())
}
