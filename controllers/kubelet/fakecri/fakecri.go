// Package fakecri is a container runtime for tests: CRI v1 over gRPC in memory, with containers that run and
// end on package time without any process. It runs inside and outside of testing/synctest bubbles.
//
//	rt := fakecri.New("registry/image:1")
//	dial, wait := rt.Serve(ctx)
//	k, err := kubelet.New(conn, kubelet.Options{RuntimeDial: dial, NoCgroups: true, ...})
//
// A real kubelet on it runs pods on virtual time. What the containers do is decided by Play, Execute and
// Measure; how calls fail by Fail and Fault; what happens to the runtime by its methods.
//
// It is for tests only: it replaces containerd in the kubelet's tests, never the kubelet.
package fakecri

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Script defines what one run of a container does. The zero value runs until it is stopped, and then ends at
// once.
type Script struct {
	// RunFor is how long it runs; 0 means until it is stopped. ExitCode is the exit code if it ends by
	// itself, StopCode if it is stopped.
	RunFor             time.Duration
	ExitCode, StopCode int32
	// StopAfter is how long it takes to end when it is stopped; it is killed (exit code 137) if the grace
	// period is shorter.
	StopAfter time.Duration
}

// Fault is how a call fails. The zero value means that it does not.
type Fault int

// The faults of calls.
const (
	// Before answers Unavailable without any effect.
	Before Fault = iota + 1
	// After lets the call take effect and answers Unavailable: the reply is lost.
	After
	// Instead answers that the call succeeded, without any effect and with an empty response.
	Instead
	// Hang blocks the call, without any effect, until its context ends.
	Hang
)

// Runtime is the runtime. Set the functions before Serve; they may be called from many goroutines.
type Runtime struct {
	cri.UnimplementedRuntimeServiceServer
	cri.UnimplementedImageServiceServer

	// Play returns what a run of a container does; nil means the zero Script.
	Play func(c *cri.ContainerConfig) Script
	// Execute runs commands and may block; nil means immediate success without output.
	Execute func(c *cri.ContainerConfig, cmd []string) (out string, exit int32)
	// Fail, if set, may refuse a call by its method name, such as RunPodSandbox, before it has any effect.
	Fail func(method string) error
	// Fault, if set, may make a call fail in other ways, and may sleep. For each event it is called with
	// GetContainerEvents and the event; any fault then loses the event and ends the stream.
	Fault func(method string, request any) Fault
	// Pull performs a pull with credentials, which may be nil; nil means that pulls fail.
	Pull func(image string, auth *cri.AuthConfig) error
	// Measure returns what a running container uses; nil means nothing.
	Measure func(c *cri.ContainerConfig) Usage
	// ImageDir is the directory that the runtime says its images are in; empty means "/". LayerDir is that of
	// what containers write; empty means that the runtime does not say.
	ImageDir, LayerDir string
	// Events makes GetContainerEvents work; without it the runtime has no events, like containerd before 1.7.
	Events bool
	// CgroupDriver is what RuntimeConfig answers; nil means that the runtime does not have this call, as
	// containerd before 2.0.
	CgroupDriver *cri.CgroupDriver
	// Handlers are the runtime's handlers and what they can do, Features what it can do itself; nil means
	// that its status does not say, as with containerd before 2.0.
	Handlers []*cri.RuntimeHandler
	Features *cri.RuntimeFeatures
	// DualStack gives each sandbox an address of IPv6 besides that of IPv4, which comes first.
	DualStack bool
	// ImageVolumes makes the runtime mount images, as containerd since 2.1.
	ImageVolumes bool
	// Logs makes containers have log files, as the kubelet requests them, to which Print writes.
	Logs bool

	mu         sync.Mutex
	ranges     string // of the pods' addresses
	away       bool
	cut        bool // the network is not ready
	doubles    []string
	sandboxes  map[string]*sandbox
	containers map[string]*container
	made       map[string]int // by what names a sandbox or container
	images     map[string]*image
	// subscribers are the streams of events, with what ends them.
	subscribers map[chan *cri.ContainerEventResponse]chan struct{}
	calls       []string
	timers      sync.WaitGroup
	done        <-chan struct{}
}

