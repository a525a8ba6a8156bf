package codec_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

func TestUnsupportedTypesNameTheField(t *testing.T) {
	type hooks struct {
		Deep struct {
			Calls []func() `json:"calls"`
		} `json:"deep"`
	}
	type locked struct {
		Mu sync.Mutex `json:"-"`
		A  int        `json:"a"`
	}
	type hiddenLock struct {
		mu sync.Mutex
		A  int
	}
	type hidden struct{ p *int }
	type keyed struct {
		M map[[2]int]string `json:"m"`
	}
	cases := map[string]any{
		"field Deep.Calls[]: a func is not data":  hooks{},
		"a chan is not data":                      make(chan int),
		"a pointer to itself is not data":         loop(nil),
		"field C: a chan is not data":             struct{ C chan int }{},
		"field M: keys of type [2]int":            keyed{},
		"field Mu: a lock is not data":            &locked{},
		"unexported field mu with pointers":       &hiddenLock{},
		"unexported field p with pointers and no": struct{ H map[string]hidden }{},
	}
	for want, v := range cases {
		typ := reflect.TypeOf(v)
		_, err := codec.PlanOf(typ)
		var te *codec.TypeError
		require.ErrorAs(t, err, &te, want)
		require.ErrorContains(t, err, want)
	}
	_, err := codec.Marshal(hooks{})
	require.ErrorContains(t, err, "Deep.Calls")
	var te *codec.TypeError
	require.ErrorAs(t, codec.Unmarshal([]byte("{}"), &hooks{}), &te)
	require.Panics(t, func() { codec.DeepCopy(&hiddenLock{}) })
	// JSON does not mind a lock it does not see.
	out, err := codec.Marshal(&locked{A: 1})
	require.NoError(t, err)
	require.Equal(t, `{"a":1}`, string(out))
}

type loop *loop

type ring struct {
	Next *ring `json:"next"`
	Any  any   `json:"any"`
}

func TestCyclicValues(t *testing.T) {
	r := &ring{}
	r.Next = r
	_, err := codec.Marshal(r)
	require.ErrorIs(t, err, codec.ErrTooDeep)
	require.Panics(t, func() { codec.DeepCopy(r) })
	m := map[string]any{}
	m["m"], m["n"] = m, m
	_, err = codec.Marshal(m)
	require.ErrorIs(t, err, codec.ErrTooDeep)
	require.False(t, codec.Equal(r, &ring{Next: &ring{}}))
}

func TestEncodeErrorsLeaveNothing(t *testing.T) {
	for _, v := range []any{math.Inf(1), []any{math.NaN()}, metav1.RawExtension{Raw: []byte(`{"a":`)}, json.RawMessage(`1 2`), json.Number("x"),
		failing{}, map[string]any{"a": func() {}}} {
		out, err := codec.AppendJSON([]byte("kept"), v)
		require.Error(t, err, "%T", v)
		require.Equal(t, "kept", string(out))
	}
	_, err := codec.Marshal(failing{})
	require.ErrorIs(t, err, errFailing)
	out, err := codec.Marshal(nil)
	require.NoError(t, err)
	require.Equal(t, "null", string(out))
}

var errFailing = errors.New("no")

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errFailing }

// Base has methods in the manner of generated code; embedding promotes them.
type Base struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

func (b *Base) Marshal() ([]byte, error)   { panic("promoted protobuf method called") }
func (b *Base) Unmarshal(d []byte) error   { panic("promoted protobuf method called") }
func (b *Base) DeepCopyInto(out *Base)     { *out = Base{Name: b.Name + " copied"} }
func (b *Base) DeepCopy() *Base            { out := &Base{}; b.DeepCopyInto(out); return out }
func (b Base) AppendProto(d []byte) []byte { panic("promoted protobuf method called") }
func (b Base) SizeProto() int              { return 0 }

type outer struct {
	Base  `json:",inline" protobuf:"bytes,1,opt,name=base"`
	Extra []string `json:"extra" protobuf:"bytes,2,rep,name=extra"`
}

func TestPromotedMethodsDoNotCount(t *testing.T) {
	v := &outer{Base{"n"}, []string{"e"}}
	c := codec.DeepCopy(v)
	require.Equal(t, &outer{Base{"n copied"}, []string{"e"}}, c)
	c.Extra[0] = "other"
	require.Equal(t, "e", v.Extra[0])

	body, err := codec.MarshalProto(v)
	require.NoError(t, err)
	require.Equal(t, "\x0a\x03\x0a\x01n\x12\x01e", string(body))
	var back outer
	require.NoError(t, codec.UnmarshalProto(body, &back))
	require.Equal(t, *v, back)
}

// wrapped redefines a method its embedded field has too.
type wrapped struct {
	metav1.Time
	Zone string
}

func (w wrapped) AppendJSON(b []byte) ([]byte, error) { return append(b, `"own"`...), nil }
func (w wrapped) MarshalJSON() ([]byte, error)        { return []byte(`"own"`), nil }

type promoted struct {
	metav1.Time
	Zone string
}

func TestOwnMethodBeatsPromoted(t *testing.T) {
	out, err := codec.Marshal(wrapped{})
	require.NoError(t, err)
	require.Equal(t, `"own"`, string(out))
	p := promoted{Time: metav1.Unix(0, 0)}
	want, err := json.Marshal(p) // encoding/json calls the promoted method
	require.NoError(t, err)
	out, err = codec.Marshal(p)
	require.NoError(t, err)
	require.Equal(t, string(want), string(out))
	_, err = codec.MarshalProto(&p)
	require.ErrorIs(t, err, codec.ErrNoProto)
}

