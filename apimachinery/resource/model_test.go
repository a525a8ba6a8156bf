package resource_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// model is a quantity as the definition has it: a rational number.
type model struct{ *big.Rat }

var suffixes = map[string]*big.Rat{
	"": rat(1), "n": ratio(1, 1e9), "u": ratio(1, 1e6), "m": ratio(1, 1000),
	"k": rat(1e3), "M": rat(1e6), "G": rat(1e9), "T": rat(1e12), "P": rat(1e15), "E": rat(1e18),
	"Ki": rat(1 << 10), "Mi": rat(1 << 20), "Gi": rat(1 << 30), "Ti": rat(1 << 40), "Pi": rat(1 << 50), "Ei": rat(1 << 60),
}

func rat(n int64) *big.Rat      { return new(big.Rat).SetInt64(n) }
func ratio(a, b int64) *big.Rat { return big.NewRat(a, b) }

// roundUp rounds away from zero to a multiple of 10^scale.
func roundUp(x *big.Rat, scale int) *big.Rat {
	unit := pow10(scale)
	y := new(big.Rat).Quo(x, unit)
	q, r := new(big.Int).QuoRem(y.Num(), y.Denom(), new(big.Int))
	if r.Sign() != 0 {
		q.Add(q, big.NewInt(int64(y.Sign())))
	}
	return y.Mul(new(big.Rat).SetInt(q), unit)
}

func pow10(n int) *big.Rat {
	p := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil))
	if n < 0 {
		return p.Inv(p)
	}
	return p
}

// number is what a text of digits and a suffix stands for, to the nano.
func number(text, suffix string) model {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	unit := suffixes[suffix]
	if unit == nil {
		exponent, err := strconv.Atoi(suffix[1:])
		if err != nil {
			panic(suffix)
		}
		unit = pow10(exponent)
	}
	x = roundUp(x.Mul(x, unit), -9)
	if limit := rat(1<<63 - 1); strings.HasSuffix(suffix, "i") {
		if x.Cmp(limit) > 0 {
			x = limit
		} else if y := new(big.Rat).Neg(x); y.Cmp(limit) > 0 {
			x = new(big.Rat).Neg(limit)
		}
	}
	return model{x}
}

// value is what a canonical text stands for.
func value(t *testing.T, text string) *big.Rat {
	t.Helper()
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("+-.0123456789", r) })
	if end < 0 {
		end = len(text)
	}
	x, ok := new(big.Rat).SetString(text[:end])
	require.True(t, ok, text)
	suffix := text[end:]
	if unit := suffixes[suffix]; unit != nil {
		return x.Mul(x, unit)
	}
	exponent, err := strconv.Atoi(suffix[1:])
	require.NoError(t, err, text)
	return x.Mul(x, pow10(exponent))
}

func randomText(r *rand.Rand) (number, suffix string) {
	var b strings.Builder
	b.WriteString([]string{"", "", "-"}[r.IntN(3)])
	digits := func(n int) {
		for range n {
			b.WriteByte("00123456789"[r.IntN(11)])
		}
	}
	digits(1 + r.IntN([]int{3, 8, 19, 30}[r.IntN(4)]))
	if r.IntN(3) == 0 {
		b.WriteByte('.')
		digits(1 + r.IntN([]int{3, 9, 20}[r.IntN(3)]))
	}
	switch r.IntN(4) {
	case 0:
		return b.String(), fmt.Sprintf("e%d", r.IntN(40)-20)
	case 1:
		return b.String(), []string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}[r.IntN(6)]
	}
	return b.String(), []string{"", "n", "u", "m", "k", "M", "G", "T", "P", "E"}[r.IntN(10)]
}

