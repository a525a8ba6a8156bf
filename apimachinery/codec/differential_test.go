package codec_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	fuzz "github.com/google/gofuzz"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// caseSeeds are the seeds of a test in the type the fillers want.
func caseSeeds(t testing.TB, usual int) (all []int64) {
	for _, seed := range seeds.Of(t, usual) {
		all = append(all, int64(seed))
	}
	return all
}

type named string
type flag bool
type number int16

type upper string

func (u upper) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(u))), nil }
func (u *upper) UnmarshalText(b []byte) error {
	*u = upper(strings.ToLower(string(b)))
	return nil
}

type celsius struct{ Degrees int }

func (c celsius) MarshalJSON() ([]byte, error) {
	return []byte(fmt.Sprintf(` { "deg" : %d , "note":"<&>" } `, c.Degrees)), nil
}

func (c *celsius) UnmarshalJSON(b []byte) error {
	var m struct {
		Deg int `json:"deg"`
	}
	err := json.Unmarshal(b, &m)
	c.Degrees = m.Deg
	return err
}

type maybe struct{ Set bool }

func (m maybe) IsZero() bool { return !m.Set }

type Inner struct {
	Name   string `json:"name"`
	Shadow int    `json:"shadow"`
	Deep
}

type Deep struct {
	Level  int    `json:"level,omitempty"`
	Shadow string `json:"shadow"`
}

type Ptr struct {
	Via *int `json:"via,omitempty"`
}

// shape has every kind of field the codec knows.
type shape struct {
	Inner  `json:",inline"`
	*Ptr   `json:",inline"`
	Tagged Deep  `json:"tagged"`
	Bool   bool  `json:"bool,omitempty"`
	Flag   *flag `json:"flag,omitempty"`
	I8     int8  `json:"i8,omitempty"`
	I16    number
	I32    int32               `json:"i32"`
	I64    int64               `json:"i64,omitempty"`
	Int    int                 `json:"int,string"`
	U8     uint8               `json:"u8"`
	U16    uint16              `json:"u16,omitempty"`
	U32    uint32              `json:"u32,string,omitempty"`
	U64    uint64              `json:"u64"`
	F32    float32             `json:"f32"`
	F64    float64             `json:"f64,omitempty"`
	Str    string              `json:"str,omitempty"`
	Quoted string              `json:"quoted,string"`
	Named  named               `json:"named"`
	Bytes  []byte              `json:"bytes,omitempty"`
	Array  [3]int              `json:"array"`
	None   [0]int              `json:"none,omitempty"`
	List   []named             `json:"list"`
	Lists  [][]int32           `json:"lists,omitempty"`
	Ptrs   []*string           `json:"ptrs,omitempty"`
	Map    map[string]string   `json:"map,omitempty"`
	NMap   map[named]named     `json:"nmap"`
	IMap   map[int32]*Deep     `json:"imap,omitempty"`
	SMap   map[string][]Deep   `json:"smap,omitempty"`
	TMap   map[upper]bool      `json:"tmap,omitempty"`
	BMap   map[string][]byte   `json:"bmap,omitempty"`
	Upper  upper               `json:"upper,omitempty"`
	Temp   celsius             `json:"temp"`
	TempP  *celsius            `json:"tempP,omitempty"`
	Maybe  maybe               `json:"maybe,omitzero"`
	ZeroS  Deep                `json:"zeroS,omitzero"`
	ZeroT  time.Time           `json:"zeroT,omitzero"`
	ZeroP  *maybe              `json:"zeroP,omitzero"`
	When   time.Time           `json:"when"`
	Raw    json.RawMessage     `json:"raw,omitempty"`
	Num    json.Number         `json:"num,omitempty"`
	Any    any                 `json:"any,omitempty"`
	Self   *shape              `json:"self,omitempty"`
	Hidden string              `json:"-"`
	Dash   string              `json:"-,"`
	Odd    string              `json:"odd name<&>"`
	Micro  metav1.MicroTime    `json:"micro"`
	Port   intstr.IntOrString  `json:"port"`
	Size   resource.Quantity   `json:"size"`
	Ext    metav1.RawExtension `json:"ext"`
	Funny  string              `json:"\"bad\""`
	lower  int
}

