package kubelet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// manifest is that of a static pod whose container runs command.
func manifest(command string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: static}
spec:
  terminationGracePeriodSeconds: 20
  containers: [{name: main, image: img, imagePullPolicy: IfNotPresent, command: [%s]}]
`, command)
}

// staticRig is a rig with a folder of manifests, whose containers take eight seconds to end.
type staticRig struct {
	*rig
	line *line
}

func staticBubble(t *testing.T, broken outage, f func(*staticRig)) {
	s := &staticRig{}
	bubble(t, func(r *rig) {
		s.rig = r
		r.opts.StopPods = false
		r.opts.StaticPodDir = filepath.Join(r.opts.RootDir, "..", "manifests")
		require.NoError(r.t, os.Mkdir(r.opts.StaticPodDir, 0o755))
		r.rt.Play = func(*cri.ContainerConfig) fakecri.Script { return fakecri.Script{StopAfter: 8 * time.Second} }
		r.rt.Pull = func(string, *cri.AuthConfig) error { return nil }
		r.wrap = func(c client.Conn) client.Conn {
			old := s.line
			s.line = newLine(c)
			if old != nil {
				broken = old.state
			}
			s.line.set(broken)
			return s.line
		}
	}, func(*rig) { f(s) })
}

func (s *staticRig) write(text string) {
	require.NoError(s.t, os.WriteFile(filepath.Join(s.opts.StaticPodDir, "static.yaml"), []byte(text), 0o600))
}

func (s *staticRig) remove() {
	require.NoError(s.t, os.Remove(filepath.Join(s.opts.StaticPodDir, "static.yaml")))
}

func (s *staticRig) command() string {
	c := s.rt.Config("static-n1", "main")
	if c == nil {
		return ""
	}
	return c.Command[0]
}

// watch sleeps and fails when two containers run at a time.
func (s *staticRig) watch(d time.Duration) {
	s.t.Helper()
	for range d / (100 * time.Millisecond) {
		time.Sleep(100 * time.Millisecond)
		require.LessOrEqual(s.t, len(s.rt.Running()), 1, "two containers of one static pod: %v", s.rt.Running())
	}
}

var one = []string{"static-n1/main"}

// Static pods run without the API server, which may be one of them.
func TestStaticPodsWithoutAPIServer(t *testing.T) {
	for name, broken := range map[string]outage{"refused": refused, "silent": silent} {
		t.Run(name, func(t *testing.T) {
			staticBubble(t, broken, func(s *staticRig) {
				s.write(manifest("a"))
				time.Sleep(5 * time.Second)
				require.Equal(t, one, s.rt.Running())
				s.rt.Kill("static-n1", "main", 1)
				time.Sleep(15 * time.Second)
				require.Equal(t, one, s.rt.Running(), "it is started again")

				s.stop()
				s.start()
				s.watch(10 * time.Second)
				require.Equal(t, one, s.rt.Running())
				s.rt.Kill("static-n1", "main", 1)
				time.Sleep(30 * time.Second)
				require.Equal(t, one, s.rt.Running(), "a kubelet that was started again supervises it")
				s.write(manifest("b"))
				s.watch(20 * time.Second)
				require.Equal(t, one, s.rt.Running())
				require.Equal(t, "b", s.command())

				s.line.set(intact)
				time.Sleep(2 * time.Minute)
				require.True(t, ready(s.get("static-n1")), "its mirror shows it once there is a server")
				require.Equal(t, one, s.rt.Running())
				s.line.set(broken)
				s.remove()
				time.Sleep(20 * time.Second)
				require.Empty(t, s.rt.Running())
				s.line.set(intact)
				time.Sleep(2 * time.Minute)
				require.False(t, s.exists("static-n1"))
			})
		})
	}
}

// An edited manifest starts its pod after the previous one has ended, and the mirror pod is deleted after the
// containers.
func TestStaticPodsDoNotOverlap(t *testing.T) {
	staticBubble(t, intact, func(s *staticRig) {
		s.write(manifest("a"))
		time.Sleep(5 * time.Second)
		require.True(t, ready(s.get("static-n1")))
		mirror := s.get("static-n1").UID
		s.write(manifest("b"))
		s.watch(5 * time.Second)
		require.Equal(t, one, s.rt.Running())
		require.Equal(t, "a", s.command(), "it has its grace")
		require.Equal(t, mirror, s.get("static-n1").UID)
		s.watch(10 * time.Second)
		require.Equal(t, "b", s.command())
		require.True(t, ready(s.get("static-n1")))
		require.NotEqual(t, mirror, s.get("static-n1").UID)

		// Back and forth, faster than the pod ends.
		for _, command := range []string{"c", "d", "b", "e"} {
			s.write(manifest(command))
			s.watch(3 * time.Second)
		}
		s.watch(30 * time.Second)
		require.Equal(t, "e", s.command())
		require.True(t, ready(s.get("static-n1")))

		// Changed while no kubelet runs.
		s.stop()
		s.write(manifest("f"))
		s.start()
		s.watch(time.Minute)
		require.Equal(t, "f", s.command())
		require.Equal(t, one, s.rt.Running())
		require.True(t, ready(s.get("static-n1")))

		// Removed: the mirror goes last.
		s.remove()
		time.Sleep(5 * time.Second)
		require.Equal(t, one, s.rt.Running())
		require.True(t, s.exists("static-n1"))
		time.Sleep(10 * time.Second)
		require.Empty(t, s.rt.Running())
		require.False(t, s.exists("static-n1"))
	})
}

// Manifests that cannot be read for a while do not end their pods.
func TestManifestsThatCannotBeRead(t *testing.T) {
	staticBubble(t, intact, func(s *staticRig) {
		s.write(manifest("a"))
		time.Sleep(5 * time.Second)
		require.Equal(t, one, s.rt.Running())
		containers := func() int { _, n := s.rt.Counts(); return n }

		s.write("apiVersion: v1\nkind: Pod\nmetadata: {name: sta") // half written
		time.Sleep(20 * time.Second)
		require.Equal(t, one, s.rt.Running())
		s.write(manifest("a"))
		time.Sleep(20 * time.Second)
		require.Equal(t, one, s.rt.Running())
		require.Equal(t, 1, containers(), "it was left alone")

		// A folder that cannot be read, before and after a start of the kubelet.
		away := s.opts.StaticPodDir + ".away"
		synctest.Wait() // or the kubelet looks between the two calls, when there is no folder at all
		require.NoError(t, os.Rename(s.opts.StaticPodDir, away))
		require.NoError(t, os.WriteFile(s.opts.StaticPodDir, nil, 0o600))
		time.Sleep(20 * time.Second)
		require.Equal(t, one, s.rt.Running())
		s.stop()
		s.start()
		time.Sleep(time.Minute)
		require.Equal(t, one, s.rt.Running())
		synctest.Wait()
		require.NoError(t, os.Remove(s.opts.StaticPodDir))
		require.NoError(t, os.Rename(away, s.opts.StaticPodDir))
		time.Sleep(20 * time.Second)
		require.Equal(t, one, s.rt.Running())
		require.Equal(t, 1, containers(), "it was left alone")

		s.remove()
		time.Sleep(20 * time.Second)
		require.Empty(t, s.rt.Running())
		pods := controllertest.List[*corev1.Pod](s.c, "default")
		require.False(t, slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Name == "static-n1" }))
	})
}

// A status that was to be written before the kubelet had seen its mirror is written when it has.
func TestStatusOfAMirrorThatIsSeenLate(t *testing.T) {
	staticBubble(t, intact, func(s *staticRig) {
		s.line.cutStreams(true)
		s.write(manifest("a"))
		time.Sleep(15 * time.Second)
		require.Equal(t, one, s.rt.Running())
		require.True(t, s.exists("static-n1"))
		s.line.cutStreams(false)
		time.Sleep(35 * time.Second) // the watch comes back
		require.True(t, ready(s.get("static-n1")))
	})
}

// A change of the folder is seen at once, where it can be watched, and otherwise with the next look.
func TestManifestsAreReadWhenTheyChange(t *testing.T) {
	staticBubble(t, intact, func(s *staticRig) {
		s.stop()
		s.opts.StaticPodInterval = 10 * time.Minute
		s.host.set(func() { s.host.watching = true })
		s.start()
		time.Sleep(time.Minute)
		s.write(manifest("a"))
		s.host.touch()
		time.Sleep(time.Second)
		require.Equal(t, one, s.rt.Running())
		s.delete("static-n1", 0)
		time.Sleep(5 * time.Second)
		require.True(t, ready(s.get("static-n1")), "its mirror comes back without a look at the folder")

		s.remove() // the event is lost
		time.Sleep(5 * time.Minute)
		require.Equal(t, one, s.rt.Running())
		time.Sleep(6 * time.Minute)
		require.Empty(t, s.rt.Running())
	})
}

// The path of the static pods may be one file.
func TestOneManifest(t *testing.T) {
	staticBubble(t, intact, func(s *staticRig) {
		s.stop()
		s.opts.StaticPodDir = filepath.Join(s.opts.StaticPodDir, "static.yaml")
		file := s.opts.StaticPodDir
		write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
		write(manifest("a"))
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "other.yaml"), []byte(strings.ReplaceAll(manifest("b"), "name: static", "name: other")), 0o600))
		s.start()
		time.Sleep(5 * time.Second)
		require.Equal(t, one, s.rt.Running(), "of the file only")
		write("half")
		s.watch(10 * time.Second)
		require.Equal(t, one, s.rt.Running(), "a broken file leaves what there was")
		write(manifest("c"))
		s.watch(20 * time.Second)
		require.Equal(t, one, s.rt.Running())
		require.Equal(t, "c", s.command())
		require.NoError(t, os.Remove(file))
		time.Sleep(20 * time.Second)
		require.Empty(t, s.rt.Running())
		require.False(t, s.exists("static-n1"))
	})
}

// A manifest may give its pod a UID. While it keeps that it is the same pod: a container with another image
// takes the place of the one before, in the same sandbox, and other changes wait for that.
func TestChangedManifestsThatKeepTheirUID(t *testing.T) {
	owned := func(command, image string) string {
		return strings.NewReplacer("{name: static}", "{name: static, uid: 0f5e2b3c-0000-4000-8000-000000000001}", "image: img", "image: "+image).Replace(manifest(command))
	}
	staticBubble(t, intact, func(s *staticRig) {
		box := func() string {
			list, err := s.rt.ListPodSandbox(t.Context(), &cri.ListPodSandboxRequest{})
			require.NoError(t, err)
			require.Len(t, list.Items, 1)
			return list.Items[0].Id
		}
		s.write(owned("a", "img"))
		time.Sleep(5 * time.Second)
		require.Equal(t, one, s.rt.Running())
		mirror, sandbox := s.get("static-n1"), box()
		require.Equal(t, "0f5e2b3c-0000-4000-8000-000000000001", mirror.Annotations["kubernetes.io/config.hash"])
		for i, c := range []struct{ command, image, runs string }{{"b", "img", "a"}, {"b", "other", "b"}, {"c", "other", "b"}, {"c", "img", "c"}} {
			s.write(owned(c.command, c.image))
			s.watch(40 * time.Second)
			require.Equal(t, one, s.rt.Running())
			require.Equal(t, c.runs, s.command(), i)
			require.Equal(t, sandbox, box())
			require.True(t, ready(s.get("static-n1")))
		}
		require.EqualValues(t, 2, s.get("static-n1").Status.ContainerStatuses[0].RestartCount)
		s.stop()
		s.start()
		s.watch(30 * time.Second)
		require.Equal(t, one, s.rt.Running())
		require.EqualValues(t, 2, s.get("static-n1").Status.ContainerStatuses[0].RestartCount, "a kubelet that starts again goes on with it")
	})
}