// gogo has no tags but methods of its own, as upstream's Time.
type gogo struct{ seconds int64 }

func (g *gogo) Marshal() ([]byte, error) { return []byte{8, byte(g.seconds)}, nil }
func (g *gogo) Unmarshal(b []byte) error {
	if len(b) != 2 {
		return errFailing
	}
	g.seconds = int64(b[1])
	return nil
}

type event struct {
	When gogo `protobuf:"bytes,1,opt,name=when"`
}

func TestGeneratedMethodsWithoutTags(t *testing.T) {
	body, err := codec.MarshalProto(&event{gogo{7}})
	require.NoError(t, err)
	require.Equal(t, []byte{10, 2, 8, 7}, body)
	var back event
	require.NoError(t, codec.UnmarshalProto(body, &back))
	require.Equal(t, event{gogo{7}}, back)
	err = codec.UnmarshalProto([]byte{10, 0}, &back)
	require.ErrorIs(t, err, errFailing)
	require.Equal(t, event{}, back)
}

type cloner interface{ Clone() any }

// object copies itself the way runtime.Object does.
type object struct{ N []int }

func (o *object) DeepCopyObject() any { return &object{N: append([]int{99}, o.N...)} }
func (o *object) Clone() any          { return nil }

func TestCopyOfInterfaces(t *testing.T) {
	v := struct {
		A any
		I cloner
		M map[string]any
	}{A: []int{1}, I: &object{N: []int{2}}, M: map[string]any{"t": &Base{"x"}, "v": map[string]any{"l": []any{int64(1)}}}}
	c := codec.DeepCopy(v)
	require.Equal(t, []int{99, 2}, c.I.(*object).N)
	require.Equal(t, &Base{"x copied"}, c.M["t"])
	c.A.([]int)[0] = 5
	require.Equal(t, 1, v.A.([]int)[0])
	require.Equal(t, v.M["v"], c.M["v"])

	var obj metav1.Object = &corev1.Pod{}
	obj.SetName("p")
	got := codec.DeepCopy(obj)
	require.Equal(t, obj, got)
	require.NotSame(t, obj, got)
	require.Nil(t, codec.DeepCopy[*corev1.Pod](nil))
	require.Nil(t, codec.DeepCopy[metav1.Object](nil))
	require.Equal(t, map[string]any{"a": nil}, codec.DeepCopyJSON(map[string]any{"a": nil}))
}

func TestEqualOfJSONValues(t *testing.T) {
	values := []any{nil, true, false, int64(1), int64(2), 1.0, 1.5, "", "1", []any{}, []any{int64(1)}, []any{int64(1), nil}, []any{[]any{int64(1)}},
		map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": []any{map[string]any{"b": 1.5}}}, map[string]any{"a": []any{map[string]any{"b": true}}}}
	for i, a := range values {
		for k, b := range values {
			require.Equal(t, i == k, codec.Equal(a, codec.DeepCopy(b)), "%v and %v", a, b)
			require.Equal(t, i == k, codec.Equal([]any{a}, []any{b}), "%v and %v in lists", a, b)
		}
	}
	require.True(t, codec.Equal([]any(nil), []any{}))
	deep := []any{}
	for range 20_000 {
		deep = []any{deep}
	}
	require.False(t, codec.Equal(deep, deep), "nested too deeply to compare")
}

func TestEqualIsSemantic(t *testing.T) {
	a := &corev1.Pod{}
	a.CreationTimestamp = metav1.Time{Time: time.Unix(100, 0).UTC()}
	a.Labels = map[string]string{}
	a.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1000m")}}}}
	b := codec.DeepCopy(a)
	b.CreationTimestamp = metav1.Time{Time: time.Unix(100, 0).In(time.FixedZone("x", 3600))}
	b.Labels, b.Finalizers = nil, []string{}
	b.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("1")
	require.True(t, codec.Equal(a, b))
	require.True(t, codec.Equal(*a, *b))
	require.False(t, codec.Equal(a, *b))
	b.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("2")
	require.False(t, codec.Equal(a, b))
	require.False(t, codec.Equal(a, nil))
	require.True(t, codec.Equal(nil, nil))
	require.False(t, codec.Equal(&outer{}, (*outer)(nil)))
	require.False(t, codec.Equal(map[string]any{"a": nil}, map[string]any{"b": nil}))
}

func TestPlanHasTags(t *testing.T) {
	p, err := codec.PlanOf(reflect.TypeFor[*corev1.Pod]())
	require.NoError(t, err)
	require.Equal(t, codec.Struct, p.Kind)
	containers := p.Field("spec").Plan().Field("containers")
	require.Equal(t, "merge", containers.PatchStrategy)
	require.Equal(t, "name", containers.PatchMergeKey)
	require.Equal(t, 2, containers.Proto)
	require.Equal(t, codec.List, containers.Plan().Kind)
	require.NotNil(t, containers.Plan().Elem().Field("image"))
	require.Equal(t, codec.Map, p.Field("metadata").Plan().Field("labels").Plan().Kind)
	require.Nil(t, p.Field("Spec"))
	again, err := codec.PlanOf(reflect.TypeFor[corev1.Pod]())
	require.NoError(t, err)
	require.Same(t, p, again)
	_, err = codec.MarshalProto(&metav1.Unstructured{})
	require.ErrorIs(t, err, codec.ErrNoProto)
}