type sandbox struct {
	id      string
	config  *cri.PodSandboxConfig
	state   cri.PodSandboxState
	created time.Time
	ip, ip6 string // ip6 may be empty
	handler string
}

type container struct {
	id, sandbox                string
	config                     *cri.ContainerConfig
	state                      cri.ContainerState
	created, started, finished time.Time
	exit                       int32
	script                     Script
	ended                      chan struct{}
	log                        *os.File // with Runtime.Logs, once it has been started
}

// New returns a runtime that has the images.
func New(images ...string) *Runtime {
	r := &Runtime{sandboxes: map[string]*sandbox{}, containers: map[string]*container{}, made: map[string]int{}, images: map[string]*image{},
		subscribers: map[chan *cri.ContainerEventResponse]chan struct{}{}}
	for _, name := range images {
		r.images[name] = &image{name: name, size: 1}
	}
	return r
}

// Serve runs the runtime until ctx ends; dial connects to it.
func (r *Runtime) Serve(ctx context.Context) (dial func(context.Context, string) (net.Conn, error), wait func()) {
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer(grpc.WaitForHandlers(true), grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		method := info.FullMethod[len(info.FullMethod)-len(lastPart(info.FullMethod)):]
		r.mu.Lock()
		r.calls = append(r.calls, method)
		r.mu.Unlock()
		var fault Fault
		if r.Fault != nil {
			fault = r.Fault(method, req)
		}
		if r.isAway() {
			return nil, unavailable
		}
		if r.Fail != nil {
			if err := r.Fail(method); err != nil {
				return nil, err
			}
		}
		switch fault {
		case Before:
			return nil, unavailable
		case After:
			if _, err := handle(ctx, req); err != nil {
				return nil, err
			}
			return nil, unavailable
		case Instead:
			m, _ := reflect.TypeOf(r).MethodByName(method)
			return reflect.New(m.Type.Out(0).Elem()).Interface(), nil
		case Hang:
			<-ctx.Done()
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		return handle(ctx, req)
	}))
	cri.RegisterRuntimeServiceServer(s, r)
	cri.RegisterImageServiceServer(s, r)
	r.done = ctx.Done()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		s.Stop()
	}()
	return func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }, func() {
		<-done
		<-stopped
		r.timers.Wait()
	}
}

// unavailable is the error of a client whose runtime does not answer.
var unavailable = status.Error(codes.Unavailable, "connection error: the runtime is away")

func (r *Runtime) isAway() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.away
}

// SetAway makes every call answer Unavailable, as while the runtime's process is restarted. Containers
// continue.
func (r *Runtime) SetAway(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = away
	if away {
		r.cutEvents()
	}
}

// LoseTrack makes the state of running containers of that name UNKNOWN, as after a restart that could not
// load them. Their processes continue until they are stopped or removed.
func (r *Runtime) LoseTrack(pod, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range byID(r.containers) {
		if c.state == cri.ContainerState_CONTAINER_RUNNING && r.nameOf(c) == pod+"/"+name {
			c.state = cri.ContainerState_CONTAINER_UNKNOWN
		}
	}
}

// Doubles returns the containers, as pod/container, that were started while another process of the same
// container was running.
func (r *Runtime) Doubles() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.doubles)
}

// States returns the number of containers in a state.
func (r *Runtime) States(state cri.ContainerState) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, c := range byID(r.containers) {
		if c.state == state {
			n++
		}
	}
	return n
}

// nameOf is pod/container. The lock is held.
func (r *Runtime) nameOf(c *container) string {
	return r.sandboxes[c.sandbox].config.Metadata.Name + "/" + c.config.Metadata.Name
}

