package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/celcheck"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// elsewhere are the recorded answers that validation of the object alone does not give, by id, and why. The
// server gives them (store/apiserver replays every record over HTTP).
var elsewhere = map[string]string{
	"228": "allocation: the address is outside the cluster's range",
	"242": "allocation: the recorded cluster has one address family",
	"561": "concurrency: which kinds need a version to be updated",
}

// causeSet are the distinct findings, in order.
func causeSet(causes []cause) []string {
	out := []string{}
	for _, c := range causes {
		out = append(out, c.Field+" "+c.Type)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func foundSet(errs validation.ErrorList) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, e.Field+" "+string(e.Type))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unrepeat writes out the values that the records abbreviate as "<a repeated 9 times>".
func unrepeat(body []byte) []byte {
	s := string(body)
	for {
		before, rest, ok := strings.Cut(s, "<a repeated ")
		if !ok {
			return []byte(s)
		}
		count, after, _ := strings.Cut(rest, " times>")
		var n int
		fmt.Sscan(count, &n)
		s = before + strings.Repeat("a", n) + after
	}
}

// prepared does what a server does between decoding a created object and validating it.
func prepared(t testing.TB, s *scheme.Scheme, body []byte, path string) (metav1.Object, *scheme.Info) {
	t.Helper()
	obj, info, err := decode(s, body)
	require.NoError(t, err)
	m := metav1.MetaOf(obj)
	if info.Namespaced && m.Namespace == "" {
		m.Namespace = namespaceOf(path)
	}
	if m.Name == "" && m.GenerateName != "" {
		m.Name = m.GenerateName + "x7k2p"
	}
	if info.HasVerb("list") { // what is not stored has no life to begin
		m.UID, m.CreationTimestamp = "0c2c1f5e", metav1.NewTime(time.Unix(1e9, 0))
	}
	if info.Rules.Default != nil {
		info.Rules.Default(obj)
	}
	allocate(obj)
	return obj, info
}

// allocate stands in for what only a running server knows.
func allocate(obj metav1.Object) {
	switch o := obj.(type) {
	case *corev1.Service:
		corev1.NormalizeService(o, nil)
		if o.Spec.Type == corev1.ServiceTypeExternalName {
			return
		}
		if o.Spec.ClusterIP == "" && len(o.Spec.ClusterIPs) == 0 {
			o.Spec.ClusterIP, o.Spec.ClusterIPs = "10.96.0.7", []string{"10.96.0.7"}
		}
		if o.Spec.IPFamilies == nil {
			o.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
		}
		if o.Spec.IPFamilyPolicy == nil {
			o.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicySingleStack)
		}
		if corev1.NeedsHealthCheck(&o.Spec) && o.Spec.HealthCheckNodePort == 0 {
			o.Spec.HealthCheckNodePort = 30999
		}
	case *batchv1.Job:
		batchv1.GenerateSelector(o)
	}
}

func validateCreate(obj metav1.Object, info *scheme.Info) validation.ErrorList {
	var errs validation.ErrorList
	if info.HasVerb("get") { // reviews are answered, not stored, and need no name
		errs = metav1.ValidateMeta(metav1.MetaOf(obj), info.Namespaced, info.Rules.NameRule, validation.NewPath("metadata"))
		errs = append(errs, metav1.ValidateFinalizerDomains(obj.GetFinalizers(), validation.NewPath("metadata", "finalizers"))...)
	}
	if info.Rules.Validate != nil {
		errs = append(errs, info.Rules.Validate(obj)...)
	}
	return errs
}

