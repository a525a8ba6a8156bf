package builtin_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// forbidden is the response of a server whose webhook or quota refuses a write.
var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "objects"}, "web", errors.New("admission webhook \"no.example.com\" denied the request"))

// byTheClock are controllers that do something else when they may write an hour later.
var byTheClock = []string{"cronjob-controller", "podcertificaterequest-cleaner-controller", "taint-eviction-controller"}

// complaints are the events, by the kind of their object and their reason, that controllers write when their
// writes are refused.
var complaints = map[string][]string{
	"deployment-controller":                {"Deployment ReplicaSetCreateError"},
	"replicaset-controller":                {"ReplicaSet FailedCreate"},
	"replicationcontroller-controller":     {"ReplicationController FailedCreate"},
	"job-controller":                       {"Job FailedCreate"},
	"cronjob-controller":                   {"CronJob FailedCreate"},
	"horizontal-pod-autoscaler-controller": {"HorizontalPodAutoscaler FailedRescale", "HorizontalPodAutoscaler FailedUpdateStatus"},
	"endpoints-controller":                 {"Endpoints FailedToCreateEndpoint"},
	"endpointslice-controller":             {"Service FailedToUpdateEndpointSlices"},
	"ephemeral-volume-controller":          {"Pod FailedBinding"},
	"resourceclaim-controller":             {"Pod FailedResourceClaimCreation"},
}

// Writes that a webhook or a quota refuses for an hour are tried again ever less often, and are made soon
// after they may be. The controllers of which Kubernetes' do so say in events that they are refused.
func TestRefusedWrites(t *testing.T) {
	all, opts := histories(t)
	for _, r := range all {
		t.Run(r.controller, func(t *testing.T) {
			want := r.undisturbed(t, opts)
			got := r.play(t, func(c *controllertest.Cluster) func() {
				refuse := c.Inject(controllertest.Fault{Requests: writes, Effect: controllertest.Fail(forbidden)})
				r.start(c, "first", opts)
				done := false
				return func() {
					if done || refuse.Hits() == 0 { // it writes nothing before the second part
						return
					}
					done = true
					said := list(c, "default", func(e *corev1.Event) any { return e.InvolvedObject.Kind + " " + e.Reason })
					for _, want := range complaints[r.controller] {
						require.True(t, slices.ContainsFunc(said, func(text string) bool { return strings.HasSuffix(text, ": "+want) }), "%s in %s", want, said)
					}
					c.Sleep(time.Hour)
					require.Less(t, refuse.Hits(), 600, "attempts")
					refuse.Remove()
					c.Sleep(20 * time.Minute) // longer than the longest pause
				}
			})
			if !slices.Contains(byTheClock, r.controller) {
				require.Equal(t, want, got)
			}
		})
	}
}

// Kinds that are not served, and one that may not be read, hold up no controller of others.
func TestMissingAPIs(t *testing.T) {
	_, opts := histories(t)
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Scheme: gatedSchemes().known})
		unreadable := controllertest.Requests{Verbs: []string{"list", "watch"}, Resource: "persistentvolumes"}
		c.Inject(controllertest.Fault{Requests: unreadable, Effect: controllertest.Fail(forbidden)})
		c.Run(c.Manager("all", func(m *manager.Manager) error { return builtin.Add(m, opts) }))
		d := &appsv1.Deployment{ObjectMeta: controllertest.Name("default", "web")}
		d.Spec.Replicas, d.Spec.Template = new(int32(3)), podTemplate()
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: d.Spec.Template.Labels}
		controllertest.Create(c, d)
		c.Sleep(15 * time.Second)
		require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 3)
		require.NotEmpty(t, controllertest.List[*corev1.ServiceAccount](c, "default"))
		controllertest.Delete[*appsv1.Deployment](c, "default", "web")
		c.Sleep(time.Minute)
		require.Empty(t, controllertest.List[*corev1.Pod](c, "default"))
	})
}
