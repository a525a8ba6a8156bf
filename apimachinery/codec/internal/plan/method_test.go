package plan_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
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

var errFailing = errors.New("no")

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
