package fakenode

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/nodestream"
	"github.com/keelson-dev/keelson/controllers/internal/podindex"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// NewServer returns a handler that serves the kubelet API of all fake nodes of m: /exec, /attach,
// /portForward and /containerLogs in the protocols of the kubelet, /pods, /metrics, /metrics/resource and
// /healthz. The output of logs, exec and attach is one line that says that nothing ran; the exit code of exec
// is that of [ExitCodeAnnotation]. What containers use is that of [UsageAnnotation].
//
// /metrics/resource is about one node: the one of the address nodes/NAME/proxy by which a client reaches it
// through the API server, which passes that on in the header X-Forwarded-Uri, or the only one. Its counters
// of CPU time continue while the handler exists.
//
// The handler does not authenticate requests: wrap it in a [delegated.Gate] with [Attributes] if clients
// other than the API server can reach it.
func NewServer(m *manager.Manager) http.Handler {
	s := &server{pods: podindex.Of(m.Informers()), nodes: informers.For[*corev1.Node](m.Informers()).Lister(), used: map[containerKey]*meter{}, totals: map[string]float64{}}
	mux := http.NewServeMux()
	mux.Handle("/", nodestream.NewHandler(s, nodestream.Options{Logger: m.Logger()}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("GET /metrics", s.serveMetrics)
	mux.HandleFunc("GET /metrics/resource", s.serveResourceMetrics)
	mux.HandleFunc("GET /pods", func(w http.ResponseWriter, _ *http.Request) {
		pods, err := s.pods.List(informers.ListOptions{})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		list := metav1.List[*corev1.Pod]{Items: pods}
		list.APIVersion, list.Kind = "v1", "PodList"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	})
	return mux
}

// Attributes returns the permissions required for a request to the handler of [NewServer]: those of a
// kubelet, but for all nodes, because the handler serves the pods of all of them. It is for [delegated.Gate].
func Attributes(r *http.Request) []authorizationv1.SubjectAccessReviewSpec { return attributes(r) }

var attributes = nodestream.Attributes("")

// server answers for fake containers.
type server struct {
	pods  podindex.Pods
	nodes informers.Lister[*corev1.Node]

	mu     sync.Mutex
	used   map[containerKey]*meter // of running containers, from the first request on
	totals map[string]float64      // seconds of CPU, by node
}

// container finds a container's status. An empty name only finds the pod.
func (s *server) container(namespace, name, container string) (*corev1.Pod, *corev1.ContainerStatus, error) {
	pod, err := s.pods.Get(types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return nil, nil, nodestream.NotFound("pod does not exist")
	}
	if container == "" {
		return pod, nil, nil
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == container {
				return pod, &list[i], nil
			}
		}
	}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == container {
				return pod, &corev1.ContainerStatus{Name: container, Image: list[i].Image}, nil
			}
		}
	}
	return nil, nil, nodestream.NotFound("container %q not found in pod %q\n", container, name)
}

// Find implements nodestream.Backend.
func (s *server) Find(_ context.Context, namespace, pod, container string) error {
	_, _, err := s.container(namespace, pod, container)
	return err
}

// Exec implements nodestream.Backend.
func (s *server) Exec(_ context.Context, session *nodestream.Session) (int, error) {
	return s.say(session, fmt.Sprintf("did not run %q", session.Command))
}

// Attach implements nodestream.Backend.
func (s *server) Attach(_ context.Context, session *nodestream.Session) (int, error) {
	_, err := s.say(session, "has no process to attach to")
	return 0, err
}

func (s *server) say(session *nodestream.Session, what string) (int, error) {
	pod, st, err := s.container(session.Namespace, session.Pod, session.Container)
	if err != nil {
		return 0, err
	}
	if st.State.Running == nil {
		return 0, fmt.Errorf("container not found (%q)", session.Container)
	}
	out := session.Stdout
	if out == nil {
		out = session.Stderr
	}
	end := "\n"
	if session.TTY {
		end = "\r\n"
	}
	if out != nil {
		if _, err := fmt.Fprintf(out, "fake container %s of pod %s/%s: %s%s", session.Container, pod.Namespace, pod.Name, what, end); err != nil {
			return 0, err
		}
	}
	sc, _ := scriptOf(pod)
	return int(sc.exitCode), nil
}

// PortForward implements nodestream.Backend.
func (s *server) PortForward(_ context.Context, namespace, pod string, port uint16, _ io.ReadWriteCloser) error {
	return fmt.Errorf("fake pod %s/%s listens on no port, not on %d either", namespace, pod, port)
}

// followEvery is how often a followed fake container is checked.
const followEvery = time.Second

// Logs implements nodestream.Backend.
func (s *server) Logs(ctx context.Context, namespace, name, container string, opts *corev1.PodLogOptions, w io.Writer) error {
	pod, st, err := s.container(namespace, name, container)
	if err != nil {
		return err
	}
	state := st.State
	if opts.Previous || state.Running == nil && state.Terminated == nil {
		state = st.LastTerminationState
	}
	var started time.Time
	switch {
	case state.Running != nil:
		started = state.Running.StartedAt.Time
	case state.Terminated != nil:
		started = state.Terminated.StartedAt.Time
	case opts.Previous:
		return nodestream.BadRequest("previous terminated container %q in pod %q not found", container, name)
	default:
		reason := "ContainerCreating"
		if st.State.Waiting != nil && st.State.Waiting.Reason != "" {
			reason = st.State.Waiting.Reason
		}
		return nodestream.BadRequest("container %q in pod %q is waiting to start: %s", container, name, reason)
	}
	if wantsLine(opts, started) {
		line := fmt.Sprintf("fake container %s of pod %s/%s: image %s, started at %s (no real output)\n",
			container, pod.Namespace, pod.Name, st.Image, started.UTC().Format(time.RFC3339))
		if opts.Timestamps {
			line = started.UTC().Format(time.RFC3339Nano) + " " + line
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	for opts.Follow && !opts.Previous {
		_, now, err := s.container(namespace, name, container)
		if err != nil || now.State.Running == nil || now.RestartCount != st.RestartCount {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
	return nil
}

// wantsLine reports whether the options select the only line of the log.
func wantsLine(opts *corev1.PodLogOptions, written time.Time) bool {
	switch {
	case opts.TailLines != nil && *opts.TailLines == 0, opts.LimitBytes != nil && *opts.LimitBytes == 0, opts.Stream != nil && *opts.Stream == "Stderr":
		return false
	case opts.SinceSeconds != nil:
		return written.After(time.Now().Add(-time.Duration(*opts.SinceSeconds) * time.Second))
	case opts.SinceTime != nil:
		return !written.Before(opts.SinceTime.Time)
	}
	return true
}
