package admission_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

func limited(limits ...admission.EventLimit) func(*controlplane.Options) {
	return func(o *controlplane.Options) {
		o.EnableAdmission, o.AdmissionConfiguration.EventLimits = []string{"EventRateLimit"}, limits
	}
}

// Through the server: events beyond the burst are refused with 429, in both of their APIs; dry runs, other
// objects and other users are not limited.
func TestEventRateLimit(t *testing.T) {
	p := planetest.Start(t, limited(admission.EventLimit{Type: admission.EventLimitUser, QPS: 1, Burst: 3}))
	admin := p.As("limited", "system:masters")
	event := func() *corev1.Event {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "e-"}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "x"}, Reason: "R", Type: "Normal"}
	}
	for range 3 {
		planetest.Create(t, admin, event())
	}
	_, err := client.For[*corev1.Event](admin).Create(t.Context(), event(), client.CreateOptions{DryRun: true})
	require.NoError(t, err)
	// A second may pass here on a busy machine, and then another event.
	p.Eventually("a fourth event is too many", func() bool {
		err = planetest.TryCreate(t, admin, event())
		return err != nil
	})
	require.True(t, apierrors.IsTooManyRequests(err), err)
	require.ErrorContains(t, err, "limit reached on type User for key limited")
	planetest.Create(t, admin, &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "x")})
	planetest.Create(t, p.Admin(), event())
	p.Eventually("neither are they in the other API", func() bool {
		err = planetest.TryCreate(t, admin, &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "e-"}, EventTime: metav1.MicroTime{Time: time.Now()},
			ReportingController: "a.test/c", ReportingInstance: "i", Action: "a", Reason: "R", Type: "Normal", Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "x"}})
		return err != nil
	})
	require.True(t, apierrors.IsTooManyRequests(err), err)
}

// Beside a count of the events of the last second: a bucket never allows more than burst + qps * time.
func TestEventLimitsOverTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const qps, burst = 5, 10
		limits := plugin(t, "EventRateLimit", objects{}, admission.Options{Configuration: admission.Configuration{EventLimits: []admission.EventLimit{
			{Type: admission.EventLimitServer, QPS: 1000, Burst: 1000},
			{Type: admission.EventLimitNamespace, QPS: qps, Burst: burst, CacheSize: 3},
			{Type: admission.EventLimitSourceAndObject, QPS: qps, Burst: 2}}}}).(admission.Validator)
		write := func(namespace, object string) error {
			return limits.Validate(t.Context(), &admission.Attributes{Operation: admission.Create, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Event"}, Namespace: namespace,
				User: &authn.User{Name: "u"}, Object: &corev1.Event{InvolvedObject: corev1.ObjectReference{Name: object}}})
		}
		began, allowed := time.Now(), 0
		for i := range 400 {
			if write("busy", fmt.Sprint(i)) == nil {
				allowed++
			}
			require.LessOrEqual(t, float64(allowed), burst+qps*time.Since(began).Seconds())
			time.Sleep(20 * time.Millisecond)
		}
		require.GreaterOrEqual(t, allowed, burst+qps*8-1, "and no less than that while there is demand")

		require.NoError(t, write("quiet", "one"), "another namespace")
		require.NoError(t, write("quiet", "one"))
		require.ErrorContains(t, write("quiet", "one"), "limit reached on type SourceAndObject for key one")
		err := write("busy", "one")
		require.ErrorContains(t, err, "[limit reached on type Namespace for key busy, limit reached on type SourceAndObject for key one]")
		require.True(t, apierrors.IsTooManyRequests(err), err)

		// The namespace unused for longest is dropped, and begins with a full burst.
		for i := range 3 {
			require.NoError(t, write(fmt.Sprint("n", i), fmt.Sprint("n", i)))
		}
		require.NoError(t, write("busy", "fresh"))

		// Writers share what is allowed.
		time.Sleep(time.Hour)
		var mu sync.Mutex
		var writers sync.WaitGroup
		allowed = 0
		for w := range 8 {
			writers.Go(func() {
				for i := range 20 {
					if write("busy", fmt.Sprint(w, "/", i)) == nil {
						mu.Lock()
						allowed++
						mu.Unlock()
					}
				}
			})
		}
		writers.Wait()
		require.Equal(t, burst, allowed)
	})
}
