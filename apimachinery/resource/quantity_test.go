package resource_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/resource"
)

func TestCanonicalText(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "00": "0", "-0": "0", "0Ki": "0", "0.000": "0",
		"1": "1", "100m": "100m", "0.1": "100m", "1.5": "1500m", "1500m": "1500m", "1000m": "1",
		"1000": "1k", "1234567": "1234567", "12000000": "12M", "1e3": "1e3", "1000e3": "1e6", "1E6": "1E6", "15e2": "1500",
		"1536Mi": "1536Mi", "2048Mi": "2Gi", "1024Ki": "1Mi", "1023": "1023", "0.5Ki": "512", "0.5Mi": "512Ki", "1.5Gi": "1536Mi",
		"0.3Ki": "307200m", "1Ei": "1Ei", "8Ei": "9223372036854775807", "100Ei": "9223372036854775807",
		"1n": "1n", "0.1n": "1n", "-0.1n": "-1n", "1.0000000001": "1000000001n", "1e-10": "1e-9", "1e-4000": "1e-9",
		"123456789012345678901234567890": "123456789012345678901234567890",
		"-1.5":                           "-1500m", "1000E": "1000E", "1e21": "1e21", "1u": "1u", "1M": "1M", "1P": "1P", "1T": "1T",
		// No digits is zero.
		".": "0", "-": "0", "Ki": "0", "m": "0", "5.": "5.",
	} {
		q, err := resource.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, q.String(), text)
	}
}

func TestTextsThatAreKeptAlthoughNotCanonical(t *testing.T) {
	for _, text := range []string{"+5", "005", "1.500", "1e+3", "1E3", "1e0", "+3Ki", "1.500k"} {
		q := resource.MustParse(text)
		require.Equal(t, text, q.String())
		q.Add(resource.MustParse("0"))
		require.NotEqual(t, text, q.String(), "a changed number has no text")
		require.True(t, q.Equal(resource.MustParse(text)))
	}
	require.Equal(t, "5", resource.MustParse("+5").WithFormat(resource.DecimalSI).String())
}

func TestRefusedTexts(t *testing.T) {
	for text, want := range map[string]error{
		"": resource.ErrFormatWrong, " 1": resource.ErrFormatWrong, "1 ": resource.ErrFormatWrong, "--1": resource.ErrSuffix,
		"1.2.3": resource.ErrFormatWrong, "abc": resource.ErrFormatWrong, "0x1": resource.ErrFormatWrong, "1,5": resource.ErrFormatWrong, "∞": resource.ErrFormatWrong,
		"1K": resource.ErrSuffix, "1KI": resource.ErrFormatWrong, "1e": resource.ErrSuffix, "1ee3": resource.ErrSuffix, "1e3e": resource.ErrFormatWrong, "1mm": resource.ErrSuffix,
		"1-3": resource.ErrSuffix, "1+": resource.ErrSuffix, "1e+": resource.ErrSuffix,
		"Ei": resource.ErrNumeric, "e-10": resource.ErrNumeric,
		"1e4097": resource.ErrTooLong, "1e99999999999999999999": resource.ErrTooLong, strings.Repeat("1", 4097): resource.ErrTooLong,
	} {
		_, err := resource.Parse(text)
		require.ErrorIs(t, err, want, text)
	}
	require.Panics(t, func() { resource.MustParse("x") })
}

// Digits that were all written out would take more memory and time than there is.
func TestHugeNumbersStayCheap(t *testing.T) {
	huge := []resource.Quantity{
		resource.MustParse("1e4096"), resource.MustParse(strings.Repeat("9", 4090) + "e4096"), resource.MustParse("-1e4096"),
		resource.MustParse("0." + strings.Repeat("9", 4000)), resource.MustParse("1n"), resource.NewScaledQuantity(1, math.MaxInt32), resource.NewScaledQuantity(7, math.MinInt32),
	}
	for i, a := range huge {
		for j, b := range huge {
			require.Equal(t, i == j, a.Cmp(b) == 0)
			if i < 5 && j < 5 {
				sum := a
				sum.Add(b)
				_ = sum.String()
			}
		}
		_, _ = a.Value(), a.MilliValue()
		_, _ = a.AsInt64()
		a.RoundUp(0)
	}
}