// unlisted are the objects that the records change but do not hold.
var unlisted = map[string]exchange{
	"ingress": {
		Path:    "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
		Request: []byte(`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i"},"spec":{"rules":[{"host":"a.test","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"s","port":{"number":80}}}}]}}]}}`),
	},
	"ingress-classes": {
		Path:    "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
		Request: []byte(`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i","annotations":{"kubernetes.io/ingress.class":"c"}},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}}`),
	},
	"job": {
		Path:    "/apis/batch/v1/namespaces/default/jobs",
		Request: []byte(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"app:1"}]}}}}`),
	},
	"priorityclass": {
		Path:    "/apis/scheduling.k8s.io/v1/priorityclasses",
		Request: []byte(`{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"p"},"value":5}`),
	},
	"volumeattributesclass": {
		Path:    "/apis/storage.k8s.io/v1/volumeattributesclasses",
		Request: []byte(`{"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttributesClass","metadata":{"name":"v"},"driverName":"a.test","parameters":{"a":"b"}}`),
	},
	"resourceclaim": {
		Path:    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
		Request: []byte(`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"d"}}]}}}`),
	},
	"pvc-datasource": {
		Path:    "/api/v1/namespaces/default/persistentvolumeclaims",
		Request: []byte(`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`),
	},
}

func baseObjects(t testing.TB) map[string]exchange {
	t.Helper()
	out := maps.Clone(unlisted)
	for _, e := range loadExchanges(t, "defaulting.json") {
		e.Request = withRequest(t, e.Request)
		out[e.Name] = e
	}
	return out
}

// withRequest puts a real certificate request where the records leave it out.
func withRequest(t testing.TB, body []byte) []byte {
	t.Helper()
	const placeholder = "<PEM of a certificate request, base64>"
	if !strings.Contains(string(body), placeholder) {
		return body
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "c"}}, key)
	require.NoError(t, err)
	text := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	return []byte(strings.ReplaceAll(string(body), placeholder, text))
}

func TestValidationAgreesWithRecordedCreates(t *testing.T) {
	s := serverScheme(t)
	require.NoError(t, api.AddExpressionRules(s, celcheck.Check))
	n := 0
	for _, e := range loadExchanges(t, "validation.json") {
		if e.Method != "POST" || e.Status != 422 || strings.HasPrefix(e.Case, "protocol") {
			continue
		}
		t.Run(e.ID, func(t *testing.T) {
			if why := elsewhere[e.ID]; why != "" {
				t.Skip(why)
			}
			n++
			obj, info := prepared(t, s, withRequest(t, unrepeat(e.Request)), e.Path)
			changed, _ := json.Marshal(e.Changed)
			require.Equal(t, causeSet(e.Causes), foundSet(validateCreate(obj, info)), "%s: %.300s", e.Case, changed)
		})
	}
	require.Greater(t, n, 300)
}

func TestValidationAcceptsRecordedObjects(t *testing.T) {
	s := serverScheme(t)
	base := baseObjects(t)
	for name, e := range base {
		t.Run(name, func(t *testing.T) {
			obj, info := prepared(t, s, e.Request, e.Path)
			require.Empty(t, validateCreate(obj, info))
			if info.Rules.ValidateUpdate != nil {
				metav1.MetaOf(obj).ResourceVersion = "7"
				require.Empty(t, info.Rules.ValidateUpdate(obj, obj), "an unchanged object")
			}
		})
	}
	for i, e := range loadExchanges(t, "accepted.json") {
		if e.Method != "POST" {
			continue
		}
		require.Contains(t, base, e.Case)
		t.Run(fmt.Sprintf("accepted %d", i), func(t *testing.T) {
			obj, info := prepared(t, s, edit(t, base[e.Case].Request, e.Changed), e.Path)
			require.Empty(t, validateCreate(obj, info))
		})
	}
}

func TestValidationAgreesWithRecordedUpdates(t *testing.T) {
	s := serverScheme(t)
	base := baseObjects(t)
	records := slices.Concat(loadExchanges(t, "validation.json"), loadExchanges(t, "accepted.json"))
	n := 0
	for _, e := range records {
		name, ok := strings.CutPrefix(e.Case, "update ")
		if !ok || e.Status != 422 && e.Status != 200 {
			continue
		}
		t.Run(fmt.Sprintf("%s %.80s", e.Case, e.Changed), func(t *testing.T) {
			if why := elsewhere[e.ID]; why != "" {
				t.Skip(why)
			}
			n++
			setup := base[name].Request
			name = strings.TrimPrefix(strings.TrimPrefix(name, "immutable off "), "immutable ")
			if setup == nil {
				setup = edit(t, base[name].Request, []change{
					{Field: "immutable", Value: json.RawMessage("true")}, {Field: "metadata.name", Value: json.RawMessage(`"imm"`)},
				})
			}
			require.Contains(t, base, name)
			old, info := prepared(t, s, setup, base[name].Path)
			if crd, ok := old.(*apiextensionsv1.CustomResourceDefinition); ok {
				crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
			}
			metav1.MetaOf(old).ResourceVersion = "7"
			stored, err := codec.Marshal(old)
			require.NoError(t, err)
			body := edit(t, stored, e.Changed)
			if e.Changed == nil {
				body = e.Request
			}
			obj, _, err := decode(s, body)
			require.NoError(t, err)
			if info.Rules.Default != nil {
				info.Rules.Default(obj)
			}
			carryOver(metav1.MetaOf(obj), metav1.MetaOf(old))
			if svc, ok := obj.(*corev1.Service); ok {
				corev1.NormalizeService(svc, old.(*corev1.Service))
			}
			if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
				noteStorage(crd)
			}
			errs := metav1.ValidateMetaUpdate(metav1.MetaOf(obj), metav1.MetaOf(old), validation.NewPath("metadata"))
			if info.Rules.ValidateUpdate != nil {
				errs = append(errs, info.Rules.ValidateUpdate(obj, old)...)
			}
			require.Equal(t, causeSet(e.Causes), foundSet(errs), "%s", errs)
		})
	}
	require.Greater(t, n, 35)
}

// noteStorage adds the storage version to the versions objects may be stored in.
func noteStorage(d *apiextensionsv1.CustomResourceDefinition) {
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Storage && !slices.Contains(d.Status.StoredVersions, v.Name) {
			d.Status.StoredVersions = append(d.Status.StoredVersions, v.Name)
		}
	}
}

// carryOver fills what an update may leave out, as a server does.
func carryOver(m, old *metav1.ObjectMeta) {
	if m.ResourceVersion == "" {
		m.ResourceVersion = old.ResourceVersion
	}
	if m.UID == "" {
		m.UID = old.UID
	}
	if m.Namespace == "" {
		m.Namespace = old.Namespace
	}
	if m.CreationTimestamp.IsZero() {
		m.CreationTimestamp = old.CreationTimestamp
	}
}