func lastPart(method string) string {
	for i := len(method) - 1; i >= 0; i-- {
		if method[i] == '/' {
			return method[i+1:]
		}
	}
	return method
}

// Calls returns the number of calls of a method.
func (r *Runtime) Calls(method string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, c := range r.calls {
		if c == method {
			n++
		}
	}
	return n
}

// Handler returns the runtime handler of the newest sandbox of a pod.
func (r *Runtime) Handler(pod string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.newestSandbox(pod); s != nil {
		return s.handler
	}
	return ""
}

// SandboxConfig returns the configuration of the newest sandbox of a pod, or nil.
func (r *Runtime) SandboxConfig(pod string) *cri.PodSandboxConfig {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.newestSandbox(pod); s != nil {
		return s.config
	}
	return nil
}

func (r *Runtime) newestSandbox(pod string) (found *sandbox) {
	for _, s := range byID(r.sandboxes) {
		if s.config.Metadata.Name == pod && (found == nil || s.created.After(found.created)) {
			found = s
		}
	}
	return found
}

// Running returns the names of containers with a running process, as pod/container, sorted.
func (r *Runtime) Running() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, c := range byID(r.containers) {
		if c.alive() {
			list = append(list, r.nameOf(c))
		}
	}
	slices.Sort(list)
	return list
}

// SetNetworkReady sets whether the runtime says that its network is ready, as it does at first.
func (r *Runtime) SetNetworkReady(ready bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = !ready
}

// Counts returns the numbers of existing sandboxes and containers, in any state.
func (r *Runtime) Counts() (sandboxes, containers int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sandboxes), len(r.containers)
}

// Config returns the newest configuration of a container of a pod; nil if there is none.
func (r *Runtime) Config(pod, name string) *cri.ContainerConfig {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *container
	for _, c := range byID(r.containers) {
		if r.sandboxes[c.sandbox].config.Metadata.Name == pod && c.config.Metadata.Name == name && (found == nil || c.created.After(found.created)) {
			found = c
		}
	}
	if found == nil {
		return nil
	}
	return found.config
}

// Kill ends the running containers of that name, as if their process had been killed.
func (r *Runtime) Kill(pod, name string, exit int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range byID(r.containers) {
		if r.nameOf(c) == pod+"/"+name {
			r.end(c, exit)
		}
	}
}

// KillSandbox ends a pod's sandbox and all its containers.
func (r *Runtime) KillSandbox(pod string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range byID(r.sandboxes) {
		if s.config.Metadata.Name == pod {
			r.stop(s)
		}
	}
}

// Forget removes all state, as if the disk had been wiped.
func (r *Runtime) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range byID(r.containers) {
		r.end(c, 137)
	}
	clear(r.containers)
	clear(r.sandboxes)
}

// alive reports whether the container has a process.
func (c *container) alive() bool {
	return c.state == cri.ContainerState_CONTAINER_RUNNING || c.state == cri.ContainerState_CONTAINER_UNKNOWN
}

// end is called with the lock held.
func (r *Runtime) end(c *container, exit int32) {
	if !c.alive() {
		return
	}
	c.state, c.exit, c.finished = cri.ContainerState_CONTAINER_EXITED, exit, time.Now()
	close(c.ended)
	c.closeLog()
	r.emit(cri.ContainerEventType_CONTAINER_STOPPED_EVENT, c.id, r.sandboxes[c.sandbox])
}

func (r *Runtime) stop(s *sandbox) {
	if s.state == cri.PodSandboxState_SANDBOX_NOTREADY {
		return
	}
	s.state = cri.PodSandboxState_SANDBOX_NOTREADY
	for _, c := range byID(r.containers) {
		if c.sandbox == s.id {
			r.end(c, 137)
		}
	}
	r.emit(cri.ContainerEventType_CONTAINER_STOPPED_EVENT, s.id, s)
}

