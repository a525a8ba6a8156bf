package revisions_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/revisions"
)

const label = "example.com/hash"

// start returns a cluster with a DaemonSet and its history.
func start(t *testing.T) (*controllertest.Cluster, *appsv1.DaemonSet, *revisions.History[*appsv1.DaemonSet]) {
	var h *revisions.History[*appsv1.DaemonSet]
	c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
		h = revisions.New[*appsv1.DaemonSet](m, label)
		return nil
	}}})
	ds := &appsv1.DaemonSet{ObjectMeta: controllertest.Name("default", "agent")}
	ds.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	ds.Spec.Template.Labels = ds.Spec.Selector.MatchLabels
	ds.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "agent:1"}}
	ds = controllertest.Create(c, ds)
	c.Settle()
	return c, ds, h
}

var selector = labels.MustParse("app=agent")

// The history of a template that changes and changes back.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		_, ds, history := start(t)
		collisions := int32(0)
		for _, image := range []string{"agent:1", "agent:2", "agent:1"} {
			ds.Spec.Template.Spec.Containers[0].Image = image
			list, err := history.List(t.Context(), ds, selector)
			if err != nil {
				fmt.Println(err)
			}
			r, list, err := history.Ensure(t.Context(), ds, &ds.Spec.Template, list, &collisions)
			if err != nil {
				fmt.Println(err)
			}
			fmt.Println(image, "is revision", r.Revision, "of", len(list))
		}
	})
	// Output:
	// agent:1 is revision 1 of 1
	// agent:2 is revision 2 of 2
	// agent:1 is revision 3 of 2
}

// The data of a revision is, byte by byte, that which kube-controller-manager would write.
func TestData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ds, h := start(t)
		ds.Spec.Template.Spec.Containers[0].Args = []string{"a<b"}
		r, _, err := h.Ensure(t.Context(), ds, &ds.Spec.Template, nil, new(int32))
		require.NoError(t, err)
		require.Equal(t, `{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"agent"}},"spec":{"containers":[{"args":["a\u003cb"],"image":"agent:1",`+
			`"imagePullPolicy":"IfNotPresent","name":"main","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],`+
			`"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}}`, string(r.Data.Raw))
	})
}

// A name that another revision has is avoided, and a create whose answer was lost is found.
func TestCollisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ds, h := start(t)
		collisions := int32(0)
		first, _, err := h.Ensure(t.Context(), ds, &ds.Spec.Template, nil, &collisions)
		require.NoError(t, err)
		require.Equal(t, "agent-"+first.Labels[label], first.Name)
		again, _, err := h.Ensure(t.Context(), ds, &ds.Spec.Template, nil, &collisions)
		require.NoError(t, err)
		require.Equal(t, first.UID, again.UID)
		require.Zero(t, collisions)
		controllertest.Delete[*appsv1.ControllerRevision](c, "default", first.Name)
		stranger := &appsv1.ControllerRevision{ObjectMeta: controllertest.Name("default", first.Name), Data: metav1.RawExtension{Raw: []byte(`{}`)}, Revision: 1}
		controllertest.Create(c, stranger)
		other, _, err := h.Ensure(t.Context(), ds, &ds.Spec.Template, nil, &collisions)
		require.NoError(t, err)
		require.NotEqual(t, first.Name, other.Name)
		require.EqualValues(t, 1, collisions)
	})
}

// Data of another program with the same meaning is the same revision.
func TestEqualTemplates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ds, h := start(t)
		r := &appsv1.ControllerRevision{ObjectMeta: controllertest.Name("default", "foreign"), Revision: 7, Data: metav1.RawExtension{Raw: []byte(
			`{"spec":{"template":{"spec":{"containers":[{"image":"agent:1","name":"main"}]},"metadata":{"creationTimestamp":null,"labels":{"app":"agent"}},"$patch":"replace"}}}`)}}
		r.Labels = map[string]string{"app": "agent"}
		controllertest.Create(c, r)
		c.Settle()
		list, err := h.List(t.Context(), ds, selector)
		require.NoError(t, err)
		collisions := int32(0)
		found, _, err := h.Ensure(t.Context(), ds, &ds.Spec.Template, list, &collisions)
		require.NoError(t, err)
		require.Equal(t, "foreign", found.Name)
		template, err := revisions.Template(found)
		require.NoError(t, err)
		require.Equal(t, "agent:1", template.Spec.Containers[0].Image)
		_, err = revisions.Template(&appsv1.ControllerRevision{ObjectMeta: controllertest.Name("default", "bad"), Data: metav1.RawExtension{Raw: []byte(`[]`)}})
		require.ErrorContains(t, err, "revisions: decode default/bad")
	})
}

func TestTruncate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ds, h := start(t)
		collisions := int32(0)
		var list []*appsv1.ControllerRevision
		for i := range 6 {
			ds.Spec.Template.Spec.Containers[0].Image = fmt.Sprint("agent:", i)
			var err error
			_, list, err = h.Ensure(t.Context(), ds, &ds.Spec.Template, list, &collisions)
			require.NoError(t, err)
		}
		used := func(r *appsv1.ControllerRevision) bool { return r.Revision == 1 || r.Revision == 6 }
		require.NoError(t, h.Truncate(t.Context(), list, used, new(int32(2))))
		numbers := func() (out []int64) {
			for _, r := range controllertest.List[*appsv1.ControllerRevision](c, "default") {
				out = append(out, r.Revision)
			}
			return out
		}
		require.ElementsMatch(t, []int64{1, 4, 5, 6}, numbers())
		require.NoError(t, h.Truncate(t.Context(), list, used, nil), "those deleted already are no error")
		require.ElementsMatch(t, []int64{1, 4, 5, 6}, numbers())
	})
}
