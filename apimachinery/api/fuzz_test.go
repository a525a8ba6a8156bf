package api_test

import (
	"math"
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/celcheck"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// filler makes random objects of any type, with values that validations look at more often than pure
// chance would give.
type filler struct{ *rand.Rand }

var interesting = []string{
	"", "a", "A_", "a.b", "a/b", "..", "../x", "/x", "10.0.0.1", "fe80::1", "10.0.0.0/8", "100%", "-1%", "x%", "None", "Always", "*", "*/*",
	"hugepages-", "hugepages-2Mi", "requests.x", "TZ=", "TZ=UTC * * * * *", "@every", "metadata.labels['a']", "metadata.annotations['", "['']", ".a['b']",
	".spec.", "http://x", "https://u:p@h?q#f", "Webhook", "v1", "\x00", "\xff", "a=b", "1,2-1,,", "1-99999999999", `\`, `a\b\c`, "s/*",
}

func (f filler) fill(v reflect.Value, depth int) {
	switch v.Type() {
	case reflect.TypeFor[resource.Quantity]():
		q := resource.NewQuantity(f.Int63()-f.Int63(), resource.DecimalSI)
		if f.Intn(3) == 0 {
			q = resource.MustParse([]string{"0", "1m", "-1", "1Ki", "1e30", "9223372036854775807"}[f.Intn(6)])
		}
		v.Set(reflect.ValueOf(q))
		return
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(f.Int63n(1e10), 0)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.Intn(2) == 0)
	case reflect.Int32, reflect.Int64, reflect.Int:
		n := []int64{0, 1, -1, 80, 65536, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}[f.Intn(9)]
		if v.Kind() == reflect.Int32 {
			n = int64(int32(n))
		}
		v.SetInt(n)
	case reflect.Float64:
		v.SetFloat(f.NormFloat64())
	case reflect.String:
		v.SetString(interesting[f.Intn(len(interesting))])
	case reflect.Pointer:
		if depth > 0 && f.Intn(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i), depth)
			}
		}
	case reflect.Slice:
		if depth <= 0 {
			return
		}
		n := f.Intn(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i), depth-1)
		}
	case reflect.Map:
		if depth <= 0 || f.Intn(2) == 0 {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range f.Intn(3) {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(k, depth-1)
			f.fill(e, depth-1)
			v.SetMapIndex(k, e)
		}
	case reflect.Uint8:
		v.SetUint(uint64(f.Intn(256)))
	}
}

func TestRulesNeverPanic(t *testing.T) {
	s := apitest.Scheme(t)
	require.NoError(t, api.AddExpressionRules(s, celcheck.Check))
	kinds := s.All()
	all := seeds.Of(t, 60*len(kinds)) // each is for one kind
	for i, info := range kinds {
		t.Run(info.GVK.String(), func(t *testing.T) {
			for _, seed := range all {
				if seed%uint64(len(kinds)) != uint64(i) {
					continue
				}
				f := filler{rand.New(rand.NewSource(int64(seed)))}
				obj, old := info.New(), info.New()
				f.fill(reflect.ValueOf(obj).Elem(), 7)
				f.fill(reflect.ValueOf(old).Elem(), 7)
				func() {
					defer func() {
						if p := recover(); p != nil {
							t.Fatalf("seed %d: %v", seed, p)
						}
					}()
					apply(info, obj, old)
				}()
			}
		})
	}
}

// apply runs every rule of a kind, and renders the findings.
func apply(info *scheme.Info, obj, old metav1.Object) {
	r := info.Rules
	errs := metav1.ValidateMeta(metav1.MetaOf(obj), info.Namespaced, r.NameRule, validation.NewPath("metadata"))
	errs = append(errs, metav1.ValidateMetaUpdate(metav1.MetaOf(obj), metav1.MetaOf(old), validation.NewPath("metadata"))...)
	for range 2 { // before and after defaulting
		if r.Validate != nil {
			errs = append(errs, r.Validate(obj)...)
		}
		if r.ValidateUpdate != nil {
			errs = append(errs, r.ValidateUpdate(obj, old)...)
			errs = append(errs, r.ValidateUpdate(obj, obj)...)
		}
		if r.ValidateStatus != nil {
			errs = append(errs, r.ValidateStatus(obj, old)...)
		}
		if r.Warnings != nil {
			r.Warnings(obj, nil)
			r.Warnings(obj, old)
		}
		if r.Default != nil {
			r.Default(obj)
		}
	}
	_ = errs.String()
}

func FuzzRulesOnJSON(f *testing.F) {
	for _, e := range apitest.Load(f, "validation.json") {
		if e.Method == "POST" && len(e.Request) < 4096 {
			f.Add([]byte(e.Request))
		}
	}
	s := apitest.Scheme(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		obj, info, err := apitest.Decode(s, body)
		if err != nil {
			return
		}
		again, _, err := apitest.Decode(s, body)
		require.NoError(t, err)
		apply(info, obj, again)
	})
}

func BenchmarkDefaultAndValidatePod(b *testing.B) {
	s := apitest.Scheme(b)
	var body []byte
	for _, e := range apitest.Load(b, "defaulting.json") {
		if e.Name == "pod-ports-probes" {
			body = e.Request
		}
	}
	obj, info, err := apitest.Decode(s, body)
	require.NoError(b, err)
	metav1.MetaOf(obj).Namespace = "default"
	b.ReportAllocs()
	for b.Loop() {
		info.Rules.Default(obj)
		if errs := apitest.ValidateCreate(obj, info); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
