package apiserver

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// compressAbove is the size from which an answer is compressed, in bytes, if the client takes it.
const compressAbove = 128 << 10

// compressor returns a writer that compresses the answer, or nil if it should not be.
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

// body returns where to write an answer of about size bytes, and how to end it.
func (r *request) writer(code, size int) (io.Writer, func()) {
	if z := r.compressor(size); z != nil {
		r.w.WriteHeader(code)
		return z, func() { _ = z.Close() }
	}
	r.w.WriteHeader(code)
	if size > largeWrite {
		// A write waits until the connection has taken it: few large ones cost less.
		w := bufio.NewWriterSize(r.w, largeWrite)
		return w, func() { _ = w.Flush() }
	}
	return r.w, func() {}
}

// largeWrite is how many bytes of a large answer are written at a time.
const largeWrite = 128 << 10

var _ http.Flusher = (*tally)(nil)
