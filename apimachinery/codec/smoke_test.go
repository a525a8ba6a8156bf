package codec

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

type smoke struct {
	A  string            `json:"a,omitempty" protobuf:"bytes,1,opt,name=a"`
	M  map[string]string `json:"m,omitempty" protobuf:"bytes,2,rep,name=m"`
	P  *int32            `json:"p,omitempty" protobuf:"varint,3,opt,name=p"`
	L  []smoke           `json:"l,omitempty" protobuf:"bytes,4,rep,name=l"`
	N  *smoke            `json:"n,omitempty" protobuf:"bytes,5,opt,name=n"`
	MS map[string]smoke2 `json:"ms,omitempty" protobuf:"bytes,6,rep,name=ms"`
	X  any               `json:"x,omitempty"`
	B  []byte            `json:"b,omitempty" protobuf:"bytes,7,opt,name=b"`
	F  float64           `json:"f" protobuf:"fixed64,8,opt,name=f"`
	SS []string          `json:"ss" protobuf:"bytes,9,rep,name=ss"`
}
type smoke2 struct {
	Q bool  `json:"q" protobuf:"varint,1,opt,name=q"`
	I []int `json:"i" protobuf:"varint,2,rep,name=i"`
}

func TestSmoke(t *testing.T) {
	p := int32(-5)
	v := &smoke{A: "héllo<\n", M: map[string]string{"b": "1", "a": "2"}, P: &p, L: []smoke{{A: "x"}, {F: 1e-9}}, N: &smoke{A: "n"},
		MS: map[string]smoke2{"k": {true, []int{1, 2, 300}}, "j": {}}, B: []byte{1, 2}, SS: []string{}}
	want, err := json.Marshal(v)
	require.NoError(t, err)
	got, err := Marshal(v)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	var back smoke
	require.NoError(t, Unmarshal(got, &back))
	require.Equal(t, v, &back)
	c := DeepCopy(v)
	require.Equal(t, v, c)
	require.True(t, Equal(v, c))
	b, err := MarshalProto(v)
	require.NoError(t, err)
	var pb smoke
	require.NoError(t, UnmarshalProto(b, &pb))
	require.True(t, Equal(v, &pb))
	issues, err := UnmarshalOptions([]byte(`{"a":"1","a":"2","l":[{"zz":1}],"m":{"x":"1","x":"2"}}`), &back, DecodeOptions{Strict: true})
	require.NoError(t, err)
	require.Len(t, issues, 3)
	require.Equal(t, `unknown field "l[0].zz"`, issues[1].String())
	require.Equal(t, `duplicate field "m.x"`, issues[2].String())
}