// id returns the id of the next sandbox or container of that name. It does not depend on others, which come
// in any order, so that a run with a seed replays.
func (r *Runtime) id(kind, name string, attempt uint32) (id string, sum uint64) {
	what := fmt.Sprintf("%s %s %d", kind, name, attempt)
	r.made[what]++
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", what, r.made[what])
	return fmt.Sprintf("%s%016x", kind, h.Sum64()), h.Sum64()
}

// address returns the address of a sandbox: the first that is free from that of its id on.
func (r *Runtime) address(sum uint64) string {
	const all = 250 * 250
	for n := sum % all; ; n++ {
		ip := fmt.Sprintf("10.1.%d.%d", n/250%250, n%250+1)
		used := false
		for _, s := range r.sandboxes {
			used = used || s.ip == ip
		}
		if !used || len(r.sandboxes) >= all {
			return ip
		}
	}
}

// byID are the sandboxes or containers in the order of their ids.
func byID[T any](all map[string]T) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, id := range slices.Sorted(maps.Keys(all)) {
			if !yield(id, all[id]) {
				return
			}
		}
	}
}

func notFound(kind, id string) error {
	return status.Errorf(codes.NotFound, "%s %q not found", kind, id)
}

// Version implements CRI.
func (r *Runtime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "fake", RuntimeVersion: "1", RuntimeApiVersion: "v1"}, nil
}

// RuntimeConfig implements CRI.
func (r *Runtime) RuntimeConfig(context.Context, *cri.RuntimeConfigRequest) (*cri.RuntimeConfigResponse, error) {
	if r.CgroupDriver == nil {
		return nil, status.Error(codes.Unimplemented, "unknown method RuntimeConfig")
	}
	return &cri.RuntimeConfigResponse{Linux: &cri.LinuxRuntimeConfiguration{CgroupDriver: *r.CgroupDriver}}, nil
}

// Status implements CRI.
func (r *Runtime) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	network := &cri.RuntimeCondition{Type: cri.NetworkReady, Status: true}
	r.mu.Lock()
	if r.cut {
		network = &cri.RuntimeCondition{Type: cri.NetworkReady, Reason: "NetworkPluginNotReady", Message: "there is no network"}
	}
	r.mu.Unlock()
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{{Type: cri.RuntimeReady, Status: true}, network}},
		RuntimeHandlers: r.Handlers, Features: r.Features}, nil
}

// RunPodSandbox implements CRI.
func (r *Runtime) RunPodSandbox(_ context.Context, q *cri.RunPodSandboxRequest) (*cri.RunPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range byID(r.sandboxes) {
		if m, n := s.config.Metadata, q.Config.Metadata; m.Uid == n.Uid && m.Attempt == n.Attempt {
			return nil, status.Errorf(codes.AlreadyExists, "sandbox of pod %s, attempt %d, already exists", n.Name, n.Attempt)
		}
	}
	id, sum := r.id("sandbox", q.Config.Metadata.Namespace+"/"+q.Config.Metadata.Name+" "+q.Config.Metadata.Uid, q.Config.Metadata.Attempt)
	s := &sandbox{id: id, config: q.Config, handler: q.RuntimeHandler, state: cri.PodSandboxState_SANDBOX_READY, created: time.Now(), ip: r.address(sum)}
	if r.DualStack {
		s.ip6 = "fd00::" + strings.ReplaceAll(s.ip, ".", ":")
	}
	r.sandboxes[id] = s
	r.emit(cri.ContainerEventType_CONTAINER_STARTED_EVENT, id, r.sandboxes[id])
	return &cri.RunPodSandboxResponse{PodSandboxId: id}, nil
}

// UpdateRuntimeConfig implements CRI. Nothing depends on what it sets.
func (r *Runtime) UpdateRuntimeConfig(_ context.Context, q *cri.UpdateRuntimeConfigRequest) (*cri.UpdateRuntimeConfigResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ranges = q.GetRuntimeConfig().GetNetworkConfig().GetPodCidr()
	return &cri.UpdateRuntimeConfigResponse{}, nil
}

