package kubelet

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// onePod is a runtime with one pod, of one sandbox and at most one container.
type onePod struct {
	cri.RuntimeServiceClient
	state    cri.PodSandboxState
	made     bool
	looking  func() // called before the container is looked at
	statuses int
}

func (p *onePod) ListPodSandbox(context.Context, *cri.ListPodSandboxRequest, ...grpc.CallOption) (*cri.ListPodSandboxResponse, error) {
	return &cri.ListPodSandboxResponse{Items: []*cri.PodSandbox{{Id: "box", State: p.state, Labels: map[string]string{labelPodUID: "uid"}}}}, nil
}

func (p *onePod) ListContainers(context.Context, *cri.ListContainersRequest, ...grpc.CallOption) (*cri.ListContainersResponse, error) {
	if !p.made {
		return &cri.ListContainersResponse{}, nil
	}
	return &cri.ListContainersResponse{Containers: []*cri.Container{{Id: "c", PodSandboxId: "box", State: cri.ContainerState_CONTAINER_RUNNING, Labels: map[string]string{labelPodUID: "uid"}}}}, nil
}

func (p *onePod) PodSandboxStatus(context.Context, *cri.PodSandboxStatusRequest, ...grpc.CallOption) (*cri.PodSandboxStatusResponse, error) {
	p.statuses++
	return &cri.PodSandboxStatusResponse{Status: &cri.PodSandboxStatus{Id: "box", State: p.state}}, nil
}

func (p *onePod) ContainerStatus(context.Context, *cri.ContainerStatusRequest, ...grpc.CallOption) (*cri.ContainerStatusResponse, error) {
	p.statuses++
	if look := p.looking; look != nil {
		p.looking = nil
		look()
	}
	return &cri.ContainerStatusResponse{Status: &cri.ContainerStatus{Id: "c", State: cri.ContainerState_CONTAINER_RUNNING}}, nil
}

// A sandbox ends while the worker of its pod looks at the container that it has made in it. Whatever a list
// of that time finds first, it is known in the end.
func TestLooksThatCross(t *testing.T) {
	for name, crossing := range map[string]func(p *pleg, end func()) (later func()){
		"a list before the look is over": func(p *pleg, end func()) func() {
			end()
			p.relist(t.Context())
			return func() {}
		},
		"a list that began before the look and ends after it": func(p *pleg, end func()) func() {
			end()
			return func() { p.relist(t.Context()) }
		},
		"an inspection that began before the look and ends after it": func(p *pleg, end func()) func() {
			end()
			l := look{1, p.views.begin().at}
			return func() {
				p.inspect(t.Context(), l, map[types.UID]*found{"uid": {}})
				require.True(t, p.redo["uid"])
				p.relist(t.Context())
			}
		},
		"no list": func(p *pleg, end func()) func() {
			return func() { end(); p.relist(t.Context()) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			rt := &onePod{}
			p := newTestPleg()
			p.rt = &runtime{RuntimeServiceClient: rt}
			p.metrics = newMetrics(&Kubelet{})
			p.views = newViews(p.rt, p.metrics)
			p.listing, p.log, p.changed = make(chan struct{}, 1), slog.New(slog.DiscardHandler), func(types.UID) {}
			v, err := p.views.now(t.Context(), "uid")
			require.NoError(t, err)
			require.NotNil(t, v.current())
			p.relist(t.Context())
			require.Equal(t, 1, rt.statuses, "the list shows what is known")
			rt.made = true
			var later func()
			rt.looking = func() { later = crossing(p, func() { rt.state = cri.PodSandboxState_SANDBOX_NOTREADY }) }
			v, err = p.views.grown(t.Context(), v, []string{"c"})
			require.NoError(t, err)
			require.Len(t, v.containers, 1)
			later()
			p.relist(t.Context())
			require.Nil(t, p.views.get("uid").current())
			require.Len(t, p.views.get("uid").containers, 1)
		})
	}
}
