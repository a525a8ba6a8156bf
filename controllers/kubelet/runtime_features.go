package kubelet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// runtimeFeatures are what the container runtime and its handlers can do, as its status said last. Safe for
// concurrent use.
type runtimeFeatures struct {
	rt *runtime

	mu   sync.Mutex
	last *cri.StatusResponse // nil before the first answer; never changed
}

// see takes up an answer of the runtime.
func (f *runtimeFeatures) see(st *cri.StatusResponse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = st
}

// latest is the last answer, with nothing in it before the first.
func (f *runtimeFeatures) latest() *cri.StatusResponse {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// status requests the status of the runtime and takes it up.
func (f *runtimeFeatures) status(ctx context.Context) (*cri.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	st, err := f.rt.Status(ctx, &cri.StatusRequest{})
	if err == nil {
		f.see(st)
	}
	return st, err
}

// handler returns what a handler of the runtime can do: nothing if the runtime does not list its handlers, as
// containerd before 2.0. A handler that is not in the list is an error.
func (f *runtimeFeatures) handler(ctx context.Context, name string) (*cri.RuntimeHandlerFeatures, error) {
	st := f.latest()
	if st == nil {
		var err error
		if st, err = f.status(ctx); err != nil {
			return nil, fmt.Errorf("status of the container runtime: %s", status.Convert(err).Message())
		}
	}
	handlers := st.GetRuntimeHandlers()
	if len(handlers) == 0 {
		return nil, nil //nolint:nilnil // the getters of nil say that it can do nothing
	}
	i := slices.IndexFunc(handlers, func(h *cri.RuntimeHandler) bool { return h.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the handler %q is not known", name)
	}
	return handlers[i].Features, nil
}

// strictGroups reports whether pods can have the supplementalGroupsPolicy Strict.
func (f *runtimeFeatures) strictGroups() bool {
	return f.latest().GetFeatures().GetSupplementalGroupsPolicy()
}

// report puts what the runtime can do into the status of the node.
func (f *runtimeFeatures) report(st *corev1.NodeStatus) {
	last := f.latest()
	if features := last.GetFeatures(); features != nil {
		st.Features = &corev1.NodeFeatures{SupplementalGroupsPolicy: &features.SupplementalGroupsPolicy}
	}
	st.RuntimeHandlers = nil
	for _, h := range last.GetRuntimeHandlers() {
		st.RuntimeHandlers = append(st.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: h.Name, Features: &corev1.NodeRuntimeHandlerFeatures{
			RecursiveReadOnlyMounts: new(h.GetFeatures().GetRecursiveReadOnlyMounts()), UserNamespaces: new(h.GetFeatures().GetUserNamespaces())}})
	}
}

// recursiveReadOnly reports whether what is mounted below a mount of a pod is read-only too, as the mount
// demands it.
func (k *Kubelet) recursiveReadOnly(ctx context.Context, pod *corev1.Pod, m *corev1.VolumeMount) (bool, error) {
	if m.RecursiveReadOnly == nil || *m.RecursiveReadOnly == corev1.RecursiveReadOnlyDisabled {
		return false, nil
	}
	if !m.ReadOnly || m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
		return false, fmt.Errorf("volume %q requested recursive read-only mode, but it is not read-only or has a propagation", m.Name)
	}
	handler, err := k.handlers.of(ctx, pod)
	if err != nil {
		return false, err
	}
	features, err := k.features.handler(ctx, handler)
	if err != nil {
		return false, err
	}
	can := features.GetRecursiveReadOnlyMounts()
	if !can && *m.RecursiveReadOnly != corev1.RecursiveReadOnlyIfPossible {
		return false, fmt.Errorf("volume %q requested recursive read-only mode, but it is not supported by the runtime", m.Name)
	}
	return can, nil
}
