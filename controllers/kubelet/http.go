package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/nodestream"
	"github.com/keelson-dev/keelson/controllers/internal/serve"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/nodelogs"
)

// Healthz returns the least of the kubelet's three servers, which upstream's serves on 127.0.0.1:10248: GET
// /healthz and its parts /healthz/ping and /healthz/syncloop, and nothing else.
func (k *Kubelet) Healthz() http.Handler {
	mux := http.NewServeMux()
	k.handleHealth(mux)
	return mux
}

// ReadOnly returns what upstream's kubelet serves on port 10255, if anything: pods, statistics and metrics,
// to everybody who can connect.
func (k *Kubelet) ReadOnly() http.Handler {
	mux := http.NewServeMux()
	k.handleReads(mux)
	return k.metrics.measured(serverReads, mux)
}

// Handler returns the kubelet API, which Run serves on [Options].Listener: everything, for requests that
// [Options].Authenticate and Authorize permit. It needs a server whose connections support hijacking.
func (k *Kubelet) Handler() http.Handler {
	mux := http.NewServeMux()
	k.handleReads(mux)
	k.handleDebugging(mux)
	h := http.Handler(mux)
	if traced := k.opts.Tracing.Handler; traced != nil {
		h = traced(mux)
	}
	return k.metrics.measured(serverAll, k.gate().Wrap(h))
}

func (k *Kubelet) handleHealth(mux *http.ServeMux) {
	health := func(check func() error) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			if err := check(); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(w, "ok")
		}
	}
	loop, ping := k.metrics.healthOf("syncloop", k.Healthy), k.metrics.healthOf("ping", func() error { return nil })
	mux.HandleFunc("GET /healthz", health(func() error { return errors.Join(ping(), loop()) }))
	mux.HandleFunc("GET /healthz/syncloop", health(loop))
	mux.HandleFunc("GET /healthz/ping", health(ping))
}

// handleReads adds what changes nothing and shows no content of pods.
func (k *Kubelet) handleReads(mux *http.ServeMux) {
	k.handleHealth(mux)
	mux.HandleFunc("GET /pods", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, k.podList()) })
	mux.HandleFunc("GET /stats/summary", k.serveSummary)
	for at, gather := range map[string]prometheus.Gatherer{"GET /metrics": k.metrics.registry, "GET /metrics/probes": k.metrics.probes, "GET /metrics/slis": k.metrics.slis} {
		mux.Handle(at, promhttp.HandlerFor(gather, promhttp.HandlerOpts{}))
	}
	mux.HandleFunc("GET /metrics/resource", func(w http.ResponseWriter, r *http.Request) {
		s, err := k.stats.recent(r.Context())
		if err != nil {
			k.log.Info("measure pods failed", "err", err)
			writeMetrics(w, resourceMetrics(nil, nil))
			return
		}
		writeMetrics(w, resourceMetrics(s, k.groupStats(s)))
	})
	mux.HandleFunc("GET /metrics/cadvisor", func(w http.ResponseWriter, r *http.Request) {
		s, err := k.stats.recent(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		writeMetrics(w, containerMetrics(s, k.groupStats(s), k.opts.Capacity))
	})
}

func writeMetrics(w http.ResponseWriter, b []byte) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(b)
}

func (k *Kubelet) serveSummary(w http.ResponseWriter, r *http.Request) {
	s, err := k.stats.recent(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, summarize(k.opts.NodeName, k.began, s, k.groupStats(s), r.FormValue("only_cpu_and_memory") == "true"))
}

// debuggingPaths are those that NoDebugging turns off.
var debuggingPaths = []string{"/run/", "/exec/", "/attach/", "/portForward/", "/containerLogs/", "/runningpods/", "/logs/", "/checkpoint/", "/debug/", "/configz"}