// PodCIDR returns the ranges of the pods' addresses that the kubelet has set last, with commas between.
func (r *Runtime) PodCIDR() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ranges
}

// StopPodSandbox implements CRI.
func (r *Runtime) StopPodSandbox(_ context.Context, q *cri.StopPodSandboxRequest) (*cri.StopPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sandboxes[q.PodSandboxId]; s != nil {
		r.stop(s)
	}
	return &cri.StopPodSandboxResponse{}, nil
}

// RemovePodSandbox implements CRI.
func (r *Runtime) RemovePodSandbox(_ context.Context, q *cri.RemovePodSandboxRequest) (*cri.RemovePodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sandboxes[q.PodSandboxId]; s != nil {
		r.stop(s)
		for id, c := range byID(r.containers) {
			if c.sandbox == s.id {
				delete(r.containers, id)
			}
		}
		delete(r.sandboxes, s.id)
		r.emit(cri.ContainerEventType_CONTAINER_DELETED_EVENT, s.id, s)
	}
	return &cri.RemovePodSandboxResponse{}, nil
}

// PodSandboxStatus implements CRI.
func (r *Runtime) PodSandboxStatus(_ context.Context, q *cri.PodSandboxStatusRequest) (*cri.PodSandboxStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[q.PodSandboxId]
	if s == nil {
		return nil, notFound("sandbox", q.PodSandboxId)
	}
	return &cri.PodSandboxStatusResponse{Status: s.status()}, nil
}

func (s *sandbox) status() *cri.PodSandboxStatus {
	st := &cri.PodSandboxStatus{Id: s.id, Metadata: s.config.Metadata, State: s.state, CreatedAt: s.created.UnixNano(), Labels: s.config.Labels}
	if options := s.config.GetLinux().GetSecurityContext().GetNamespaceOptions(); options != nil {
		st.Linux = &cri.LinuxPodSandboxStatus{Namespaces: &cri.Namespace{Options: options}}
	}
	if s.config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetNetwork() != cri.NamespaceMode_NODE {
		st.Network = &cri.PodSandboxNetworkStatus{Ip: s.ip}
		if s.ip6 != "" {
			st.Network.AdditionalIps = []*cri.PodIP{{Ip: s.ip6}}
		}
	}
	return st
}

func selected(labels, want map[string]string) bool {
	for k, v := range want {
		if labels[k] != v {
			return false
		}
	}
	return true
}

// ListPodSandbox implements CRI.
func (r *Runtime) ListPodSandbox(_ context.Context, q *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &cri.ListPodSandboxResponse{}
	state := q.GetFilter().GetState()
	for _, s := range byID(r.sandboxes) {
		if (state == nil || state.State == s.state) && selected(s.config.Labels, q.GetFilter().GetLabelSelector()) {
			out.Items = append(out.Items, &cri.PodSandbox{Id: s.id, Metadata: s.config.Metadata, State: s.state, CreatedAt: s.created.UnixNano(), Labels: s.config.Labels, Annotations: s.config.Annotations})
		}
	}
	return out, nil
}

// CreateContainer implements CRI.
func (r *Runtime) CreateContainer(_ context.Context, q *cri.CreateContainerRequest) (*cri.CreateContainerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sandboxes[q.PodSandboxId]; s == nil || s.state != cri.PodSandboxState_SANDBOX_READY {
		return nil, notFound("sandbox", q.PodSandboxId)
	}
	for _, c := range byID(r.containers) {
		if c.sandbox == q.PodSandboxId && c.config.Metadata.Name == q.Config.Metadata.Name {
			if c.config.Metadata.Attempt == q.Config.Metadata.Attempt {
				return nil, status.Errorf(codes.AlreadyExists, "container %s, attempt %d, already exists", c.config.Metadata.Name, c.config.Metadata.Attempt)
			}
		}
	}
	if err := r.checkMounts(q.Config); err != nil {
		return nil, err
	}
	id, _ := r.id("container", q.PodSandboxId+"/"+q.Config.Metadata.Name, q.Config.Metadata.Attempt)
	c := &container{id: id, sandbox: q.PodSandboxId, config: q.Config, created: time.Now(), ended: make(chan struct{})}
	if r.Play != nil {
		c.script = r.Play(q.Config)
	}
	r.containers[c.id] = c
	r.emit(cri.ContainerEventType_CONTAINER_CREATED_EVENT, c.id, r.sandboxes[c.sandbox])
	return &cri.CreateContainerResponse{ContainerId: c.id}, nil
}

