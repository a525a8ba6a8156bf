package webhook

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// Lookup is the resolution of a host name.
type Lookup struct {
	Host    string
	Elapsed time.Duration
}

// Lookups collects the resolutions of host names for a request. The zero value has none. Safe for concurrent
// use: a connection is opened on a goroutine of its own, which may outlast the request.
type Lookups struct {
	mu    sync.Mutex
	host  string
	began time.Time
	all   []Lookup
}

// Trace returns the context of a request whose resolutions are collected.
func (l *Lookups) Trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(info httptrace.DNSStartInfo) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.host, l.began = info.Host, time.Now()
		},
		DNSDone: func(httptrace.DNSDoneInfo) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.all = append(l.all, Lookup{l.host, time.Since(l.began)})
		},
	})
}

// All returns those that have ended.
func (l *Lookups) All() []Lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}
