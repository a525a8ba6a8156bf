package pullrecords

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/registryauth"
)

// runtime is what there is of images, by name.
type runtime map[string]string

func (r runtime) list(context.Context) ([]*cri.Image, error) {
	var out []*cri.Image
	for name, ref := range r {
		out = append(out, &cri.Image{Id: ref, RepoTags: []string{name}})
	}
	return out, nil
}

// open opens records that verify what was pulled.
func open(t *testing.T, dir string, rt runtime) *Records {
	r, err := New(Settings{Dir: dir, Images: rt.list, Verifies: func(_ string, pulled bool) bool { return pulled }, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return r
}

func ofSecret(name, password string) registryauth.Credential {
	c := registryauth.New("user", password, "r.example.com")
	c.Source = registryauth.Source{Kind: registryauth.Secret, Namespace: "ns", Name: name, UID: "uid-" + name}
	return c
}

// check returns the verdict for a pod with credentials.
func (r *Records) check(t *testing.T, image, ref string, list ...registryauth.Credential) Verdict {
	return r.Check(t.Context(), image, ref, func() []registryauth.Credential { return list })
}

const app = "r.example.com/team/app:1"

// An image is used by the pods that have what it was pulled with: the same object or the same content.
func TestCredentials(t *testing.T) {
	r := open(t, t.TempDir(), runtime{app: "id"})
	require.Equal(t, Unverified, r.check(t, app, "id"), "nobody here pulled it")
	one, other := ofSecret("one", "x"), ofSecret("other", "y")
	account := registryauth.New("a", "b", "r.example.com")
	account.Source = registryauth.Source{Kind: registryauth.ServiceAccount, Namespace: "ns", Name: "sa", UID: "1"}
	pull := func(c *registryauth.Credential) {
		require.NoError(t, r.Begin(app))
		r.Done(app, "id", c)
	}
	pull(&one)
	require.Equal(t, Unknown, r.check(t, app, "id"))
	require.Equal(t, Unknown, r.check(t, app, "id", other, account))
	require.Equal(t, Recorded, r.check(t, app, "id", other, one))
	require.Equal(t, Recorded, r.check(t, strings.Replace(app, ":1", "@sha256:12", 1), "id", one), "the tag does not matter")
	require.Equal(t, Unknown, r.check(t, "r.example.com/other", "id", one), "the name does")
	require.Equal(t, Recorded, r.check(t, app, "id", ofSecret("copy", "x")), "the same content")
	require.Equal(t, Recorded, r.check(t, app, "id", ofSecret("copy", "z")), "by now it is known")
	require.Equal(t, Recorded, r.check(t, app, "id", ofSecret("one", "new")), "the same object")
	require.Equal(t, Recorded, r.check(t, app, "id", ofSecret("third", "new")))
	again := ofSecret("one", "x")
	again.Source.UID = "2"
	require.Equal(t, Unknown, r.check(t, app, "id", again), "the object is another one, and its content has been replaced")
	pull(&account)
	require.Equal(t, Recorded, r.check(t, app, "id", account))
	account.Source.UID = "2"
	require.Equal(t, Unknown, r.check(t, app, "id", account))
	pull(nil)
	require.Equal(t, Recorded, r.check(t, app, "id"), "the registry requires no credentials")
	pull(&other)
	require.Equal(t, Recorded, r.check(t, app, "id"), "nor later on")
	announced, pulled, err := r.Counts()
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, []int{announced, pulled})
}

// The files are as those of the upstream kubelet 1.36, and those of its older version are read.
func TestFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := open(t, dir, nil)
		one := ofSecret("one", "x")
		require.NoError(t, r.Begin(app))
		text := func(folder, of string) string {
			b, err := os.ReadFile(filepath.Join(dir, folder, fileName(of)))
			require.NoError(t, err)
			return string(b)
		}
		require.JSONEq(t, `{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"r.example.com/team/app:1"}`, text("pulling", app))
		r.Done(app, "id", &one)
		// The hash is that of {"username":"user","password":"x"}.
		record := `{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","lastUpdatedTime":"2000-01-01T00:00:00Z","imageRef":"id","credentialMapping":{
			"r.example.com/team/app":{"kubernetesSecrets":[{"uid":"uid-one","namespace":"ns","name":"one","credentialHash":"e5bb19c3493e7f15035515eddd3fc1fd6e8a9922de22256f4190a1f94bbf95a4"}]}}}`
		require.JSONEq(t, record, text("pulled", "id"))

		for _, bad := range []string{"", "{", strings.Replace(record, "ImagePulledRecord", "Pod", 1), strings.Replace(record, "v1beta1", "v9", 1), strings.Replace(record, `"id"`, `"di"`, 1)} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "pulled", fileName("id")), []byte(bad), 0o600))
			require.Equal(t, Failed, r.check(t, app, "id", one), bad)
		}
		require.NoError(t, r.Begin(app))
		r.Done(app, "id", &one)
		require.Equal(t, Recorded, r.check(t, app, "id", one), "it is replaced")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "pulled", fileName("id")), []byte(strings.Replace(record, "v1beta1", "v1alpha1", 1)), 0o600))
		require.Equal(t, Recorded, r.check(t, app, "id", one))
	})
}

