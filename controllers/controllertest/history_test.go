package controllertest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// The writes of an object with their writers, causes and changes.
func TestHistoryOfAnObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{addReplicaSets}})
		controllertest.Create(c, replicaSet("web", 2))
		c.Sleep(time.Second)
		controllertest.Update(c, "default", "web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(3)) })
		c.Settle()
		controllertest.Delete[*appsv1.ReplicaSet](c, "default", "web")
		c.Settle()
		h := controllertest.HistoryOf[*appsv1.ReplicaSet](c, "default", "web")
		verbs := ""
		for _, w := range h.Writes {
			require.Equal(t, types.NamespacedName{Namespace: "default", Name: "web"}, w.Key)
			verbs += w.Verb + " "
		}
		require.Regexp(t, "^create (update )+delete $", verbs)
		text := h.String()
		require.Regexp(t, `(?m)^\+0s r\d+ create replicasets.apps default/web by kubernetes-admin \(controllertest\)$`, text)
		require.Regexp(t, `(?m)^\+\S+ r\d+ update replicasets.apps default/web by kubernetes-admin \(controllers\) through status, \S+ default/web #\d+: \S+ (Added|Updated) \S+ r\d+`, text)
		require.Contains(t, text, "    - spec.replicas: 2\n    + spec.replicas: 3\n")
		require.Regexp(t, `(?m)^\+1s r\d+ delete replicasets.apps default/web by kubernetes-admin \(controllertest\)$`, text)

		// Each pod was created by a reconcile, which an event of the set caused that was written before.
		all := c.History()
		runs := map[string]*controllertest.Run{}
		for i := range all.Runs {
			runs[all.Runs[i].ID] = &all.Runs[i]
		}
		pods := 0
		for _, w := range all.Writes {
			if w.Resource.Resource == "pods" && w.Verb == "create" {
				pods++
				r := runs[w.Run]
				require.NotNil(t, r)
				require.NotEmpty(t, r.Causes)
				require.Less(t, r.Causes[0].Revision, w.Revision)
				before, after, err := w.Objects()
				require.NoError(t, err)
				require.Nil(t, before)
				require.Equal(t, w.Key.Name, after.GetName())
			}
		}
		require.Equal(t, 3, pods)
	})
}

// The history distinguishes requests by TLS, the end of an object's time to live, and what the server does by
// itself.
func TestHistoryNamesWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		ann := client.User{Name: "ann", Groups: []string{"system:masters"}}
		_, err := client.For[*corev1.ConfigMap](plainConn(t, c, true, ann)).Create(t.Context(), configMap("a"))
		require.NoError(t, err)
		require.Regexp(t, `create configmaps default/a by ann \(.+\)\n`, controllertest.HistoryOf[*corev1.ConfigMap](c, "default", "a").String())
		controllertest.Create(c, &corev1.Event{ObjectMeta: controllertest.Name("default", "e"), InvolvedObject: corev1.ObjectReference{Namespace: "default"}})
		c.Sleep(3 * time.Hour)
		text := controllertest.HistoryOf[*corev1.Event](c, "default", "e").String()
		require.Regexp(t, `\n\S+ r\d+ delete events default/e by the store, at the end of its time to live\n$`, text)
		controllertest.Create(c, &corev1.Secret{ObjectMeta: controllertest.Name("default", "s"), Data: map[string][]byte{"password": []byte("tr0ub4dor")}})
		require.NotContains(t, controllertest.HistoryOf[*corev1.Secret](c, "default", "s").String(), "dHIwdWI0ZG9y")
	})
}

// addFailing adds a controller that labels every ConfigMap and then fails.
func addFailing(m *manager.Manager) error {
	maps := client.For[*corev1.ConfigMap](m.Conn())
	_, err := controllers.Add(m, "labeler", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if _, err := client.Update(ctx, maps, req, func(cm *corev1.ConfigMap) error {
			cm.Labels = map[string]string{"seen": "true"}
			return nil
		}); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, errors.New("no luck")
	}), controllers.Options{}, controllers.For[*corev1.ConfigMap]())
	return err
}

// A failed helper, and a failed test at its end, log the history of the object that the test used last.
func TestFailuresShowTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		c := controllertest.Start(r, controllertest.Options{Controllers: []controllertest.Adder{addFailing}})
		controllertest.Create(c, configMap("a"))
		c.Settle()
		controllertest.Delete[*corev1.ConfigMap](c, "default", "a")
		text := r.fatal(func() { controllertest.Get[*corev1.ConfigMap](c, "default", "a") })
		require.Contains(t, text, "not found\nhistory of configmaps default/a:\n")
		require.Regexp(t, `update configmaps default/a by .*, labeler default/a #1: ConfigMap Added default/a r\d+\n    \+ metadata.labels:\n    \+   seen: "true"\n`, text)
		require.Regexp(t, `labeler default/a #\d failed: no luck\n`, text)
		require.Regexp(t, `delete configmaps default/a by kubernetes-admin \(controllertest\)\n`, text)

		controllertest.Create(c, configMap("b"))
		r.failed = true
		require.NoError(t, c.Close())
		require.Regexp(t, `the object that the test read or wrote last:\nhistory of configmaps default/b:\n\S+ r\d+ create configmaps default/b`, strings.Join(r.logs, "\n"))
	})
}