func TestConstructors(t *testing.T) {
	require.Equal(t, "1Ki", resource.NewQuantity(1024, resource.BinarySI).String())
	require.Equal(t, "1024", resource.NewQuantity(1024, resource.DecimalSI).String())
	require.Equal(t, "1e3", resource.NewQuantity(1000, resource.DecimalExponent).String())
	require.Equal(t, "1e3", resource.NewQuantity(1000, "").String(), "no format prints as an exponent")
	require.Equal(t, "1500m", resource.NewMilliQuantity(1500, resource.DecimalSI).String())
	require.Equal(t, "1500m", resource.NewMilliQuantity(1500, resource.BinarySI).String())
	require.Equal(t, "3G", resource.NewScaledQuantity(3, resource.Giga).String())
	require.Equal(t, "1n", resource.NewScaledQuantity(3, -12).String(), "there is nothing finer than nano")
	q := resource.MustParse("1Gi")
	q.Set(2048)
	require.Equal(t, "2Ki", q.String())
	q.SetMilli(1500)
	require.Equal(t, "1500m", q.String())
	require.Equal(t, resource.BinarySI, q.Format())
	require.Equal(t, resource.Format(""), resource.Quantity{}.Format())
	require.Equal(t, "0", resource.Quantity{}.String())
}

func TestZeroTakesTheFormatOfWhatIsAdded(t *testing.T) {
	var q resource.Quantity
	q.Add(resource.MustParse("1Gi"))
	require.Equal(t, "1Gi", q.String())
	q.Sub(resource.MustParse("1024Mi"))
	q.Sub(resource.MustParse("1k"))
	require.Equal(t, "-1k", q.String())
	require.Equal(t, resource.DecimalSI, q.Format())
}

func TestExtremes(t *testing.T) {
	q := resource.NewQuantity(math.MinInt64, resource.DecimalSI)
	q.Neg()
	require.Equal(t, "9223372036854775808", q.String())
	require.Equal(t, int64(math.MaxInt64), q.Value())
	q.Neg()
	require.Equal(t, int64(math.MinInt64), q.Value())
	v, ok := q.AsInt64()
	require.True(t, ok, "back in 64 bits")
	require.Equal(t, int64(math.MinInt64), v)
	q = resource.NewQuantity(math.MaxInt64, resource.BinarySI)
	require.False(t, q.Mul(1024))
	require.Equal(t, "9223372036854775807Ki", q.String())
	for range 6 {
		q.Mul(1024)
	}
	require.Equal(t, "9444732965739290426368Ei", q.String(), "no suffix beyond Ei")
	require.Equal(t, 1, resource.MustParse("1e30").CmpInt64(math.MaxInt64))
	require.True(t, math.IsInf(resource.MustParse("1e4000").AsApproximateFloat64(), 1))
	require.Equal(t, 1.5, resource.MustParse("1500m").AsApproximateFloat64())
}

func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		`"1Gi"`: "1Gi", `" 1Gi "`: "1Gi", `5`: "5", `0.5`: "500m", `1e3`: "1e3", `-2`: "-2", `null`: "0",
	} {
		q := resource.MustParse("7")
		require.NoError(t, q.ParseJSON([]byte(text)), text)
		require.Equal(t, want, q.String(), text)
	}
	for _, text := range []string{`""`, `"`, `true`, `{}`, `"1`, `"1\u0030"`, ``} {
		q := resource.MustParse("7")
		require.Error(t, q.ParseJSON([]byte(text)), text)
		require.Equal(t, "7", q.String(), "unchanged after an error")
	}
	type object struct {
		Limits map[string]resource.Quantity `json:"limits"`
		Size   *resource.Quantity           `json:"size,omitempty"`
	}
	var o object
	require.NoError(t, json.Unmarshal([]byte(`{"limits":{"cpu":"0.1","memory":1024},"size":"1Mi"}`), &o))
	out, err := json.Marshal(o)
	require.NoError(t, err)
	require.JSONEq(t, `{"limits":{"cpu":"100m","memory":"1024"},"size":"1Mi"}`, string(out))
}

