package apiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Serve serves connections of l until ctx ends, over TLS with HTTP/2, unless config.NextProtos lists other
// protocols only, and HTTP/1.1, or in plain text (HTTP/2
// with prior knowledge included) if config is nil. Then it continues for Options.ShutdownDelay, stops
// accepting (with Options.ShutdownSendRetryAfter it keeps accepting and answers 429), waits for requests
// being served, closes l, and returns nil if that went well. Run must be running beside it; give both the
// same ctx.
//
// kubectl, and client-go with a kubeconfig, send tokens and passwords over TLS only: a server with an
// authenticator that is served in plain text answers them 401. Package store/certs makes a certificate in one
// call.
func (s *Server) Serve(ctx context.Context, l net.Listener, config *tls.Config) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		// Run may not have been scheduled yet, and must not find this phase skipped.
		s.lifecycle.advance(draining)
		s.delayShutdown(serving)
		if s.opts.ShutdownSendRetryAfter {
			s.lifecycle.advance(ending)
			s.await(s.limits.idle(false), s.opts.RequestTimeout)
		}
		stop()
	})()
	logger := s.logger
	if hook := s.opts.Metrics.HandshakeFailed; hook != nil {
		logger = slog.New(&handshakeCounter{Handler: logger.Handler(), failed: hook})
	}
	return serveHandler(serving, l, config, s, s.opts.MaxStreams, s.opts.RequestTimeout+2*streamGracePeriod, logger)
}

// handshakeCounter counts failed handshakes in the log messages of net/http, which reports them nowhere else.
type handshakeCounter struct {
	slog.Handler
	failed func()
}

// Enabled implements slog.Handler: failures below the level of the logger are counted too.
func (*handshakeCounter) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h *handshakeCounter) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "http: TLS handshake error from ") {
		h.failed()
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// serveHandler serves l with h until ctx ends, and then waits for requests being served, for at most
// timeout.
func serveHandler(ctx context.Context, l net.Listener, config *tls.Config, h http.Handler, streams int, timeout time.Duration, logger *slog.Logger) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(config != nil && (len(config.NextProtos) == 0 || slices.Contains(config.NextProtos, "h2")))
	protocols.SetUnencryptedHTTP2(config == nil)
	srv := &http.Server{
		Handler:           h,
		Protocols:         &protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: streams},
		ReadHeaderTimeout: 32 * time.Second,
		IdleTimeout:       3 * time.Minute,
		MaxHeaderBytes:    1 << 20,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() {
		if config == nil {
			ended <- srv.Serve(l)
			return
		}
		srv.TLSConfig = config.Clone()
		// Dynamic sizing would begin with records of one packet after every pause, each of them a system
		// call: a watch event would take three.
		srv.TLSConfig.DynamicRecordSizingDisabled = true
		ended <- srv.ServeTLS(l, "", "")
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	err := srv.Shutdown(waiting)
	if err != nil {
		err = errors.Join(err, srv.Close())
	}
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}
