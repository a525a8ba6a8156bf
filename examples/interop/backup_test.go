package interop

import (
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// The same operator written with Keelson and with controller-runtime does the same: the same answers of its
// webhooks, and the same objects after a history with errors of users, foreign changes, Jobs that end and a
// restart. A Role is enough for both.
func TestBackupOperatorsAreEqual(t *testing.T) { compareBackupOperators(t, keelsonServer(t)) }

// The same on Kubernetes' own server.
func TestBackupOperatorsBesideUpstream(t *testing.T) { compareBackupOperators(t, upstreamServer(t)) }

func compareBackupOperators(t *testing.T, server backupServer) {
	var outcomes []string
	for _, folder := range []string{"backup/keelson", "backup/upstream"} {
		outcomes = append(outcomes, history(newBackupWorld(t, server, buildProgram(t, folder))))
	}
	require.Contains(t, outcomes[0], "backup a is paused")
	require.Contains(t, outcomes[0], "name: b-2")
	require.Equal(t, outcomes[0], outcomes[1])
}

// history is what happens to the Backups; it returns what was answered and what is left.
func history(w *backupWorld) string {
	t := w.t
	var said []string
	say := func(err error) {
		require.Error(t, err)
		said = append(said, err.Error())
	}
	create := func(b *Backup) (*Backup, error) { return w.backups.Create(t.Context(), b) }
	r := w.start(0)

	relative := w.backup("bad")
	relative.Spec.Source = "data"
	_, err := create(relative)
	say(err)
	a, err := create(w.backup("a"))
	require.NoError(t, err)
	require.EqualValues(t, 3, *a.Spec.Keep, "defaulted")
	w.reason("a", "Running")
	w.finish("a-1", 1, 0)
	w.reason("a", "Copied")
	say(w.change("a", func(b *Backup) { b.Spec.Source = "/other" }))
	require.NoError(t, w.change("a", func(b *Backup) { b.Spec.Paused = true }))
	w.reason("a", "Paused")

	_, err = create(w.backup("b"))
	require.NoError(t, err)
	w.reason("b", "Running")
	require.NoError(t, w.change("b", func(b *Backup) { b.Spec.Keep = new(int32(1)) }))
	w.until("the first Job is deleted", func() bool {
		_, err := w.jobs.Get(t.Context(), w.key("b-1"))
		return apierrors.IsNotFound(err)
	})
	w.finish("b-2", 0, 1)
	w.reason("b", "Failed")

	// What others change is corrected at once, or after a restart.
	settings := func(name string) string {
		cm, err := w.maps.Get(t.Context(), w.key(name+"-settings"))
		if apierrors.IsNotFound(err) {
			return ""
		}
		require.NoError(t, err)
		return cm.Data["source"]
	}
	_, err = client.Update(t.Context(), w.maps, w.key("a-settings"), func(cm *corev1.ConfigMap) error { cm.Data["source"] = "/evil"; return nil })
	require.NoError(t, err)
	w.until("the ConfigMap is corrected", func() bool { return settings("a") == "/data/a" })
	w.stop(r, syscall.SIGTERM)
	require.NoError(t, w.maps.Delete(t.Context(), w.key("b-settings")))
	_, err = create(w.backup("nobody"))
	require.ErrorContains(t, err, `failed calling webhook "default.backup.example.com"`)
	r = w.start(0)
	w.until("the ConfigMap is made again", func() bool { return settings("b") == "/data/b" })

	_, err = create(w.backup("c"))
	require.NoError(t, err)
	w.reason("c", "Running")
	require.NoError(t, w.backups.Delete(t.Context(), w.key("c")))
	w.until("the deleted Backup is gone", func() bool {
		_, err := w.backups.Get(t.Context(), w.key("c"))
		return apierrors.IsNotFound(err)
	})
	w.until("the events are there", func() bool { return len(w.started()) == 4 })
	w.stop(r, syscall.SIGTERM)
	require.NotContains(t, r.said.String(), "forbidden")
	w.mu.Lock()
	defer w.mu.Unlock()
	said = append(said, slices.Compact(w.warnings)...)
	return strings.ReplaceAll(strings.Join(append(said, w.started()...), "\n")+"\n"+w.dump(), w.namespace, "NAMESPACE")
}

// started are the notes of the events Started.
func (w *backupWorld) started() (notes []string) {
	for e, err := range client.For[*corev1.Event](w.conn).All(w.t.Context(), client.ListOptions{Namespace: w.namespace}) {
		require.NoError(w.t, err)
		if e.Reason == "Started" {
			notes = append(notes, e.InvolvedObject.Kind+" "+e.InvolvedObject.Name+": "+e.Message)
		}
	}
	slices.Sort(notes)
	return notes
}

var (
	anyUID  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anyTime = regexp.MustCompile(`"?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"?`)
)

// dump is the text of the Backups, Jobs and ConfigMaps without what differs in each run.
func (w *backupWorld) dump() string {
	var out strings.Builder
	write := func(obj metav1.Object) {
		if obj.GetName() == "kube-root-ca.crt" {
			return
		}
		metav1.MetaOf(obj).ManagedFields = nil
		obj.SetResourceVersion("")
		text, err := codec.MarshalYAML(obj)
		require.NoError(w.t, err)
		out.WriteString("---\n" + anyTime.ReplaceAllString(anyUID.ReplaceAllString(string(text), "UID"), "TIME"))
	}
	dumpAll(w, w.backups, write)
	dumpAll[*batchv1.Job](w, w.jobs, write)
	dumpAll[*corev1.ConfigMap](w, w.maps, write)
	return out.String()
}

func dumpAll[T metav1.Object](w *backupWorld, c *client.Client[T], write func(metav1.Object)) {
	list, err := c.List(w.t.Context(), client.ListOptions{Namespace: w.namespace})
	require.NoError(w.t, err)
	slices.SortFunc(list.Items, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, obj := range list.Items {
		write(obj)
	}
}