// handleDebugging adds what shows or changes pods and the kubelet itself.
func (k *Kubelet) handleDebugging(mux *http.ServeMux) {
	off := func(path string) bool {
		return k.opts.NoDebugging && slices.ContainsFunc(debuggingPaths, func(at string) bool { return strings.HasPrefix(path+"/", at) })
	}
	for at, page := range k.opts.Pages {
		if !off(at) {
			mux.Handle(at, page)
		}
	}
	if k.opts.NoDebugging {
		for _, at := range debuggingPaths {
			mux.HandleFunc(at, func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "Debug endpoints are disabled.", http.StatusMethodNotAllowed)
			})
		}
		return
	}
	sessions := nodestream.NewHandler(streams{k}, nodestream.Options{IdleTimeout: k.opts.StreamIdleTimeout, Logger: k.log})
	mux.Handle("/", k.metrics.countStreams(sessions))
	mux.HandleFunc("GET /runningpods/", k.serveRunningPods)
	mux.HandleFunc("POST /checkpoint/{namespace}/{pod}/{container}", k.serveCheckpoint)
	if dir := k.opts.SystemLogDir; dir != "" {
		logs := nodelogs.Files(dir)
		if k.opts.SystemLogQueries {
			logs = nodelogs.Queries(dir)
		}
		mux.Handle("GET /logs/", http.StripPrefix("/logs/", logs))
	}
	if set := k.opts.SetVerbosity; set != nil {
		mux.HandleFunc("PUT /debug/flags/v", func(w http.ResponseWriter, r *http.Request) { serveVerbosity(w, r, set) })
	}
}

// serveVerbosity sets the verbosity of the log to the number in the body.
func serveVerbosity(w http.ResponseWriter, r *http.Request, set func(string) error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64))
	if err == nil {
		err = set(strings.TrimSpace(string(b)))
	}
	if err != nil {
		http.Error(w, "error setting verbosity: "+err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, "successfully set klog.logging.verbosity to %s", strings.TrimSpace(string(b)))
}

// serveRunningPods lists what the runtime runs, whatever the API server or the manifests say.
func (k *Kubelet) serveRunningPods(w http.ResponseWriter, r *http.Request) {
	running := &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}
	found, err := k.rt.ListContainers(r.Context(), &cri.ListContainersRequest{Filter: &cri.ContainerFilter{State: running}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	pods := map[types.UID]*corev1.Pod{}
	for _, c := range found.Containers {
		uid := types.UID(c.Labels[labelPodUID])
		if uid == "" {
			continue
		}
		pod := pods[uid]
		if pod == nil {
			pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Labels[labelPodNamespace], Name: c.Labels[labelPodName], UID: uid}}
			pods[uid] = pod
		}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c.Labels[labelContainerName], Image: c.GetImage().GetImage()})
	}
	list := &metav1.List[*corev1.Pod]{}
	list.APIVersion, list.Kind = "v1", "PodList"
	for _, uid := range slices.Sorted(maps.Keys(pods)) {
		list.Items = append(list.Items, pods[uid])
	}
	writeJSON(w, list)
}

// serveCheckpoint writes the memory and state of a container to an archive.
func (k *Kubelet) serveCheckpoint(w http.ResponseWriter, r *http.Request) {
	namespace, pod, name := r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	_, id, err := streams{k}.running(r.Context(), namespace, pod, name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	file := filepath.Join(k.opts.RootDir, "checkpoints", fmt.Sprintf("checkpoint-%s_%s-%s-%s.tar", pod, namespace, name, time.Now().Format(time.RFC3339)))
	if err := k.makeDir(filepath.Dir(file)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, err = k.rt.CheckpointContainer(r.Context(), &cri.CheckpointContainerRequest{ContainerId: id, Location: file})
	switch {
	case status.Code(err) == codes.Unimplemented:
		http.Error(w, "the container runtime does not implement CheckpointContainer", http.StatusNotFound)
	case err != nil:
		http.Error(w, status.Convert(err).Message(), http.StatusInternalServerError)
	default:
		writeJSON(w, map[string][]string{"items": {path.Clean(file)}})
	}
}

// servePlain serves a handler without TLS until ctx ends. fail ends the kubelet.
func (*Kubelet) servePlain(ctx context.Context, l net.Listener, h http.Handler, fail context.CancelCauseFunc) {
	err := serve.Run(ctx, &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}, l, time.Second)
	if err != nil && !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
		fail(fmt.Errorf("kubelet: %w", err))
	}
}
