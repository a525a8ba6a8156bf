//go:build upstream

// The UIDs of static pods as the real kubelet computes them, as lines of JSON: what TestStaticUIDsBeside
// compares with. A line on the standard input is the path of a manifest and the name of the node; the line on
// the standard output is the pod's UID, empty if the kubelet refuses the manifest. .ci/peers builds it; the
// build tag keeps it out of this module.
package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/config"

	"upstream/lines"
)

type manifest struct{ Path, Node string }

// nothing observes nothing.
type nothing struct{}

func (nothing) ObservedPodOnWatch(*v1.Pod, time.Time) {}

func main() {
	klog.LogToStderr(false)
	lines.Answer(func(m *manifest) (types.UID, error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		pods := config.NewPodConfig(&record.FakeRecorder{}, nothing{})
		config.NewSourceFile(klog.Background(), m.Path, types.NodeName(m.Node), time.Hour, pods.Channel(ctx, "file"))
		for {
			select {
			case u := <-pods.Updates():
				if len(u.Pods) > 0 {
					return u.Pods[0].UID, nil
				}
			case <-time.After(10 * time.Second):
				return "", nil
			}
		}
	})
}