func TestRandomHistoriesAgainstRationals(t *testing.T) {
	for _, seed := range seeds.Of(t, 6000) {
		r := seeds.Rand(seed)
		text, suffix := randomText(r)
		q, err := resource.Parse(text + suffix)
		require.NoError(t, err, "seed %d", seed)
		m := number(text, suffix)
		history := text + suffix
		for range 6 {
			requireSame(t, q, m, "seed %d: %s", seed, history)
			text, suffix := randomText(r)
			other, err := resource.Parse(text + suffix)
			require.NoError(t, err)
			otherModel := number(text, suffix)
			require.Equal(t, m.Cmp(otherModel.Rat), q.Cmp(other), "seed %d: %s <=> %s%s", seed, history, text, suffix)
			before, copied := q.String(), q
			switch r.IntN(5) {
			case 0:
				q.Add(other)
				m = model{new(big.Rat).Add(m.Rat, otherModel.Rat)}
				history += " + " + text + suffix
			case 1:
				q.Sub(other)
				m = model{new(big.Rat).Sub(m.Rat, otherModel.Rat)}
				history += " - " + text + suffix
			case 2:
				q.Neg()
				m = model{new(big.Rat).Neg(m.Rat)}
				history += " neg"
			case 3:
				by := r.Int64N(2000) - 1000
				q.Mul(by)
				m = model{new(big.Rat).Mul(m.Rat, rat(by))}
				history += fmt.Sprint(" * ", by)
			case 4:
				scale := []int{-9, -6, -3, 0, 3, 6, 9}[r.IntN(7)]
				rounded := roundUp(m.Rat, scale)
				require.Equal(t, rounded.Cmp(m.Rat) == 0, q.RoundUp(resource.Scale(scale)), "seed %d: %s", seed, history)
				m = model{rounded}
				history += fmt.Sprint(" round ", scale)
			}
			require.Equal(t, before, copied.String(), "seed %d: a copy has changed", seed)
		}
	}
}

func requireSame(t *testing.T, q resource.Quantity, m model, format string, args ...any) {
	t.Helper()
	fail := func(what string, want, got any) {
		t.Helper()
		t.Fatalf("%s: %s: want %v, got %v", fmt.Sprintf(format, args...), what, want, got)
	}
	if got := value(t, q.String()); got.Cmp(m.Rat) != 0 {
		fail("canonical text "+q.String(), m, got)
	}
	if q.Sign() != m.Sign() || q.IsZero() != (m.Sign() == 0) {
		fail("sign", m.Sign(), q.Sign())
	}
	back, err := resource.Parse(q.String())
	if err != nil {
		fail("parse", nil, err)
	}
	// BinarySI texts are capped when they are read.
	if !strings.HasSuffix(q.String(), "i") && !back.Equal(q) {
		fail("read back", q, back)
	}
	for _, scale := range []int{-9, -3, 0, 6} {
		want := new(big.Rat).Quo(roundUp(m.Rat, scale), pow10(scale)).Num()
		got := q.ScaledValue(resource.Scale(scale))
		switch {
		case want.IsInt64():
			if got != want.Int64() {
				fail("scaled value", want, got)
			}
		case want.Sign() > 0 && got != 1<<63-1, want.Sign() < 0 && got != -1<<63:
			fail("saturated value", want, got)
		}
	}
	n, ok := q.AsInt64()
	if want := m.IsInt() && m.Num().IsInt64(); ok != want || ok && n != m.Num().Int64() {
		fail("AsInt64", m, n)
	}
	if json, _ := q.AppendJSON(nil); string(json) != `"`+q.String()+`"` {
		fail("JSON", q.String(), string(json))
	}
	proto := q.AppendProto(nil)
	if len(proto) != q.SizeProto() {
		fail("proto size", len(proto), q.SizeProto())
	}
	var decoded resource.Quantity
	if err := decoded.ParseProto(proto); err != nil || decoded.String() != back.String() {
		fail("proto", back, decoded)
	}
	approx, _ := m.Float64()
	if f := q.AsApproximateFloat64(); f != approx && (f-approx)/approx > 1e-9 {
		fail("float", approx, f)
	}
}