// StartContainer implements CRI.
func (r *Runtime) StartContainer(_ context.Context, q *cri.StartContainerRequest) (*cri.StartContainerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[q.ContainerId]
	if c == nil {
		return nil, notFound("container", q.ContainerId)
	}
	if c.state != cri.ContainerState_CONTAINER_CREATED {
		return nil, status.Errorf(codes.FailedPrecondition, "container %s is in state %v", c.config.Metadata.Name, c.state)
	}
	for _, other := range byID(r.containers) {
		if other != c && other.alive() && r.nameOf(other) == r.nameOf(c) &&
			r.sandboxes[other.sandbox].config.Metadata.Uid == r.sandboxes[c.sandbox].config.Metadata.Uid {
			r.doubles = append(r.doubles, r.nameOf(c))
		}
	}
	if err := r.openLog(c); err != nil {
		return nil, status.Error(codes.Unknown, err.Error())
	}
	c.state, c.started = cri.ContainerState_CONTAINER_RUNNING, time.Now()
	r.emit(cri.ContainerEventType_CONTAINER_STARTED_EVENT, c.id, r.sandboxes[c.sandbox])
	if c.script.RunFor > 0 {
		r.timers.Go(func() {
			select {
			case <-time.After(c.script.RunFor):
				r.mu.Lock()
				r.end(c, c.script.ExitCode)
				r.mu.Unlock()
			case <-c.ended:
			case <-r.done:
			}
		})
	}
	return &cri.StartContainerResponse{}, nil
}

// StopContainer implements CRI.
func (r *Runtime) StopContainer(ctx context.Context, q *cri.StopContainerRequest) (*cri.StopContainerResponse, error) {
	r.mu.Lock()
	c := r.containers[q.ContainerId]
	r.mu.Unlock()
	if c == nil {
		return nil, notFound("container", q.ContainerId)
	}
	wait, code := c.script.StopAfter, c.script.StopCode
	if grace := time.Duration(q.Timeout) * time.Second; wait > grace {
		wait, code = grace, 137
	}
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-c.ended:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	r.mu.Lock()
	r.end(c, code)
	r.mu.Unlock()
	return &cri.StopContainerResponse{}, nil
}

// RemoveContainer implements CRI.
func (r *Runtime) RemoveContainer(_ context.Context, q *cri.RemoveContainerRequest) (*cri.RemoveContainerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.containers[q.ContainerId]; c != nil {
		r.end(c, 137)
		delete(r.containers, c.id)
		r.emit(cri.ContainerEventType_CONTAINER_DELETED_EVENT, c.id, r.sandboxes[c.sandbox])
	}
	return &cri.RemoveContainerResponse{}, nil
}

// ListContainers implements CRI.
func (r *Runtime) ListContainers(_ context.Context, q *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &cri.ListContainersResponse{}
	state := q.GetFilter().GetState()
	for _, c := range byID(r.containers) {
		if (state == nil || state.State == c.state) && selected(c.config.Labels, q.GetFilter().GetLabelSelector()) {
			out.Containers = append(out.Containers, &cri.Container{Id: c.id, PodSandboxId: c.sandbox, Metadata: c.config.Metadata, State: c.state,
				CreatedAt: c.created.UnixNano(), Labels: c.config.Labels, Annotations: c.config.Annotations, Image: c.config.Image, ImageRef: c.config.Image.Image})
		}
	}
	return out, nil
}

