// Package apitest is what the tests of the API groups share: recorded exchanges with a kube-apiserver,
// objects to vary, and tables of changes with the findings that they must cause.
package apitest

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
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Exchange is one recorded request to a real API server and what came back; the files under
// testdata hold lists of them.
type Exchange struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Case     string          `json:"case"`
	Method   string          `json:"method"`
	Path     string          `json:"path"`
	Changed  []Change        `json:"changed"`
	Request  json.RawMessage `json:"request"`
	Status   int             `json:"status"`
	Response json.RawMessage `json:"response"`
	// PureResponse is the response without the mutating admission plugins, where it differs.
	PureResponse json.RawMessage `json:"responseWithoutAdmissionPlugins"`
	Causes       []Cause         `json:"causes"`
}

// Cause is one recorded finding.
type Cause struct {
	Field string `json:"field"`
	Type  string `json:"type"`
}

// Change replaces the value at a path such as spec.containers.0.image; the value "<deleted>" removes it.
type Change struct {
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"`
}

// Load reads a file of testdata.
func Load(t testing.TB, file string) []Exchange {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if os.IsNotExist(err) { // a package of one group
		data, err = os.ReadFile(filepath.Join("..", "testdata", file))
	}
	require.NoError(t, err)
	var list []Exchange
	require.NoError(t, json.Unmarshal(data, &list))
	return list
}

// Scheme returns all built-in kinds with their rules.
func Scheme(t testing.TB) *scheme.Scheme {
	t.Helper()
	s := api.Scheme().Clone()
	require.NoError(t, api.AddRules(s))
	require.NoError(t, openapi.AddRules(s))
	return s
}

// Decode makes the object of a JSON body, and its registration.
func Decode(s *scheme.Scheme, body []byte) (metav1.Object, *scheme.Info, error) {
	var tm metav1.TypeMeta
	if err := json.Unmarshal(body, &tm); err != nil {
		return nil, nil, err
	}
	info := s.ForKind(schema.FromAPIVersionAndKind(tm.APIVersion, tm.Kind))
	if info == nil {
		return nil, nil, os.ErrNotExist
	}
	obj := info.New()
	return obj, info, codec.Unmarshal(body, obj)
}

// namespaceOf is the namespace in a request path, or "".
func namespaceOf(path string) string {
	_, rest, ok := strings.Cut(path, "/namespaces/")
	if !ok {
		return ""
	}
	ns, rest, _ := strings.Cut(rest, "/")
	if rest == "" {
		return ""
	}
	return ns
}

// Edit applies the recorded changes to a JSON object.
func Edit(t testing.TB, body []byte, changes []Change) []byte {
	t.Helper()
	var doc any
	require.NoError(t, json.Unmarshal(body, &doc))
	for _, c := range changes {
		doc = set(t, doc, strings.Split(c.Field, "."), c.Value)
	}
	out, err := json.Marshal(doc)
	require.NoError(t, err)
	return out
}

func set(t testing.TB, doc any, path []string, raw json.RawMessage) any {
	t.Helper()
	if len(path) == 0 {
		var v any
		require.NoError(t, json.Unmarshal(raw, &v))
		return v
	}
	deleted := len(path) == 1 && string(raw) == `"<deleted>"`
	switch doc := doc.(type) {
	case map[string]any:
		if deleted {
			delete(doc, path[0])
			return doc
		}
		doc[path[0]] = set(t, doc[path[0]], path[1:], raw)
		return doc
	case []any:
		i, err := strconv.Atoi(path[0])
		require.NoError(t, err)
		if i == len(doc) {
			doc = append(doc, nil)
		}
		doc[i] = set(t, doc[i], path[1:], raw)
		return doc
	case nil:
		return map[string]any{path[0]: set(t, nil, path[1:], raw)}
	}
	t.Fatalf("cannot set %v", path)
	return nil
}