// filler makes random values that survive a round trip through JSON.
func filler(seed int64) *fuzz.Fuzzer {
	r := rand.New(rand.NewSource(seed))
	return fuzz.New().RandSource(r).NilChance(.3).NumElements(0, 3).MaxDepth(14).Funcs(
		func(t *time.Time, c fuzz.Continue) { *t = time.Unix(c.Int63n(4e9), 0).UTC() },
		func(t *metav1.Time, c fuzz.Continue) {
			*t = metav1.Time{Time: time.Unix(c.Int63n(4e9), 0).Local()}
		},
		func(t *metav1.MicroTime, c fuzz.Continue) {
			*t = metav1.MicroTime{Time: time.Unix(c.Int63n(4e9), c.Int63n(1e6)*1000).Local()}
		},
		func(q *resource.Quantity, c fuzz.Continue) {
			*q = resource.MustParse([]string{"0", "1", "100m", "1536Mi", "2e3", "12345678901234567890", "1.5Gi", "-3k"}[c.Intn(8)])
		},
		func(v *intstr.IntOrString, c fuzz.Continue) {
			if c.RandBool() {
				*v = intstr.FromInt32(int32(c.Uint32()))
			} else {
				*v = intstr.FromString(c.RandString())
			}
		},
		func(v *metav1.RawExtension, c fuzz.Continue) { v.Raw = []byte(rawJSON(c)) },
		func(v *metav1.FieldsV1, c fuzz.Continue) { v.Raw = []byte(`{"f:metadata":{"f:name":{}}}`) },
		func(v *json.RawMessage, c fuzz.Continue) { *v = json.RawMessage(rawJSON(c)) },
		func(v *json.Number, c fuzz.Continue) { *v = json.Number(fmt.Sprint(c.Int63())) },
		func(v *float64, c fuzz.Continue) {
			*v = []float64{0, 1, -1, 1.5, 1e21, 1e-7, 123456789, math.MaxFloat64, c.NormFloat64()}[c.Intn(9)]
		},
		func(v *float32, c fuzz.Continue) {
			*v = []float32{0, 1, -1, 1.5, 1e21, 1e-7, 16777216, math.MaxFloat32, c.Float32()}[c.Intn(9)]
		},
		func(v *string, c fuzz.Continue) {
			*v = []string{"", "a", c.RandString(), "<&>\u2028\"\\/\b\f\n\r\t\x00\x7f", "é漢😀", "plain text of some length", "x\xff"}[c.Intn(6)]
		},
		func(v *upper, c fuzz.Continue) { *v = upper([]string{"", "a", "word"}[c.Intn(3)]) },
		func(v *any, c fuzz.Continue) { *v = randomJSON(c, 3) },
		func(v *map[string]any, c fuzz.Continue) {
			*v = map[string]any{"k" + strconv.Itoa(c.Intn(9)): randomJSON(c, 3), "spec": randomJSON(c, 2)}
		},
	)
}

func rawJSON(c fuzz.Continue) string {
	return []string{`{"a":1,"b":[true,null,"x"]}`, `"text"`, `12`, `[]`, `{}`, `false`}[c.Intn(6)]
}

// randomJSON makes what a decode into any makes.
func randomJSON(c fuzz.Continue, depth int) any {
	switch n := c.Intn(8); {
	case n == 0:
		return nil
	case n == 1:
		return c.RandBool()
	case n == 2:
		return int64(int32(c.Uint32()))
	case n == 3:
		return 0.5 + float64(c.Intn(1000))
	case n == 4 || depth == 0:
		return c.RandString()
	case n < 7:
		m := map[string]any{}
		for range c.Intn(4) {
			m[c.RandString()] = randomJSON(c, depth-1)
		}
		return m
	default:
		l := []any{}
		for range c.Intn(4) {
			l = append(l, randomJSON(c, depth-1))
		}
		return l
	}
}

// plainNumbers turns the int64 of our decode into the float64 of encoding/json's.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	}
	return v
}

// TestDifferentialShape compares both directions with encoding/json.
func TestDifferentialShape(t *testing.T) {
	for _, seed := range caseSeeds(t, 1500) {
		var v shape
		filler(seed).Fuzz(&v)
		compareJSON(t, seed, &v)
	}
}

func compareJSON[T any](t *testing.T, seed int64, v *T) {
	t.Helper()
	want, err := json.Marshal(v)
	require.NoError(t, err, "seed %d", seed)
	got, err := codec.Marshal(v)
	require.NoError(t, err, "seed %d", seed)
	if string(want) != string(got) {
		require.Equal(t, string(want), string(got), "seed %d", seed)
	}
	var theirs, ours T
	require.NoError(t, json.Unmarshal(want, &theirs), "seed %d", seed)
	issues, err := codec.UnmarshalOptions(want, &ours, codec.DecodeOptions{Strict: true})
	require.NoError(t, err, "seed %d: %s", seed, want)
	require.Empty(t, issues, "seed %d: %s", seed, want)
	again, err := codec.Marshal(&ours)
	require.NoError(t, err)
	if string(again) != string(want) {
		require.Equal(t, string(want), string(again), "seed %d", seed)
	}
	if !codec.Equal(ours, normal(theirs)) {
		require.Equal(t, normal(theirs), ours, "seed %d", seed)
	}
}

// normal brings the result of encoding/json to integers as int64.
func normal[T any](v T) T {
	b, _ := json.Marshal(v)
	var out T
	codec.Unmarshal(b, &out)
	return out
}

// TestDifferentialInputs feeds damaged and odd texts to both decoders: they
// must agree on what is an error and on the result.
func TestDifferentialInputs(t *testing.T) {
	for _, seed := range caseSeeds(t, 1500) {
		var v shape
		filler(seed).Fuzz(&v)
		text, err := json.Marshal(&v)
		require.NoError(t, err)
		r := rand.New(rand.NewSource(seed))
		for range 8 {
			agree(t, seed, damage(r, text))
		}
	}
}