// The page of a history needs nothing else, and has all that happened. .ci/explore looks at it in a browser.
func TestHistoryPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history.html")
	h := webHistory(t, file)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	text := string(data)
	require.NotContains(t, text, "<script>alert")
	require.Equal(t, 1, strings.Count(text, "</script>"))
	require.NotRegexp(t, `(src|href)=`, text)
	require.Contains(t, text, `"title":"TestHistoryPage`)
	for _, part := range []string{`"resource":"pods"`, `"error":"no luck"`, `"lanes":["`, "spec.replicas: 1"} {
		require.Contains(t, text, part)
	}
	require.Equal(t, len(h.Writes), strings.Count(text, `"revision":`)-causes(h))
}

// causes counts the events of all reconciles.
func causes(h *controllertest.History) (n int) {
	for _, r := range h.Runs {
		n += len(r.Causes)
	}
	return n
}

// webHistory writes the page of a history to a file.
func webHistory(t *testing.T, file string) (h *controllertest.History) {
	var page strings.Builder
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Seed: 3, Controllers: []controllertest.Adder{addReplicaSets, addFailing}})
		controllertest.Create(c, replicaSet("web", 3))
		c.Settle()
		for _, p := range controllertest.List[*corev1.Pod](c, "default") {
			controllertest.UpdateStatus(c, p.Namespace, p.Name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
		}
		cm := configMap("a")
		cm.Data = map[string]string{"text": "</script><script>alert(1)</script>"}
		controllertest.Create(c, cm)
		c.Sleep(10 * time.Second)
		controllertest.Update(c, "default", "web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(1)) })
		c.Settle()
		h = c.History()
		require.NoError(t, h.WriteHTML(&page))
	})
	require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o600))
	return h
}

// browse returns the page as a browser makes it of the file, and keeps a screenshot.
func browse(t *testing.T, browser, file, fragment, screenshot string) string {
	url := "file://" + file + fragment
	flags := []string{"--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + t.TempDir(), "--window-size=1600,900", "--virtual-time-budget=10000"}
	require.NoError(t, exec.CommandContext(t.Context(), browser, append(flags, "--screenshot="+screenshot, url)...).Run())
	dom, err := exec.CommandContext(t.Context(), browser, append(flags, "--dump-dom", url)...).Output()
	require.NoError(t, err)
	drawn, _, _ := strings.Cut(string(dom), "<script>") // whose text contains elements too
	return drawn
}

// A browser draws every write and reconcile of the page, and at a revision what there was until then. Run by
// .ci/explore, with -artifacts to keep the page and its screenshots.
func TestHistoryPageInBrowser(t *testing.T) {
	browser := os.Getenv("KEELSON_BROWSER")
	if browser == "" {
		t.Skip("KEELSON_BROWSER is not set: no browser looks at the page of a history")
	}
	dir := t.ArtifactDir()
	file := filepath.Join(dir, "history.html")
	h := webHistory(t, file)
	dom := browse(t, browser, file, "", filepath.Join(dir, "history.png"))
	shown := 0
	var created controllertest.Write
	for _, w := range h.Writes {
		if w.Resource.Resource == "events" {
			continue
		}
		shown++
		if w.Verb == "update" && w.Resource.Resource == "replicasets" {
			created = w
		}
	}
	require.Equal(t, shown, strings.Count(dom, `<circle class="write`))
	require.Equal(t, len(h.Runs), strings.Count(dom, `<rect class="run`))
	require.NotContains(t, dom, `class="write later`)
	require.Regexp(t, `<td>replicasets.apps default/web</td>`, dom)

	dom = browse(t, browser, file, fmt.Sprintf("#r%d", created.Revision), filepath.Join(dir, "history-revision.png"))
	require.Contains(t, dom, fmt.Sprintf("<h2>r%d update replicasets.apps default/web</h2>", created.Revision))
	require.Contains(t, dom, `<span class="new">+ `)
	require.Contains(t, dom, `class="write chosen"`)
	require.Contains(t, dom, fmt.Sprintf("as of revision %d<", created.Revision))
}

// What a test requested wrongly is named.
func TestMistakesAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := api.Scheme().Clone()
		require.NoError(t, scheme.Add[*thing](s, schema.GroupVersion{Group: "example.com", Version: "v1"}, scheme.Kind{Resource: "thingz", Namespaced: true}))
		c := controllertest.Start(t, controllertest.Options{Scheme: s})
		require.Contains(t, fatal(t, func(r testing.TB) {
			controllertest.Create(c.With(r), &thing{ObjectMeta: controllertest.Name("default", "a")})
		}), "the server has no resource thingz.example.com in version v1: pass its definition in Options.CRDs")
	})
}

// thing is a kind that no server has.
type thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}