func TestProto(t *testing.T) {
	require.Equal(t, "\n\x011", string(resource.MustParse("1").AppendProto(nil)))
	require.Equal(t, "\n\x010", string(resource.Quantity{}.AppendProto(nil)), "zero is written too")
	long := resource.MustParse(strings.Repeat("1", 300))
	data := long.AppendProto([]byte("x"))
	require.Equal(t, long.SizeProto(), len(data)-1)
	var q resource.Quantity
	require.NoError(t, q.ParseProto(data[1:]))
	require.True(t, q.Equal(long))
	require.NoError(t, q.ParseProto([]byte("\x10\x05\n\x021k\x1a\x01z\x25abcd\x29abcdefgh")), "unknown fields are skipped")
	require.Equal(t, "1k", q.String())
	for _, bad := range []string{"\n", "\n\x05a", "\x08\x01", "\x00", "\x0b", "\x25abc", "\xff\xff"} {
		require.ErrorIs(t, q.ParseProto([]byte(bad)), resource.ErrProto, "%q", bad)
	}
	require.ErrorIs(t, q.ParseProto([]byte("\n\x011\n\x01x")), resource.ErrFormatWrong)
	require.Equal(t, "1k", q.String(), "unchanged after an error")
}

func TestSizeAndAllocations(t *testing.T) {
	require.Equal(t, uintptr(24), unsafe.Sizeof(resource.Quantity{}))
	data, proto, buf := []byte(`"1536Mi"`), []byte("\n\x06100000"), make([]byte, 0, 64)
	a, b := resource.MustParse("100m"), resource.MustParse("1Gi")
	var q resource.Quantity
	for name, f := range map[string]func(){
		"ParseJSON":   func() { _ = q.ParseJSON(data) },
		"ParseProto":  func() { _ = q.ParseProto(proto) },
		"AppendJSON":  func() { buf, _ = b.AppendJSON(buf[:0]) },
		"AppendProto": func() { buf = a.AppendProto(buf[:0]); _ = a.SizeProto() },
		"arithmetic": func() {
			q = a
			q.Add(a)
			q.Sub(b)
			q.Neg()
			_ = q.Cmp(a)
			_ = q.Value()
			_ = q.MilliValue()
			q.Mul(3)
			q.RoundUp(0)
		},
		"Parse": func() { q, _ = resource.Parse("250m") },
	} {
		require.Zero(t, testing.AllocsPerRun(100, f), name)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1", "1.5Gi", "-3e-9", "+.5m", "1e+3", "99999999999999999999Ei"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := resource.Parse(s)
		if err != nil {
			return
		}
		text := q.String()
		back, err := resource.Parse(text)
		if err != nil || back.String() != text || !back.Equal(q) && len(text) < 4000 {
			t.Fatalf("%q: %q then %q, %v", s, text, back, err)
		}
		q.Sub(back)
		if !q.IsZero() && len(text) < 4000 {
			t.Fatalf("%q - %q is %v", s, text, q)
		}
	})
}

func FuzzParseProto(f *testing.F) {
	f.Add([]byte("\n\x011"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var q, back resource.Quantity
		if q.ParseProto(data) != nil {
			return
		}
		if err := back.ParseProto(q.AppendProto(nil)); err != nil || !back.Equal(q) {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

func BenchmarkQuantity(b *testing.B) {
	data, buf := []byte(`"1536Mi"`), make([]byte, 0, 64)
	q, one := resource.MustParse("1536Mi"), resource.MustParse("100m")
	b.Run("ParseJSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = q.ParseJSON(data)
		}
	})
	b.Run("AppendJSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = q.AppendJSON(buf[:0])
		}
	})
	b.Run("AppendProto", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = one.AppendProto(buf[:0])
		}
	})
	b.Run("Add", func(b *testing.B) {
		b.ReportAllocs()
		var sum resource.Quantity
		for b.Loop() {
			sum.Add(one)
		}
	})
	b.Run("Cmp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = q.Cmp(one)
		}
	})
}

func ExampleParse() {
	cpu, err := resource.Parse("0.25")
	if err != nil {
		fmt.Println(err)
		return
	}
	cpu.Add(resource.MustParse("1500m"))
	fmt.Println(cpu, cpu.MilliValue(), cpu.Value())
	fmt.Println(resource.MustParse("2048Mi"), resource.MustParse("1.5Gi"))
	// Output:
	// 1750m 1750 2
	// 2Gi 1536Mi
}
