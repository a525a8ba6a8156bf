package kubelet_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// outage is how a line to the API server is broken.
type outage int

const (
	intact  outage = iota
	refused        // every request fails at once
	silent         // requests get no answer until the caller gives up or the line changes
)

// line is a connection to the API server that a test may break.
type line struct {
	client.Conn
	mu    sync.Mutex
	state outage
	cut   chan struct{} // closed when the state changes
	// reads counts reads of single objects by name, latest those that asked for the latest state.
	reads, latest map[string]int
	// rejected counts patches that the server refused, by name. noStreams ends watches.
	rejected  map[string]int
	noStreams bool
	// intercept, if set, lets a request fail. Set it before the kubelet starts.
	intercept func(ctx context.Context, r *client.Request) error
}

// patches is how many patches of an object the server refused.
func (l *line) patches(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rejected[name]
}

// cutStreams ends all watches and, while cut, lets no new ones begin. It must be called in a bubble: the
// watches have ended when it returns.
func (l *line) cutStreams(cut bool) {
	l.mu.Lock()
	l.noStreams = cut
	state := l.state
	l.mu.Unlock()
	l.set(state)
	synctest.Wait()
}

func newLine(c client.Conn) *line {
	return &line{Conn: c, cut: make(chan struct{}), reads: map[string]int{}, latest: map[string]int{}, rejected: map[string]int{}}
}

// count returns how often an object was read, and how often its latest state.
func (l *line) count(name string) (reads, latest int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads[name], l.latest[name]
}

func (l *line) set(o outage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = o
	close(l.cut)
	l.cut = make(chan struct{})
}

func (l *line) wait(ctx context.Context) error {
	l.mu.Lock()
	state, cut := l.state, l.cut
	l.mu.Unlock()
	switch state {
	case refused:
		return apierrors.NewServiceUnavailable("connection refused")
	case silent:
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-cut:
			return apierrors.NewServiceUnavailable("connection reset")
		}
	}
	return nil
}

// Do implements client.Conn.
func (l *line) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	if l.intercept != nil {
		if err := l.intercept(ctx, r); err != nil {
			return nil, err
		}
	}
	if r.Verb() == "get" {
		l.mu.Lock()
		l.reads[r.Name]++
		if r.Query.Get("resourceVersion") == "" {
			l.latest[r.Name]++
		}
		l.mu.Unlock()
	}
	resp, err := l.Conn.Do(ctx, r)
	if r.Verb() == "patch" && err != nil {
		l.mu.Lock()
		l.rejected[r.Name]++
		l.mu.Unlock()
	}
	return resp, err
}

// Stream implements client.Conn. Streams end when the line breaks.
func (l *line) Stream(ctx context.Context, r *client.Request) (*client.Stream, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	cut, no := l.cut, l.noStreams
	l.mu.Unlock()
	if no {
		return nil, apierrors.NewServiceUnavailable("connection refused")
	}
	if l.intercept != nil {
		if err := l.intercept(ctx, r); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-cut:
			cancel(errors.New("the line is broken"))
		case <-ctx.Done():
		}
	}()
	s, err := l.Conn.Stream(ctx, r)
	if err != nil {
		cancel(err)
	}
	return s, err
}

func fromConfigMap(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}
}

// token is the volume that nearly every pod has.
func token() corev1.Volume {
	life := int64(3607)
	return corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &life}}}}}}
}

// wordFromSecret takes a variable from the secret of that name.
func wordFromSecret(name string) []corev1.EnvVar {
	return []corev1.EnvVar{{Name: "WORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: "word"}}}}
}

func (r *rig) restarts(name string) int32 {
	return r.get(name).Status.ContainerStatuses[0].RestartCount
}

// read reads a file of a volume.
func (r *rig) read(pod *corev1.Pod, kind, volume, file string) string {
	b, err := os.ReadFile(filepath.Join(r.opts.RootDir, "pods", string(pod.UID), "volumes", "kubernetes.io~"+kind, volume, file))
	require.NoError(r.t, err)
	return string(b)
}

func TestAPodOutlivesItsConfigMap(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		make := func(value string) {
			controllertest.Create(r.c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "cm"), Data: map[string]string{"k": value}})
		}
		make("v")
		p := r.pod("web", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{fromConfigMap("cm")}
			p.Spec.Containers[1].LivenessProbe = execProbe("x")
		}, "a", "b")
		time.Sleep(3 * time.Second)
		controllertest.Delete[*corev1.ConfigMap](r.c, "default", "cm")
		time.Sleep(5 * time.Minute)
		require.Contains(t, r.eventsOf("web"), `FailedMount: MountVolume.SetUp failed for volume "cm" : configmaps "cm" not found`)
		r.rt.Kill("web", "a", 1)
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1, r.restarts("web"))
		require.True(t, ready(r.get("web")))
		require.Equal(t, "v", r.read(p, "configmap", "cm", "k"))
		make("w")
		time.Sleep(2 * time.Minute)
		require.Equal(t, "w", r.read(p, "configmap", "cm", "k"))
	})
}