func agree(t *testing.T, seed int64, text []byte) {
	var theirs, ours any
	wantErr := json.Unmarshal(text, &theirs)
	err := codec.Unmarshal(text, &ours)
	if (wantErr == nil) != (err == nil) {
		require.Failf(t, "errors differ", "seed %d: %q: encoding/json %v, codec %v", seed, text, wantErr, err)
	}
	if err == nil {
		require.Equal(t, theirs, plainNumbers(ours), "seed %d: %q", seed, text)
	}
	var s1, s2 shape
	wantErr = json.Unmarshal(text, &s1)
	err = codec.Unmarshal(text, &s2)
	// (encoding/json matches names in any case and so meets mismatches we do not.)
	if _, syntax := wantErr.(*json.SyntaxError); err == nil && syntax {
		require.Failf(t, "no error", "seed %d: %q: encoding/json says %v", seed, text, wantErr)
	}
	if err != nil {
		require.Equal(t, shape{}, s2, "a failed decode leaves zero")
		var de *codec.DecodeError
		require.ErrorAs(t, err, &de)
		require.LessOrEqual(t, de.Offset, len(text))
		var quoted string
		if wantErr == nil && json.NewDecoder(bytes.NewReader(text[de.Offset:])).Decode(&quoted) == nil && quoted != "" && !json.Valid([]byte(quoted)) {
			// encoding/json takes 007 for a number in a field with the option "string", which JSON does not.
			return
		}
		if wantErr == nil {
			require.Failf(t, "error", "seed %d: %q: codec says %v", seed, text, err)
		}
	}
}

func TestNumbersInStrings(t *testing.T) {
	for text, want := range map[string]bool{`{"int":"7"}`: true, `{"int":"-7"}`: true, `{"int":"007"}`: false, `{"int":"7 "}`: false, `{"int":""}`: false, `{"u32":"7.5"}`: false} {
		var v shape
		require.Equal(t, want, codec.Unmarshal([]byte(text), &v) == nil, text)
	}
}

func damage(r *rand.Rand, text []byte) []byte {
	out := append([]byte(nil), text...)
	switch r.Intn(6) {
	case 0:
		return out[:r.Intn(len(out)+1)]
	case 1:
		out[r.Intn(len(out))] = byte(r.Intn(256))
	case 2:
		const odd = `{}[],:"\0123456789.eE+-tfn ` + "\t\n\x00\xff"
		out[r.Intn(len(out))] = odd[r.Intn(len(odd))]
	case 3:
		i, j := r.Intn(len(out)), r.Intn(len(out))
		out = append(out[:min(i, j)], out[max(i, j):]...)
	case 4:
		i := r.Intn(len(out))
		out = append(out[:i], append([]byte(" \t\r\n"), out[i:]...)...)
	case 5:
		i := r.Intn(len(out))
		out = append(out[:i], append([]byte(`\ud83d\ude00`), out[i:]...)...)
	}
	return out
}

func TestDeepCopySharesNothing(t *testing.T) {
	for _, seed := range caseSeeds(t, 300) {
		var v shape
		filler(seed).Fuzz(&v)
		c := codec.DeepCopy(&v)
		require.True(t, codec.Equal(&v, c), "seed %d", seed)
		require.Equal(t, &v, c, "seed %d", seed)
		requireDisjoint(t, reflect.ValueOf(&v), reflect.ValueOf(c), fmt.Sprintf("seed %d: ", seed))
		var into shape
		codec.DeepCopyInto(&into, &v)
		require.Equal(t, v, into)
		requireDisjoint(t, reflect.ValueOf(&v), reflect.ValueOf(&into), fmt.Sprintf("seed %d: ", seed))
	}
}

// requireDisjoint fails if a and b, of equal content, share memory that could be written through either.
func requireDisjoint(t *testing.T, a, b reflect.Value, path string) {
	t.Helper()
	if a.Type() == reflect.TypeFor[time.Time]() || a.Type() == reflect.TypeFor[resource.Quantity]() {
		return
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() {
			return
		}
		if a.Type().Elem().Size() > 0 {
			require.NotEqual(t, a.Pointer(), b.Pointer(), path)
		}
		requireDisjoint(t, a.Elem(), b.Elem(), path)
	case reflect.Interface:
		if !a.IsNil() {
			requireDisjoint(t, a.Elem(), b.Elem(), path)
		}
	case reflect.Struct:
		for i := range a.NumField() {
			requireDisjoint(t, a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name)
		}
	case reflect.Slice:
		if a.Cap() > 0 && a.Len() > 0 {
			require.NotEqual(t, a.Pointer(), b.Pointer(), path)
		}
		for i := range a.Len() {
			requireDisjoint(t, a.Index(i), b.Index(i), path+"[]")
		}
	case reflect.Array:
		for i := range a.Len() {
			requireDisjoint(t, a.Index(i), b.Index(i), path+"[]")
		}
	case reflect.Map:
		if !a.IsNil() {
			require.NotEqual(t, a.Pointer(), b.Pointer(), path)
		}
		for it := a.MapRange(); it.Next(); {
			requireDisjoint(t, it.Value(), b.MapIndex(it.Key()), path+"[]")
		}
	}
}
