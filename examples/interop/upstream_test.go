package interop

import (
	"math/rand"
	"reflect"
	"testing"
	"time"

	fuzz "github.com/google/gofuzz"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stretchr/testify/require"
)

// upstreamScheme holds the k8s.io/api types of the group-versions Keelson has built in.
func upstreamScheme(t testing.TB) *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
		autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, certificatesv1.AddToScheme, certificatesv1beta1.AddToScheme,
		coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme, eventsv1.AddToScheme,
		flowcontrolv1.AddToScheme, networkingv1.AddToScheme, nodev1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme,
		resourcev1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme, apiextensionsv1.AddToScheme,
		coordinationv1beta1.AddToScheme, apiserverinternalv1alpha1.AddToScheme, resourcev1alpha3.AddToScheme, resourcev1beta2.AddToScheme, schedulingv1alpha2.AddToScheme, storagemigrationv1beta1.AddToScheme,
	} {
		require.NoError(t, add(s))
	}
	return s
}

// filler fills upstream objects with values that are valid on the wire, the same for the same seed.
func filler(seed uint64) *fuzz.Fuzzer {
	quantities := []string{"0", "1", "100m", "1536Mi", "2e3", "12345678901234567890", "1.5Gi", "-3k", "1u", "7Ei", "0.5", "1e-3"}
	return fuzz.New().RandSource(rand.New(rand.NewSource(int64(seed)))).NilChance(.25).NumElements(0, 3).MaxDepth(12).Funcs(
		func(t *metav1.Time, c fuzz.Continue) { *t = metav1.Unix(c.Int63n(4e9), 0) },
		func(t *metav1.MicroTime, c fuzz.Continue) {
			*t = metav1.MicroTime{Time: time.Unix(c.Int63n(4e9), c.Int63n(1e6)*1000)}
		},
		func(q *resource.Quantity, c fuzz.Continue) {
			*q = resource.MustParse(quantities[c.Intn(len(quantities))])
		},
		func(v *intstr.IntOrString, c fuzz.Continue) {
			if c.RandBool() {
				*v = intstr.FromInt32(int32(c.Uint32()))
			} else {
				*v = intstr.FromString(c.RandString())
			}
		},
		func(v *runtime.RawExtension, _ fuzz.Continue) { v.Raw = []byte(`{"apiVersion":"a/v1","kind":"K"}`) },
		func(v *metav1.FieldsV1, _ fuzz.Continue) { v.Raw = []byte(`{"f:metadata":{"f:name":{}}}`) },
		func(v *apiextensionsv1.JSON, _ fuzz.Continue) { v.Raw = []byte(`{"a":[1,"b",null,true]}`) },
		func(v *apiextensionsv1.JSONSchemaPropsOrBool, c fuzz.Continue) {
			if v.Allows = true; c.RandBool() {
				v.Schema = &apiextensionsv1.JSONSchemaProps{Type: c.RandString()}
			}
		},
		func(v *apiextensionsv1.JSONSchemaPropsOrArray, c fuzz.Continue) {
			if v.Schema = new(apiextensionsv1.JSONSchemaProps); c.RandBool() {
				*v = apiextensionsv1.JSONSchemaPropsOrArray{JSONSchemas: []apiextensionsv1.JSONSchemaProps{{Type: c.RandString()}}}
			}
		},
		func(v *apiextensionsv1.JSONSchemaPropsOrStringArray, c fuzz.Continue) {
			if v.Property = []string{c.RandString()}; c.RandBool() {
				*v = apiextensionsv1.JSONSchemaPropsOrStringArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: c.RandString()}}
			}
		},
		func(v *metav1.TypeMeta, _ fuzz.Continue) {},
	)
}

// protoMessage has the methods generated for every upstream type.
type protoMessage interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func newOf(t reflect.Type) any { return reflect.New(t).Interface() }
