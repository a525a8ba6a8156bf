package intstr_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/intstr"
)

var samples = []intstr.IntOrString{
	{}, intstr.FromInt32(80), intstr.FromInt32(math.MinInt32), intstr.FromInt32(math.MaxInt32),
	intstr.FromString(""), intstr.FromString("http"), intstr.FromString("50%"), intstr.FromString("é\"\\\n<&\u2028"),
}

func TestJSONIsANumberOrAString(t *testing.T) {
	for text, want := range map[string]intstr.IntOrString{
		`80`:       intstr.FromInt32(80),
		`-1`:       intstr.FromInt32(-1),
		`"80"`:     intstr.FromString("80"),
		`"http"`:   intstr.FromString("http"),
		`"\u0041"`: intstr.FromString("A"),
		`""`:       intstr.FromString(""),
		`null`:     {},
	} {
		got := intstr.FromString("old")
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		if text == `null` {
			require.NoError(t, got.ParseJSON([]byte(text)))
		}
		require.Equal(t, want, got, text)
	}
	for text, kind := range map[string]error{
		``: intstr.ErrSyntax, `1.5`: intstr.ErrSyntax, `1e3`: intstr.ErrSyntax, `true`: intstr.ErrSyntax, `{}`: intstr.ErrSyntax,
		`"`: intstr.ErrSyntax, `"a`: intstr.ErrSyntax, `2147483648`: intstr.ErrRange, `-2147483649`: intstr.ErrRange,
	} {
		got := intstr.FromInt32(7)
		require.ErrorIs(t, got.ParseJSON([]byte(text)), kind, text)
		require.Equal(t, intstr.FromInt32(7), got, "unchanged after an error")
	}
	_, err := intstr.IntOrString{Type: 9}.AppendJSON(nil)
	require.ErrorIs(t, err, intstr.ErrSyntax)
}

func TestRoundTrips(t *testing.T) {
	for _, v := range samples {
		data, err := v.AppendJSON([]byte("x"))
		require.NoError(t, err)
		reference, err := json.Marshal(any(v.StrVal))
		require.NoError(t, err)
		if v.Type == intstr.String {
			require.Equal(t, string(reference), string(data[1:]))
		}
		var back intstr.IntOrString
		require.NoError(t, back.ParseJSON(data[1:]))
		require.Equal(t, v, back)

		proto := v.AppendProto([]byte("x"))
		require.Equal(t, v.SizeProto(), len(proto)-1)
		back = intstr.IntOrString{}
		require.NoError(t, back.ParseProto(proto[1:]))
		require.Equal(t, v, back)
	}
}

func TestProtoBytes(t *testing.T) {
	require.Equal(t, []byte{8, 0, 16, 80, 26, 0}, intstr.FromInt32(80).AppendProto(nil), "all three fields are always written")
	var v intstr.IntOrString
	require.NoError(t, v.ParseProto(nil))
	require.NoError(t, v.ParseProto([]byte{8, 1, 32, 5, 26, 1, 'a', 45, 0, 0, 0, 0}), "unknown fields are skipped")
	require.Equal(t, intstr.FromString("a"), v)
	for _, bad := range [][]byte{{8}, {0}, {26, 5, 'a'}, {10, 0}, {26, 1, 0xff}, {35}, {45, 1}, {0xff, 0xff}} {
		require.ErrorIs(t, v.ParseProto(bad), intstr.ErrProto, "%v", bad)
	}
}

func TestParse(t *testing.T) {
	require.Equal(t, intstr.FromInt32(8080), intstr.Parse("8080"))
	require.Equal(t, intstr.FromString("http"), intstr.Parse("http"))
	require.Equal(t, intstr.FromString("2147483648"), intstr.Parse("2147483648"), "does not fit")
	require.Equal(t, 0, intstr.FromString("x").IntValue())
	require.Equal(t, 12, intstr.FromString("12").IntValue())
}

func TestScaledValue(t *testing.T) {
	for _, c := range []struct {
		v        intstr.IntOrString
		total    int
		up, down int
	}{
		{intstr.FromInt32(5), 100, 5, 5},
		{intstr.FromString("25%"), 10, 3, 2},
		{intstr.FromString("0%"), 10, 0, 0},
		{intstr.FromString("100%"), 7, 7, 7},
		{intstr.FromString("150%"), 3, 5, 4},
		{intstr.FromString("1%"), 1, 1, 0},
	} {
		up, err := intstr.ScaledValue(c.v, c.total, true)
		require.NoError(t, err)
		down, err := intstr.ScaledValue(c.v, c.total, false)
		require.NoError(t, err)
		require.Equal(t, [2]int{c.up, c.down}, [2]int{up, down}, "%v of %d", c.v, c.total)
	}
	for _, bad := range []string{"", "5", "%", "x%", "5%%"} {
		_, err := intstr.ScaledValue(intstr.FromString(bad), 10, true)
		require.ErrorIs(t, err, intstr.ErrNotPercent, bad)
	}
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(`80`))
	f.Add([]byte(`"a\n"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v intstr.IntOrString
		if v.ParseJSON(data) != nil {
			return
		}
		out, err := v.AppendJSON(nil)
		var back intstr.IntOrString
		if err != nil || back.ParseJSON(out) != nil || back != v {
			t.Fatalf("%q: %v then %q then %v", data, v, out, back)
		}
	})
}

func FuzzParseProto(f *testing.F) {
	f.Add([]byte{8, 1, 26, 1, 'a'})
	f.Fuzz(func(t *testing.T, data []byte) {
		var v, back intstr.IntOrString
		if v.ParseProto(data) != nil {
			return
		}
		if err := back.ParseProto(v.AppendProto(nil)); err != nil || back != v {
			t.Fatalf("%v: %v", v, err)
		}
	})
}

func BenchmarkWire(b *testing.B) {
	v, buf := intstr.FromString("http"), make([]byte, 0, 64)
	b.Run("AppendJSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = v.AppendJSON(buf[:0])
		}
	})
	b.Run("AppendProto", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = v.AppendProto(buf[:0])
		}
	})
}

func ExampleScaledValue() {
	maxUnavailable := intstr.Parse("25%")
	n, err := intstr.ScaledValue(maxUnavailable, 10, false)
	fmt.Println(n, err)
	// Output: 2 <nil>
}
