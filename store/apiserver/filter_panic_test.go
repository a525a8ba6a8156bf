package apiserver_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/stretchr/testify/require"
)

func TestPanicIs500(t *testing.T) {
	var log strings.Builder
	s := start(t, apiserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Handlers: map[string]http.Handler{
		"/boom": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("because") })}})
	require.Equal(t, "InternalError", s.do("GET", "/boom", nil).ok(500).str("reason"))
	s.do("GET", configMaps, nil).ok(200)
	s.stop()
	require.Regexp(t, `level=ERROR msg="serving a request failed: panic" method=GET path=/boom panic=because stack=.*filter_panic_test.go`, log.String())
}
