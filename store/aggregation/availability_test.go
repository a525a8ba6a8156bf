package aggregation_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/aggregation"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// outcomes are what the metrics were called with.
type outcomes struct {
	mu    sync.Mutex
	calls []string
}

func (o *outcomes) metrics() aggregation.Metrics {
	note := func(text string) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.calls = append(o.calls, text)
	}
	return aggregation.Metrics{
		Failed:    func(name, reason string) { note(name + " " + reason) },
		Forgotten: func(name string) { note("forgotten " + name) },
	}
}

// noted returns the calls.
func (o *outcomes) noted() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.calls)
}

// The condition of a version follows its service and the endpoints of that at once, with the reasons of
// kube-apiserver, and no request is sent before there is an endpoint.
func TestServiceOfTheOtherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &outcomes{}
		p := planetest.Start(t, func(o *controlplane.Options) { o.Aggregation.Metrics = seen.metrics() })
		planetest.Create(t, p.Admin(), &corev1.Namespace{ObjectMeta: planetest.Meta("", "wardle")})
		const name = "v1alpha1.wardle.example.com"
		api := client.For[*apiregistrationv1.APIService](p.Admin())
		services, endpoints := client.For[*corev1.Service](p.Admin()), client.For[*discoveryv1.EndpointSlice](p.Admin())
		becomes := func(reason, message string) {
			t.Helper()
			began := time.Now()
			var have apiregistrationv1.APIServiceCondition
			p.Eventually(reason, func() bool {
				o, err := api.Get(t.Context(), planetest.Key("", name))
				require.NoError(t, err)
				if len(o.Status.Conditions) == 0 {
					return false
				}
				have = o.Status.Conditions[0]
				return have.Reason == reason
			})
			require.Less(t, time.Since(began), time.Second, "without waiting for the next check")
			require.Equal(t, apiregistrationv1.ConditionFalse, have.Status)
			require.Equal(t, message, have.Message)
		}
		planetest.Create(t, p.Admin(), &apiregistrationv1.APIService{ObjectMeta: planetest.Meta("", name), Spec: apiregistrationv1.APIServiceSpec{
			Group: "wardle.example.com", Version: "v1alpha1", GroupPriorityMinimum: 2000, VersionPriority: 15, InsecureSkipTLSVerify: true,
			Service: &apiregistrationv1.ServiceReference{Namespace: "wardle", Name: "api"}}})
		becomes("ServiceNotFound", `service/api in "wardle" is not present`)
		time.Sleep(10 * time.Minute) // checks are rare by now

		service := planetest.Create(t, p.Admin(), &corev1.Service{ObjectMeta: planetest.Meta("wardle", "api"),
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "api", Port: 444}}}})
		becomes("ServicePortError", `service/api in "wardle" is not listening on port 443`)
		time.Sleep(10 * time.Minute)
		service.Spec.Ports[0].Port = 443
		_, err := services.Update(t.Context(), service)
		require.NoError(t, err)
		becomes("EndpointsNotFound", `cannot find endpointslices for service/api in "wardle"`)
		time.Sleep(10 * time.Minute)

		slice := planetest.Create(t, p.Admin(), &discoveryv1.EndpointSlice{ObjectMeta: planetest.Meta("wardle", "api-1"), AddressType: discoveryv1.AddressTypeIPv4,
			Ports: []discoveryv1.EndpointPort{{Name: new("api"), Port: new(int32(8443))}}, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}}})
		time.Sleep(time.Minute)
		slice.Labels = map[string]string{discoveryv1.LabelServiceName: "api"}
		slice.Endpoints[0].Conditions.Ready = new(false)
		_, err = endpoints.Update(t.Context(), slice)
		require.NoError(t, err)
		becomes("MissingEndpoints", `endpointslices for service/api in "wardle" have no addresses with port name "api"`)

		require.NoError(t, api.Delete(t.Context(), planetest.Key("", name)))
		p.Eventually("it is forgotten", func() bool { return len(seen.noted()) > 0 })
		require.Equal(t, []string{"forgotten " + name}, seen.noted(), "it was never available")
	})
}