func TestPodsHealWithoutTheAPIServer(t *testing.T) {
	for name, state := range map[string]outage{"refused": refused, "silent": silent} {
		t.Run(name, func(t *testing.T) {
			var fails atomic.Bool
			bubble(t, func(r *rig) {
				r.rt.Execute = func(*cri.ContainerConfig, []string) (string, int32) {
					if fails.Load() {
						return "", 1
					}
					return "", 0
				}
			}, func(r *rig) {
				controllertest.Create(r.c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "cm"), Data: map[string]string{"k": "v"}})
				controllertest.Create(r.c, &corev1.Secret{ObjectMeta: controllertest.Name("default", "s"), Data: map[string][]byte{"word": []byte("x")}})
				controllertest.Create(r.c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "default")})
				r.pod("web", func(p *corev1.Pod) {
					p.Spec.Volumes = []corev1.Volume{fromConfigMap("cm"), token()}
					p.Spec.ServiceAccountName = "default"
					p.Spec.Containers[0].Env = wordFromSecret("s")
					p.Spec.Containers[1].LivenessProbe = execProbe("x")
					p.Spec.Containers[1].LivenessProbe.PeriodSeconds = 60
				}, "a", "b")
				time.Sleep(time.Minute)
				require.True(t, ready(r.get("web")), "%v", r.eventsOf("web"))
				// A pod that starts looks at all it needs, which must not cost others theirs; one waits for
				// what was never there.
				r.pod("late", func(p *corev1.Pod) { p.Spec.Containers[0].Env = wordFromSecret("s") }, "a")
				r.pod("never", func(p *corev1.Pod) { p.Spec.Containers[0].Env = wordFromSecret("none") }, "a")
				time.Sleep(3 * time.Second)
				r.line.set(state)
				time.Sleep(70 * time.Minute) // longer than the token lives
				starts := r.rt.Calls("StartContainer")
				r.rt.Kill("web", "a", 1)
				time.Sleep(10 * time.Second)
				require.Equal(t, starts+1, r.rt.Calls("StartContainer"), "a crashed container runs again")
				for _, e := range r.rt.Config("web", "a").Envs {
					require.False(t, e.Key == "WORD" && string(e.Value) != "x")
				}
				fails.Store(true)
				time.Sleep(3 * time.Minute)
				fails.Store(false)
				time.Sleep(20 * time.Second)
				require.Equal(t, starts+2, r.rt.Calls("StartContainer"), "a container that fails its probe runs again")
				r.line.set(intact)
				time.Sleep(2 * time.Minute)
				require.EqualValues(t, 1, r.restarts("web"))
				require.True(t, ready(r.get("web")))
			})
		})
	}
}

func TestObjectsAreKeptWhilePodsReferToThem(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		frozen := true
		controllertest.Create(r.c, &corev1.Secret{ObjectMeta: controllertest.Name("default", "frozen"), Data: map[string][]byte{"word": []byte("x")}, Immutable: &frozen})
		controllertest.Create(r.c, &corev1.Secret{ObjectMeta: controllertest.Name("default", "plain"), Data: map[string][]byte{"word": []byte("x")}})
		volume := func(name string) corev1.Volume {
			return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}
		}
		for _, name := range []string{"p1", "p2", "p3"} {
			r.pod(name, func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{volume("frozen"), volume("plain")} }, "a")
		}
		time.Sleep(5 * time.Second)
		frozenReads, _ := r.line.count("frozen")
		reads, latest := r.line.count("plain")
		time.Sleep(30 * time.Minute)
		again, _ := r.line.count("frozen")
		require.Equal(t, frozenReads, again, "what cannot change is not read again")
		now, latestNow := r.line.count("plain")
		require.Equal(t, latest, latestNow, "a pod that runs follows what the server has at hand")
		require.GreaterOrEqual(t, now-reads, 30)
		require.LessOrEqual(t, now-reads, 130, "pods share what was read")
	})
}
