package leaselock_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// proxy stands between one client and the server. It can fail in three ways, and be repaired.
type proxy struct {
	forward http.Handler
	listen  *pipenet.Listener

	mu    sync.Mutex
	fault string        // "" if it works
	whole chan struct{} // closed when it works again
	conns []net.Conn    // of the client
}

const (
	serverErrors = "500s"   // it answers every request with 500
	silence      = "silent" // it takes requests and answers none
	cut          = "cut"    // its connections are reset and new ones refused
)

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	fault, whole := p.fault, p.whole
	p.mu.Unlock()
	switch fault {
	case serverErrors:
		http.Error(w, "the proxy is broken", http.StatusInternalServerError)
	case silence:
		select {
		case <-whole:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	default:
		p.forward.ServeHTTP(w, r)
	}
}

func (p *proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == cut {
		return nil, errors.New("connection refused")
	}
	c, err := p.listen.Dial(ctx, network, address)
	if err == nil {
		p.conns = append(p.conns, c)
	}
	return c, err
}

func (p *proxy) breaks(fault string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.whole = fault, make(chan struct{})
	if fault == cut {
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.conns = nil
	}
}

func (p *proxy) heals() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = ""
	close(p.whole)
}

// A leader loses its API server, another candidate does not: if it is back in time for a renewal before the
// deadline nothing happens; if not, the leader has stopped before the other starts, and is a candidate again
// when its server is back.
func TestLeaderBehindABrokenProxy(t *testing.T) {
	for _, fault := range []string{serverErrors, silence, cut} {
		t.Run(fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { behindAProxy(t, fault) })
		})
	}
}

// startProxied starts an API server and a proxy before it. When the test ends it calls stop, closes both and
// waits for running.
func startProxied(ctx context.Context, t *testing.T, stop func(), running *sync.WaitGroup) (p *proxy, direct *pipenet.Listener) {
	s, err := apiserver.New(apiserver.Options{})
	require.NoError(t, err)
	direct, front := pipenet.New(), pipenet.New()
	behind := &http.Transport{DialContext: direct.Dial}
	reverse := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "server"})
	reverse.Transport = behind
	p = &proxy{forward: reverse, listen: front}
	servers := []*http.Server{{Handler: s}, {Handler: p}}
	running.Go(func() { _ = s.Run(ctx) })
	running.Go(func() { _ = servers[0].Serve(direct) })
	running.Go(func() { _ = servers[1].Serve(front) })
	t.Cleanup(func() {
		stop()
		require.NoError(t, servers[0].Close())
		require.NoError(t, servers[1].Close())
		behind.CloseIdleConnections()
		running.Wait()
	})
	time.Sleep(time.Second) // bootstrap
	return p, direct
}

func behindAProxy(t *testing.T, fault string) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	p, direct := startProxied(ctx, t, stop, &running)
	var leading atomic.Int32 // how many do led work
	terms := make(chan string, 10)
	candidate := func(name string, dial func(context.Context, string, string) (net.Conn, error)) (*leaderelection.Elector, context.CancelFunc) {
		ctx, leave := context.WithCancel(ctx)
		conn, err := rest.New(rest.Config{Host: "http://server", Dial: dial}, rest.Options{})
		require.NoError(t, err)
		e, err := leaderelection.New(leaselock.New(conn, key, leaselock.Options{}), leaderelection.Options{Identity: name})
		require.NoError(t, err)
		running.Go(func() {
			for ctx.Err() == nil {
				err := e.Run(ctx, func(ctx context.Context) error {
					if n := leading.Add(1); n != 1 {
						t.Errorf("%s starts to lead while another does", name)
					}
					terms <- name
					<-ctx.Done()
					time.Sleep(3 * time.Second) // led work takes a while to return
					leading.Add(-1)
					return nil
				})
				if err != nil && !errors.Is(err, leaderelection.ErrLost) {
					t.Error(err)
				}
			}
			_ = conn.Close()
		})
		return e, leave
	}
	a, leaveA := candidate("a", p.dial)
	require.Equal(t, "a", <-terms)
	b, leaveB := candidate("b", direct.Dial)
	for range 20 { // at all phases of the renewals
		time.Sleep(30*time.Second + 130*time.Millisecond)
		p.breaks(fault)
		// The last renewal was up to a retry period before, the next is up to one later.
		time.Sleep(5500 * time.Millisecond)
		p.heals()
		time.Sleep(500 * time.Millisecond)
		require.True(t, a.IsLeader())
	}
	require.Empty(t, terms, "no other has led")

	for range 5 {
		p.breaks(fault)
		broken := time.Now()
		require.Equal(t, "b", <-terms)
		require.Less(t, time.Since(broken), leaderelection.DefaultLeaseDuration+2*leaderelection.DefaultRetryPeriod)
		require.False(t, a.IsLeader())
		time.Sleep(time.Minute)
		require.True(t, b.IsLeader())
		require.Equal(t, int32(1), leading.Load())
		p.heals()
		time.Sleep(time.Minute)
		require.Empty(t, terms, "the one that came back waits")
		require.Equal(t, "b", a.Leader())
		leaveB()
		require.Equal(t, "a", <-terms)
		b, leaveB = candidate("b", direct.Dial)
		time.Sleep(time.Minute + 370*time.Millisecond)
	}
	leaveA()
	leaveB()
	time.Sleep(time.Minute)
	require.Zero(t, leading.Load())
}
