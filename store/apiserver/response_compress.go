package apiserver

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// compressAbove is the size in bytes from which a response is compressed, if the client accepts it.
const compressAbove = 128 << 10

// compressor returns a writer that compresses the response, or nil if it is sent as it is.
func (r *request) compressor(size int) io.WriteCloser {
	if size < compressAbove || r.server.opts.NoCompression || !acceptsGzip(r.Header.Get("Accept-Encoding")) {
		return nil
	}
	h := r.w.Header()
	h.Set("Content-Encoding", "gzip")
	h.Add("Vary", "Accept-Encoding")
	h.Del("Content-Length")
	z, err := gzip.NewWriterLevel(r.w, gzip.BestSpeed)
	if err != nil {
		return nil // not with a valid level
	}
	return z
}

func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(name) == "gzip" {
			return !strings.Contains(strings.ReplaceAll(params, " ", ""), "q=0") || strings.Contains(params, "q=0.")
		}
	}
	return false
}

// writer returns where to write a response of about size bytes, and a function that completes it.
func (r *request) writer(code, size int) (io.Writer, func()) {
	if z := r.compressor(size); z != nil {
		r.w.WriteHeader(code)
		return z, func() { _ = z.Close() }
	}
	r.w.WriteHeader(code)
	if size > largeWrite {
		// Every write goes to the connection: few large ones cost less.
		w := bufio.NewWriterSize(r.w, largeWrite)
		return w, func() { _ = w.Flush() }
	}
	return r.w, func() {}
}

// largeWrite is how many bytes of a large response are written at a time.
const largeWrite = 128 << 10

var _ http.Flusher = (*responseRecorder)(nil)
