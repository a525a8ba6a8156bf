package kubelet

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client/delegated"
	"github.com/keelson-dev/keelson/controllers/internal/nodestream"
)

// serve runs the kubelet API until ctx ends and all sessions have ended.
func (k *Kubelet) serve(ctx context.Context) error {
	config := k.opts.TLS.Clone()
	if k.serving != nil {
		serveWith(config, k.serving)
	}
	// Verified with the request, so that a token does beside a bad one.
	config.ClientAuth = max(config.ClientAuth, tls.RequestClientCert)
	// Streams need a connection of their own.
	config.NextProtos = []string{"http/1.1"}
	calls := &calls{conns: map[*call]net.Conn{}}
	s := &http.Server{Handler: calls.track(k.Handler()), TLSConfig: config, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(k.log.Handler(), slog.LevelDebug), BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: withConn}
	done := make(chan error, 1)
	go func() { done <- s.ServeTLS(k.opts.Listener, "", "") }()
	select {
	case err := <-done:
		calls.end()
		return err
	case <-ctx.Done():
		_ = s.Close()
		calls.end()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}

// gate identifies those who use the kubelet API and asks what they may do; see [Options].Authenticate and
// Authorize.
func (k *Kubelet) gate() delegated.Gate {
	g := delegated.Gate{Authenticate: k.opts.Authenticate, Authorize: k.opts.Authorize, Attributes: nodestream.Attributes(k.opts.NodeName), Logger: k.log}
	if g.Authenticate == nil {
		var pool *x509.CertPool
		if k.opts.TLS != nil {
			pool = k.opts.TLS.ClientCAs
		}
		g.Authenticate = delegated.NewAuthenticator(k.m.Conn(), delegated.AuthenticatorOptions{ClientCAs: func() *x509.CertPool { return pool }}).Authenticate
	}
	if g.Authorize == nil {
		g.Authorize = delegated.NewAuthorizer(k.m.Conn(), delegated.AuthorizerOptions{}).Authorize
	}
	return g
}

// Healthy returns an error if the kubelet has not started yet, if its loop has hung for twice as long as
// [Options].SyncInterval and for five minutes, or if the runtime has not been listed for three minutes, for
// ten while its events come, or not yet.
func (k *Kubelet) Healthy() error {
	if err := k.progress.healthy(k.opts.SyncInterval); err != nil {
		return err
	}
	if last, err := k.pleg.healthy(); last.IsZero() || time.Since(last) > k.pleg.patience() {
		return errors.Join(fmt.Errorf("the container runtime was last listed at %v", last), err)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, v any) {
	b, err := codec.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

// podList is every pod of this node as the kubelet sees it.
func (k *Kubelet) podList() *metav1.List[*corev1.Pod] {
	list := &metav1.List[*corev1.Pod]{}
	list.APIVersion, list.Kind = "v1", "PodList"
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.workers {
		list.Items = append(list.Items, w.shown())
	}
	slices.SortFunc(list.Items, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return list
}

// streams is what nodestream serves.
type streams struct{ k *Kubelet }

// find returns a pod of this node by name.
func (s streams) find(namespace, name string) *worker {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	for _, w := range s.k.workers {
		if pod, _ := w.desired(); pod.Namespace == namespace && pod.Name == name {
			return w
		}
	}
	return nil
}

// Find implements nodestream.Backend.
func (s streams) Find(_ context.Context, namespace, name, container string) error {
	w := s.find(namespace, name)
	if w == nil {
		return nodestream.NotFound("pod does not exist")
	}
	if pod, _ := w.desired(); container != "" && specOf(pod, container) == nil {
		return nodestream.NotFound("container %q not found in pod %q\n", container, name)
	}
	return nil
}

// running returns the id of a running container.
func (s streams) running(ctx context.Context, namespace, name, container string) (*view, string, error) {
	w := s.find(namespace, name)
	if w == nil {
		return nil, "", nodestream.NotFound("pod does not exist")
	}
	v, err := s.k.pleg.recent(ctx, w.uid)
	if err != nil {
		return nil, "", err
	}
	run := v.latest(container)
	if !run.running() {
		return nil, "", fmt.Errorf("container not found (%q)", container)
	}
	return v, run.id, nil
}

// Exec implements nodestream.Backend.
func (s streams) Exec(ctx context.Context, session *nodestream.Session) (int, error) {
	_, id, err := s.running(ctx, session.Namespace, session.Pod, session.Container)
	if err != nil {
		return 0, err
	}
	r, err := s.k.rt.Exec(ctx, &cri.ExecRequest{ContainerId: id, Cmd: session.Command, Tty: session.TTY,
		Stdin: session.Stdin != nil, Stdout: session.Stdout != nil, Stderr: session.Stderr != nil})
	if err != nil {
		return 0, err
	}
	return nodestream.Dial(ctx, r.Url, session)
}

// Attach implements nodestream.Backend.
func (s streams) Attach(ctx context.Context, session *nodestream.Session) (int, error) {
	w := s.find(session.Namespace, session.Pod)
	_, id, err := s.running(ctx, session.Namespace, session.Pod, session.Container)
	if err != nil {
		return 0, err
	}
	if pod, _ := w.desired(); specOf(pod, session.Container) != nil {
		session.TTY = specOf(pod, session.Container).TTY // it is as it was started
		if session.TTY {
			session.Stderr = nil
		}
	}
	r, err := s.k.rt.Attach(ctx, &cri.AttachRequest{ContainerId: id, Tty: session.TTY,
		Stdin: session.Stdin != nil, Stdout: session.Stdout != nil, Stderr: session.Stderr != nil})
	if err != nil {
		return 0, err
	}
	return nodestream.Dial(ctx, r.Url, session)
}

// PortForward implements nodestream.Backend.
func (s streams) PortForward(ctx context.Context, namespace, name string, port uint16, stream io.ReadWriteCloser) error {
	w := s.find(namespace, name)
	if w == nil {
		return nodestream.NotFound("pod does not exist")
	}
	v, err := s.k.pleg.recent(ctx, w.uid)
	if err != nil {
		return err
	}
	box := v.current()
	if box == nil {
		return fmt.Errorf("sandbox not found for pod %s_%s", name, namespace)
	}
	r, err := s.k.rt.PortForward(ctx, &cri.PortForwardRequest{PodSandboxId: box.id, Port: []int32{int32(port)}})
	if err != nil {
		return err
	}
	return nodestream.DialPortForward(ctx, r.Url, port, stream)
}

// Logs implements nodestream.Backend.
func (s streams) Logs(ctx context.Context, namespace, name, containerName string, opts *corev1.PodLogOptions, out io.Writer) error {
	w := s.find(namespace, name)
	if w == nil {
		return nodestream.NotFound("pod %q does not exist\n", name)
	}
	v, err := s.k.pleg.recent(ctx, w.uid)
	if err != nil {
		return err
	}
	runs := v.runs(containerName)
	if opts.Previous {
		if len(runs) > 0 && !runs[0].exited() {
			runs = runs[1:]
		} else if len(runs) > 1 {
			runs = runs[1:]
		} else if len(runs) == 1 && runs[0].exited() {
			pod, _ := w.desired()
			if st := statusOf(&pod.Status, containerName); st == nil || st.State.Terminated != nil {
				runs = nil
			}
		}
		if len(runs) == 0 || !runs[0].exited() {
			return nodestream.BadRequest("previous terminated container %q in pod %q not found", containerName, name)
		}
	}
	for len(runs) > 0 && !runs[0].running() && !runs[0].exited() {
		runs = runs[1:] // made, but not started
	}
	if len(runs) == 0 {
		reason := "ContainerCreating"
		pod, _ := w.desired()
		if st := statusOf(&pod.Status, containerName); st != nil && st.State.Waiting != nil {
			reason = st.State.Waiting.Reason
		}
		return nodestream.BadRequest("container %q in pod %q is waiting to start: %s", containerName, name, reason)
	}
	run := runs[0]
	alive := func() bool {
		if !run.running() {
			return false
		}
		st, err := s.k.rt.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: run.id})
		return err == nil && st.Status.State == cri.ContainerState_CONTAINER_RUNNING
	}
	return copyLog(ctx, run.logPath, windowOf(opts, time.Now()), opts.Follow, slowly(alive, time.Second), out)
}

// slowly asks at most once per interval and otherwise repeats the last answer.
func slowly(ask func() bool, interval time.Duration) func() bool {
	var last time.Time
	answer := true
	return func() bool {
		if answer && time.Since(last) >= interval {
			last, answer = time.Now(), ask()
		}
		return answer
	}
}