// ContainerStatus implements CRI.
func (r *Runtime) ContainerStatus(_ context.Context, q *cri.ContainerStatusRequest) (*cri.ContainerStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[q.ContainerId]
	if c == nil {
		return nil, notFound("container", q.ContainerId)
	}
	return &cri.ContainerStatusResponse{Status: r.status(c)}, nil
}

// status is a container's. The lock is held.
func (r *Runtime) status(c *container) *cri.ContainerStatus {
	st := &cri.ContainerStatus{Id: c.id, Metadata: c.config.Metadata, State: c.state, CreatedAt: c.created.UnixNano(), ExitCode: c.exit,
		Image: c.config.Image, ImageRef: "fake@" + c.config.Image.Image, Labels: c.config.Labels, Annotations: c.config.Annotations, Mounts: c.config.Mounts,
		Resources: &cri.ContainerResources{Linux: c.config.GetLinux().GetResources()}, LogPath: r.logPath(c), StopSignal: c.config.StopSignal}
	if !c.started.IsZero() {
		st.StartedAt = c.started.UnixNano()
	}
	if !c.finished.IsZero() {
		st.FinishedAt = c.finished.UnixNano()
	}
	return st
}

// ExecSync implements CRI.
func (r *Runtime) ExecSync(ctx context.Context, q *cri.ExecSyncRequest) (*cri.ExecSyncResponse, error) {
	r.mu.Lock()
	c := r.containers[q.ContainerId]
	running := c != nil && c.state == cri.ContainerState_CONTAINER_RUNNING
	var config *cri.ContainerConfig
	if running {
		config = c.config
	}
	r.mu.Unlock()
	if !running {
		return nil, notFound("running container", q.ContainerId)
	}
	if r.Execute == nil {
		return &cri.ExecSyncResponse{}, nil
	}
	result := make(chan *cri.ExecSyncResponse, 1)
	r.timers.Go(func() {
		out, exit := r.Execute(config, q.Cmd)
		result <- &cri.ExecSyncResponse{Stdout: []byte(out), ExitCode: exit}
	})
	timeout := time.Duration(q.Timeout) * time.Second
	if timeout == 0 {
		timeout = 1<<63 - 1
	}
	select {
	case answer := <-result:
		return answer, nil
	case <-time.After(timeout):
		return nil, status.Errorf(codes.DeadlineExceeded, "timeout %v exceeded", timeout)
	case <-c.ended:
		return nil, status.Error(codes.Unknown, "the container ended")
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// UpdateContainerResources implements CRI. The configuration of the container shows what it has afterwards:
// as with containerd, what the request leaves at zero stays as it was.
func (r *Runtime) UpdateContainerResources(_ context.Context, q *cri.UpdateContainerResourcesRequest) (*cri.UpdateContainerResourcesResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[q.ContainerId]
	if c == nil {
		return nil, notFound("container", q.ContainerId)
	}
	if !c.alive() && c.state != cri.ContainerState_CONTAINER_CREATED {
		return nil, status.Errorf(codes.FailedPrecondition, "container %s is in state %v", c.config.Metadata.Name, c.state)
	}
	config := proto.Clone(c.config).(*cri.ContainerConfig)
	if config.Linux == nil {
		config.Linux = &cri.LinuxContainerConfig{}
	}
	if config.Linux.Resources == nil {
		config.Linux.Resources = &cri.LinuxContainerResources{}
	}
	if len(q.Linux.GetHugepageLimits()) > 0 {
		config.Linux.Resources.HugepageLimits = nil
	}
	proto.Merge(config.Linux.Resources, q.Linux)
	c.config = config
	return &cri.UpdateContainerResourcesResponse{}, nil
}