// Causes returns the distinct recorded findings, sorted.
func Causes(causes []Cause) []string {
	out := []string{}
	for _, c := range causes {
		out = append(out, c.Field+" "+c.Type)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Found returns the distinct findings as Causes does.
func Found(errs validation.ErrorList) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, e.Field+" "+string(e.Type))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Unrepeat writes out the values that the records abbreviate as "<a repeated 9 times>".
func Unrepeat(body []byte) []byte {
	s := string(body)
	for {
		before, rest, ok := strings.Cut(s, "<a repeated ")
		if !ok {
			return []byte(s)
		}
		count, after, _ := strings.Cut(rest, " times>")
		n, err := strconv.Atoi(count)
		if err != nil {
			panic(err)
		}
		s = before + strings.Repeat("a", n) + after
	}
}

// Prepared does what a server does between decoding a created object and validating it.
func Prepared(t testing.TB, s *scheme.Scheme, body []byte, path string) (metav1.Object, *scheme.Info) {
	t.Helper()
	obj, info, err := Decode(s, body)
	require.NoError(t, err)
	m := metav1.MetaOf(obj)
	if info.Namespaced && m.Namespace == "" {
		m.Namespace = namespaceOf(path)
	}
	if m.Name == "" && m.GenerateName != "" {
		m.Name = m.GenerateName + "x7k2p"
	}
	if info.HasVerb("list") { // what is not stored gets no uid
		m.UID, m.CreationTimestamp = "0c2c1f5e", metav1.NewTime(time.Unix(1e9, 0))
	}
	if info.Rules.Default != nil {
		info.Rules.Default(obj)
	}
	allocate(obj)
	return obj, info
}

// allocate stands in for what only a running server allocates.
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

// ValidateCreate checks a new object as a server does.
func ValidateCreate(obj metav1.Object, info *scheme.Info) validation.ErrorList {
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
var unlisted = map[string]Exchange{
	"event-v1": {
		Path:    "/apis/events.k8s.io/v1/namespaces/default/events",
		Request: []byte(`{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e"},"eventTime":"2020-01-01T00:00:00.000000Z","type":"Normal","reason":"R","action":"A","reportingController":"a.test/c","reportingInstance":"i","regarding":{"kind":"Pod","name":"p","namespace":"default"}}`),
	},
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

// Base returns the objects to vary, by name.
func Base(t testing.TB) map[string]Exchange {
	t.Helper()
	out := maps.Clone(unlisted)
	for _, e := range Load(t, "defaulting.json") {
		e.Request = WithRequest(t, e.Request)
		out[e.Name] = e
	}
	return out
}

// WithRequest puts a real certificate request where the records leave it out.
func WithRequest(t testing.TB, body []byte) []byte {
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

// CarryOver fills what an update may leave out, as a server does.
func CarryOver(m, old *metav1.ObjectMeta) {
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

// wanted splits "field Type; field Type", with Type short for FieldValueType.
func wanted(text string) []string {
	out := []string{}
	for part := range strings.SplitSeq(text, "; ") {
		if k := strings.LastIndexByte(part, ' '); k > 0 {
			out = append(out, part[:k]+" FieldValue"+part[k+1:])
		}
	}
	return out
}

// Create varies objects to be created. A case is the name of an object of Base, the path and the JSON value
// of a field, and the findings, such as "spec.replicas Invalid; spec.selector Required".
func Create(t *testing.T, cases [][4]string) {
	s, base := Scheme(t), Base(t)
	for i, c := range cases {
		name, field, value, want := c[0], c[1], c[2], c[3]
		t.Run(fmt.Sprintf("%d %s %s", i, name, field), func(t *testing.T) {
			e, ok := base[name]
			require.True(t, ok)
			obj, info := Prepared(t, s, Edit(t, e.Request, []Change{{field, json.RawMessage(value)}}), e.Path)
			errs := ValidateCreate(obj, info)
			require.ElementsMatch(t, wanted(want), Found(errs), "%s", errs)
		})
	}
}

// Updated is an object of Base, as changed by Setup (paths and JSON values), and a change of it as in Create.
type Updated struct {
	Setup [][2]string
	Alter [4]string
}

// Update varies stored objects.
func Update(t *testing.T, cases []Updated) {
	s, base := Scheme(t), Base(t)
	for i, c := range cases {
		name, field, value, want := c.Alter[0], c.Alter[1], c.Alter[2], c.Alter[3]
		t.Run(fmt.Sprintf("%d %s %s", i, name, field), func(t *testing.T) {
			e, ok := base[name]
			require.True(t, ok)
			var setup []Change
			for _, f := range c.Setup {
				setup = append(setup, Change{f[0], json.RawMessage(f[1])})
			}
			old, info := Prepared(t, s, Edit(t, e.Request, setup), e.Path)
			metav1.MetaOf(old).ResourceVersion = "7"
			stored, err := codec.Marshal(old)
			require.NoError(t, err)
			obj, _, err := Decode(s, Edit(t, stored, []Change{{field, json.RawMessage(value)}}))
			require.NoError(t, err)
			if info.Rules.Default != nil {
				info.Rules.Default(obj)
			}
			CarryOver(metav1.MetaOf(obj), metav1.MetaOf(old))
			if svc, ok := obj.(*corev1.Service); ok {
				corev1.NormalizeService(svc, old.(*corev1.Service))
			}
			errs := metav1.ValidateMetaUpdate(metav1.MetaOf(obj), metav1.MetaOf(old), validation.NewPath("metadata"))
			errs = append(errs, info.Rules.ValidateUpdate(obj, old)...)
			require.ElementsMatch(t, wanted(want), Found(errs), "%s", errs)
		})
	}
}

// Findings checks that a new object, given as JSON, has these findings ("field FieldValueType") and no
// others.
func Findings(t *testing.T, body string, want []string) {
	t.Helper()
	obj, info := Prepared(t, Scheme(t), []byte(body), "")
	require.ElementsMatch(t, want, Found(ValidateCreate(obj, info)))
}
