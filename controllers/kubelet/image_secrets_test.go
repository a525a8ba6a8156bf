package kubelet_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// pullSecret makes a Secret with a credential for a registry.
func (r *rig) pullSecret(name, registry, user, password string) {
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	controllertest.Create(r.c, &corev1.Secret{ObjectMeta: controllertest.Name("default", name), Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{".dockerconfigjson": fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, registry, auth)}})
}

// Images are pulled with the secrets of the pod, the right one among them, and never with those of others.
func TestImagePullSecrets(t *testing.T) {
	var mu sync.Mutex
	var tried []string
	bubble(t, func(r *rig) {
		r.rt.Pull = func(string, *cri.AuthConfig) error { return nil }
		r.rt.Fault = func(_ string, q any) fakecri.Fault {
			pull, ok := q.(*cri.PullImageRequest)
			if !ok {
				return 0
			}
			mu.Lock()
			defer mu.Unlock()
			tried = append(tried, pull.GetAuth().GetUsername()+"@"+pull.Image.Image)
			if pull.GetAuth().GetPassword() != "right" {
				return fakecri.Before
			}
			return 0
		}
	}, func(r *rig) {
		private := func(image string, secrets ...string) func(*corev1.Pod) {
			return func(p *corev1.Pod) {
				p.Spec.Containers[0].Image = image
				for _, s := range secrets {
					p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: s})
				}
			}
		}
		took := func() []string {
			mu.Lock()
			defer mu.Unlock()
			list := tried
			tried = nil
			return list
		}
		r.pullSecret("other", "other.example.com", "other", "right")
		r.pullSecret("wrong", "r.example.com/team", "wrong", "x")
		r.pullSecret("right", "*.example.com", "right", "right")
		controllertest.Create(r.c, &corev1.Secret{ObjectMeta: controllertest.Name("default", "broken"), Data: map[string][]byte{"x": []byte("y")}})
		r.pod("web", private("r.example.com/team/app:1", "missing", "broken", "other", "right", "wrong"), "a")
		time.Sleep(3 * time.Second)
		require.True(t, ready(r.get("web")))
		require.Equal(t, []string{"wrong@r.example.com/team/app:1", "right@r.example.com/team/app:1"}, took(), "the most specific first")
		var events []string
		for _, e := range controllertest.List[*corev1.Event](r.c, "default") {
			events = append(events, e.Reason+": "+e.Message)
		}
		require.True(t, slices.Contains(events, "FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (missing, broken); attempting to pull the image may not succeed."), "%v", events)

		r.pod("none", private("r.example.com/team/app:2", "other"), "a")
		time.Sleep(time.Second)
		require.Equal(t, "ErrImagePull", r.get("none").Status.ContainerStatuses[0].State.Waiting.Reason)
		require.Equal(t, []string{"@r.example.com/team/app:2"}, took())

		// A secret that comes later is used by the next attempt.
		r.pod("later", private("r.example.com/later:1", "late"), "a")
		time.Sleep(5 * time.Second)
		r.pullSecret("late", "r.example.com", "late", "right")
		time.Sleep(2 * time.Minute)
		require.True(t, ready(r.get("later")))
		require.Contains(t, took(), "late@r.example.com/later:1")
	})
}
