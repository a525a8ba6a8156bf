package kubelet_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// notReady writes the condition that a node which is not heard of gives its pods.
func (r *rig) notReady(name string) {
	for {
		p := r.get(name)
		for i := range p.Status.Conditions {
			if p.Status.Conditions[i].Type == corev1.PodReady {
				p.Status.Conditions[i].Status = corev1.ConditionFalse
			}
		}
		_, err := client.For[*corev1.Pod](r.c.Conn()).UpdateStatus(r.t.Context(), p)
		if !apierrors.IsConflict(err) {
			require.NoError(r.t, err)
			return
		}
	}
}

func TestStatusesThatOthersChangeArePutBack(t *testing.T) {
	var writes atomic.Int32
	bubble(t, func(r *rig) {
		r.opts.StaticPodDir = filepath.Join(filepath.Dir(r.opts.RootDir), "manifests")
		require.NoError(r.t, os.Mkdir(r.opts.StaticPodDir, 0o755))
		require.NoError(r.t, os.WriteFile(filepath.Join(r.opts.StaticPodDir, "a.yaml"), []byte(
			"apiVersion: v1\nkind: Pod\nmetadata: {name: s}\nspec: {containers: [{name: a, image: img, imagePullPolicy: Never}]}\n"), 0o644))
		r.observe = func(w client.Write) {
			if w.Resource.Resource == "pods" && w.Subresource == "status" {
				writes.Add(1)
			}
		}
	}, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(5 * time.Second)
		for _, name := range []string{"web", "s-n1"} {
			require.True(t, ready(r.get(name)), name)
			r.notReady(name)
			time.Sleep(11 * time.Second)
			require.True(t, ready(r.get(name)), name)
		}
		before := writes.Load()
		for range 60 {
			r.notReady("web")
			time.Sleep(time.Second)
		}
		time.Sleep(11 * time.Second)
		require.True(t, ready(r.get("web")))
		require.LessOrEqual(t, writes.Load()-before, int32(10), "it does not race whoever changes it")
	})
}

func TestAStatusOfAnotherPodOfTheNameIsNotTriedAgain(t *testing.T) {
	for name, answer := range map[string]error{
		"read": nil,
		// The Node authorizer refuses to show pods that are not of this node.
		"refused": apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web", errors.New("no relationship found")),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.intercept = func(_ context.Context, q *client.Request) error {
					if q.Resource.Resource == "pods" && q.Verb() == "get" {
						return answer
					}
					return nil
				}
			}, func(r *rig) {
				r.pod("web", nil, "a")
				time.Sleep(3 * time.Second)
				r.line.cutStreams(true) // the kubelet does not see what comes
				r.delete("web", 0)
				r.pod("web", func(p *corev1.Pod) { p.Spec.NodeName = "" }, "a")
				r.rt.Kill("web", "a", 1)
				time.Sleep(30 * time.Second)
				require.Equal(r.t, 1, r.line.patches("web"), "one that failed")
				require.Empty(r.t, controllertest.Get[*corev1.Pod](r.c, "default", "web").Status.ContainerStatuses)
				r.line.cutStreams(false)
				time.Sleep(30 * time.Second)
				require.Empty(r.t, r.rt.Running())
			})
		})
	}
}
