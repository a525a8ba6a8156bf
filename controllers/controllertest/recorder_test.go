package controllertest_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func selector(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func httpGet(ctx context.Context, url string) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
}

// recorder is a testing.TB that records failures instead of failing.
type recorder struct {
	testing.TB
	text         string
	failed       bool // what Failed says
	errors, logs []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

func (r *recorder) Failed() bool { return r.failed }

func (r *recorder) Fatal(args ...any) {
	r.text = fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }
func (r *recorder) Helper()                           {}

// fatal runs f and returns how it failed the test, or nothing.
func (r *recorder) fatal(f func()) string {
	r.text = ""
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
	return r.text
}
