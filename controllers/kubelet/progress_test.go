package kubelet_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// text is a log that can be read while it is written.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

// A kubelet that is ended while it waits for the runtime has not failed; one whose runtime does not come has.
func TestTheEndOfAStart(t *testing.T) {
	for after, want := range map[time.Duration]string{0: "", 3 * time.Second: "", time.Hour: "container runtime at "} {
		bubble(t, nil, func(r *rig) {
			r.opts.NodeName, r.opts.RootDir = "n2", t.TempDir()
			r.opts.RuntimeDial = func(context.Context, string) (net.Conn, error) { return nil, io.ErrUnexpectedEOF }
			k, err := kubelet.New(r.c.Conn(), r.opts)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(r.t.Context(), after)
			defer cancel()
			if err = k.Run(ctx); want == "" {
				require.NoError(t, err, "%v", after)
			} else {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// The kubelet logs each phase of its start. Its health, which is served from the beginning, is good when the
// loop runs and not before; an API server is not needed for that.
func TestPhasesOfAStart(t *testing.T) {
	log := &text{}
	var health *pipenet.Listener
	away := true
	bubble(t, func(r *rig) {
		r.opts.Logger = slog.New(slog.NewTextHandler(log, nil))
		health = pipenet.New()
		r.opts.HealthzListener = health
		r.rt.SetAway(true)
		r.intercept = func(context.Context, *client.Request) error {
			if away {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
	}, func(r *rig) {
		get := func() (int, string) {
			answer, err := plainClient(health).Get("https://kubelet/healthz")
			require.NoError(t, err)
			defer answer.Body.Close()
			b, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			return answer.StatusCode, string(b)
		}
		code, body := get()
		require.Equal(t, http.StatusInternalServerError, code)
		require.Contains(t, body, `the kubelet is starting, phase "dependencies"`)
		require.NotContains(t, log.String(), "has started")
		time.Sleep(10 * time.Second)
		code, _ = get()
		require.Equal(t, http.StatusInternalServerError, code)
		r.rt.SetAway(false)
		time.Sleep(3 * time.Second)
		code, body = get()
		require.Equal(t, http.StatusOK, code, body)
		var phases []string
		for _, m := range regexp.MustCompile(`phase="?([^"\n]*)`).FindAllStringSubmatch(log.String(), -1) {
			phases = append(phases, m[1])
		}
		require.Equal(t, []string{"construction", "dependencies", "main services", "HTTP and gRPC servers"}, phases)
		require.Contains(t, log.String(), "the kubelet has started")
		time.Sleep(20 * time.Minute)
		require.NoError(t, r.k.Healthy(), "without an API server")
	})
}
