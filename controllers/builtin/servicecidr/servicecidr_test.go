package servicecidr_test

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/controllers/builtin/servicecidr"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

func serviceAt(name, ip string) *corev1.Service {
	return &corev1.Service{ObjectMeta: controllertest.Name("default", name), Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: 80}}}}
}

func rangeOf(name string, cidrs ...string) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{ObjectMeta: controllertest.Name("", name), Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
}

func ready(t *testing.T, c *controllertest.Cluster, name string) metav1.Condition {
	r := controllertest.Get[*networkingv1.ServiceCIDR](c, "", name)
	require.Len(t, r.Status.Conditions, 1)
	return r.Status.Conditions[0]
}

// A range that is added gives addresses; deleted, it stays while they are in use and no other range has them.
func TestRangeComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{servicecidr.Add}})
		controllertest.Create(c, rangeOf("more", "10.250.0.0/28"))
		c.Settle()
		require.Equal(t, metav1.ConditionTrue, ready(t, c, "more").Status)
		require.Equal(t, metav1.ConditionTrue, ready(t, c, "kubernetes").Status)
		svc := controllertest.Create(c, serviceAt("web", "10.250.0.3"))
		require.Equal(t, "10.250.0.3", svc.Spec.ClusterIP)
		require.Equal(t, "web", controllertest.Get[*networkingv1.IPAddress](c, "", "10.250.0.3").Spec.ParentRef.Name)

		controllertest.Delete[*networkingv1.ServiceCIDR](c, "", "more")
		c.Sleep(time.Minute)
		require.Equal(t, metav1.ConditionFalse, ready(t, c, "more").Status)
		require.Equal(t, networkingv1.ServiceCIDRReasonTerminating, ready(t, c, "more").Reason)
		for range 20 { // no new address comes from it
			s := controllertest.Create(c, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "s-"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
			require.False(t, netip.MustParsePrefix("10.250.0.0/28").Contains(netip.MustParseAddr(s.Spec.ClusterIP)))
		}
		controllertest.Delete[*corev1.Service](c, "default", "web")
		c.Settle()
		require.False(t, controllertest.Exists[*networkingv1.ServiceCIDR](c, "", "more"), "the grace period is over, nobody needs it")
	})
}

// A status that cannot be written is reported in an event, and written when it can.
func TestRefusedStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{servicecidr.Add}})
		no := apierrors.NewForbidden(schema.GroupResource{Group: "networking.k8s.io", Resource: "servicecidrs"}, "more", errors.New("no"))
		refused := c.Inject(controllertest.Fault{Requests: controllertest.Requests{Resource: "servicecidrs/status", Name: "more"}, Effect: controllertest.Fail(no)})
		controllertest.Create(c, rangeOf("more", "10.250.0.0/28"))
		c.Sleep(time.Second)
		events := controllertest.List[*corev1.Event](c, "default")
		require.Len(t, events, 1)
		require.Equal(t, "KubernetesServiceCIDRError: The ServiceCIDR Status can not be set to Ready=True", events[0].Reason+": "+events[0].Message)
		require.Equal(t, "more", events[0].InvolvedObject.Name)
		refused.Remove()
		c.Sleep(time.Minute)
		require.Equal(t, metav1.ConditionTrue, ready(t, c, "more").Status)
	})
}

// Addresses may move to another range, and an unused range is removed after a delay, in which all servers can
// observe the change.
func TestRangesTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{servicecidr.Add}})
		controllertest.Create(c, rangeOf("small", "10.250.0.0/28"))
		c.Settle()
		controllertest.Create(c, serviceAt("web", "10.250.0.3"))
		controllertest.Delete[*networkingv1.ServiceCIDR](c, "", "small")
		c.Sleep(time.Minute)
		require.True(t, controllertest.Exists[*networkingv1.ServiceCIDR](c, "", "small"))
		controllertest.Create(c, rangeOf("large", "10.250.0.0/24"))
		c.Settle()
		require.False(t, controllertest.Exists[*networkingv1.ServiceCIDR](c, "", "small"))

		controllertest.Create(c, rangeOf("unused", "10.251.0.0/24"))
		c.Settle()
		controllertest.Delete[*networkingv1.ServiceCIDR](c, "", "unused")
		c.Sleep(5 * time.Second)
		require.True(t, controllertest.Exists[*networkingv1.ServiceCIDR](c, "", "unused"))
		c.Sleep(10 * time.Second)
		require.False(t, controllertest.Exists[*networkingv1.ServiceCIDR](c, "", "unused"))
	})
}