// Wherever the kubelet is killed, a pod without credentials never uses an image that was pulled with some,
// and one that the runtime got by itself stays free.
func TestCrashes(t *testing.T) {
	dir := t.TempDir()
	// moment is what is on the disk between two changes, and what the runtime has then.
	type moment struct {
		files, what string
		rt          runtime
	}
	var moments []moment
	rt := runtime{"preloaded:1": "p"}
	keep := func(what string) {
		files := t.TempDir()
		require.NoError(t, os.CopyFS(files, os.DirFS(dir)))
		now := runtime{}
		for name, ref := range rt {
			now[name] = ref
		}
		moments = append(moments, moment{files, what, now})
	}
	r := open(t, dir, rt)
	r.write = func(path string, b []byte) error {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp-1"), b[:len(b)/2], 0o600))
		keep("half of " + path)
		defer keep("written " + path)
		return write(path, b)
	}
	r.remove = func(path string) error {
		defer keep("removed " + path)
		return remove(path)
	}
	one, other := ofSecret("one", "x"), ofSecret("other", "y")
	for i, c := range []*registryauth.Credential{&one, &other, &one} {
		image := fmt.Sprintf("r.example.com/team/app:%d", i)
		require.NoError(t, r.Begin(image))
		rt[image] = "id"
		keep("the runtime has " + image)
		r.Done(image, "id", c)
	}
	require.NoError(t, r.Begin("r.example.com/gone:1"))
	r.Fail("r.example.com/gone:1")
	delete(rt, "r.example.com/team/app:0")
	delete(rt, "r.example.com/team/app:1")
	delete(rt, "r.example.com/team/app:2")
	require.NoError(t, r.Prune([]*cri.Image{{Id: "p"}}, time.Now().Add(2*time.Second)))
	require.Greater(t, len(moments), 15)
	for _, m := range moments {
		again := open(t, m.files, m.rt)
		for image, ref := range m.rt {
			if ref == "p" {
				require.Equal(t, Unverified, again.check(t, image, ref), m.what)
				continue
			}
			require.False(t, again.check(t, image, ref).Usable(), m.what)
			require.False(t, again.check(t, "r.example.com/alias:2", ref).Usable(), "by another name: %s", m.what)
			require.NoError(t, again.Begin(image))
			again.Done(image, ref, &one)
			require.Equal(t, Recorded, again.check(t, image, ref, one), m.what)
			require.False(t, again.check(t, image, ref).Usable(), m.what)
			require.NoFileExists(t, filepath.Join(m.files, "pulling", fileName(image)), m.what)
		}
	}
}

// A pull without an answer counts as long as it may bring the image.
func TestAbandonedPulls(t *testing.T) {
	rt := runtime{"here:1": "p"}
	dir := t.TempDir()
	r := open(t, dir, rt)
	for _, image := range []string{"here:1", app, "r.example.com/never:1"} {
		require.NoError(t, r.Begin(image))
		r.Abandon(image, rt[image])
	}
	require.Equal(t, Unverified, r.check(t, "here:1", "p"), "the pull brought nothing new")
	require.Equal(t, Unknown, r.check(t, app, "id"), "it is not listed yet")
	rt[app] = "id"
	require.Equal(t, Unknown, r.check(t, "r.example.com/alias", "id"))
	announced, pulled, err := r.Counts()
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{announced, pulled})

	never := filepath.Join(dir, "pulling", fileName("r.example.com/never:1"))
	images, _ := rt.list(t.Context())
	require.NoError(t, r.Prune(images, time.Now()))
	require.FileExists(t, never)
	old := time.Now().Add(-2 * longestPull)
	require.NoError(t, os.Chtimes(never, old, old))
	require.NoError(t, r.Prune(images, time.Now()))
	require.NoFileExists(t, never)
	require.FileExists(t, filepath.Join(dir, "pulled", fileName("id")))
}

// Without room for the announcement nothing is pulled; without room for the record the image is not free.
func TestNoRoom(t *testing.T) {
	full := errors.New("no space left on device")
	rt := runtime{}
	r := open(t, t.TempDir(), rt)
	r.write = func(string, []byte) error { return full }
	require.ErrorIs(t, r.Begin(app), full)
	require.Equal(t, Unverified, r.check(t, app, "id"))
	r.write = write
	one := ofSecret("one", "x")
	require.NoError(t, r.Begin(app))
	r.write = func(string, []byte) error { return full }
	rt[app] = "id"
	r.Done(app, "id", &one)
	require.Equal(t, Unknown, r.check(t, app, "id", one))
	r.write = write
	require.Equal(t, Unknown, r.check(t, "r.example.com/alias", "id", one), "it is written as soon as there is room")
}

// A record that is written while images are listed is not removed with those of images that have gone.
func TestPruneKeepsWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, t.TempDir(), nil)
		time.Sleep(300 * time.Millisecond)
		listed := time.Now()
		time.Sleep(300 * time.Millisecond)
		one := ofSecret("one", "x")
		require.NoError(t, r.Begin(app))
		r.Done(app, "id", &one)
		require.NoError(t, r.Prune(nil, listed))
		require.Equal(t, Recorded, r.check(t, app, "id", one))
		time.Sleep(time.Second)
		require.NoError(t, r.Prune(nil, time.Now()))
		require.Equal(t, Unverified, r.check(t, app, "id"))
	})
}
