package interop

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	upresource "k8s.io/apimachinery/pkg/api/resource"
	upmetav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upintstr "k8s.io/apimachinery/pkg/util/intstr"

	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func randomTimeText(r *rand.Rand) string {
	t := time.Unix(r.Int63n(8e9)-2e9, r.Int63n(1e9)).In(oneOf(r, time.UTC, time.FixedZone("", 3600), time.FixedZone("", -5*3600-1800)))
	layout := oneOf(r, time.RFC3339, time.RFC3339Nano, metav1.RFC3339Micro, time.RFC1123, "2006-01-02", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02t15:04:05z", "2006-1-2T15:04:05Z")
	text := t.Format(layout)
	if r.Intn(5) == 0 {
		i := r.Intn(len(text))
		text = text[:i] + oneOf(r, "", "9", "x", ",", ":") + text[i+1:]
	}
	return oneOf(r, strconv.Quote(text), strconv.Quote(text), strconv.Quote(text), "null", `""`, text, strconv.Itoa(r.Int()), `" `+text+`"`)
}

// Times are read and written as by upstream: to the second, to the microsecond.
func TestTimesAgree(t *testing.T) {
	for _, seed := range seeds.Of(t, 10_000) {
		text := []byte(randomTimeText(rand.New(rand.NewSource(int64(seed)))))
		var u upmetav1.Time
		var o metav1.Time
		uerr, oerr := json.Unmarshal(text, &u), json.Unmarshal(text, &o)
		require.Equal(t, uerr == nil, oerr == nil, "seed %d: %s: upstream %v, ours %v", seed, text, uerr, oerr)
		if uerr == nil {
			require.Truef(t, u.Time.Equal(o.Time), "seed %d: %s: %v, %v", seed, text, u, o)
			require.Equal(t, string(jsonText(t, u)), string(jsonText(t, o)), "seed %d: %s", seed, text)
		}
		var um upmetav1.MicroTime
		var om metav1.MicroTime
		uerr, oerr = json.Unmarshal(text, &um), json.Unmarshal(text, &om)
		require.Equal(t, uerr == nil, oerr == nil, "seed %d: %s: upstream %v, ours %v", seed, text, uerr, oerr)
		if uerr == nil {
			require.Truef(t, um.Time.Equal(om.Time), "seed %d: %s: %v, %v", seed, text, um, om)
			require.Equal(t, string(jsonText(t, um)), string(jsonText(t, om)), "seed %d: %s", seed, text)
		}
	}
}

func TestDurationsAgree(t *testing.T) {
	for _, seed := range seeds.Of(t, 5_000) {
		r := rand.New(rand.NewSource(int64(seed)))
		text := oneOf(r, time.Duration(r.Int63()).String(), time.Duration(r.Int63n(1e12)).String(), "-1m", "5", "1.5h30m", "", "1d", "1h ", strconv.Itoa(r.Int())+"ns")
		body := []byte(oneOf(r, strconv.Quote(text), strconv.Quote(text), strconv.Quote(text), "null", "5"))
		var u upmetav1.Duration
		var o metav1.Duration
		uerr, oerr := json.Unmarshal(body, &u), json.Unmarshal(body, &o)
		require.Equal(t, uerr == nil, oerr == nil, "seed %d: %s: upstream %v, ours %v", seed, body, uerr, oerr)
		if uerr == nil {
			require.Equal(t, u.Duration, o.Duration, "seed %d: %s", seed, body)
			require.Equal(t, string(jsonText(t, u)), string(jsonText(t, o)), "seed %d: %s", seed, body)
		}
	}
}

func TestNumbersOrStringsAgree(t *testing.T) {
	for _, seed := range seeds.Of(t, 10_000) {
		r := rand.New(rand.NewSource(int64(seed)))
		n := oneOf(r, r.Int63n(200)-50, r.Int63(), math.MaxInt32, math.MinInt32)
		text := oneOf(r, strconv.FormatInt(n, 10), strconv.FormatInt(n, 10)+"%", "http", "", "%", "5 %", "1.5", "1.5%", "-3%", "+3%", "007%", "1e3")
		body := []byte(oneOf(r, strconv.Quote(text), text, "null", "true", "[]"))
		var u upintstr.IntOrString
		var o intstr.IntOrString
		uerr, oerr := json.Unmarshal(body, &u), json.Unmarshal(body, &o)
		require.Equal(t, uerr == nil, oerr == nil, "seed %d: %s: upstream %v, ours %v", seed, body, uerr, oerr)
		if uerr != nil {
			continue
		}
		require.Equal(t, u.String(), o.String(), "seed %d: %s", seed, body)
		require.Equal(t, u.IntValue(), o.IntValue(), "seed %d: %s", seed, body)
		require.Equal(t, string(jsonText(t, u)), string(jsonText(t, o)), "seed %d: %s", seed, body)
		total, up := r.Intn(1000), r.Intn(2) == 0
		us, uerr := upintstr.GetScaledValueFromIntOrPercent(&u, total, up)
		os, oerr := intstr.ScaledValue(o, total, up)
		require.Equal(t, uerr == nil, oerr == nil, "seed %d: %s of %d: upstream %v, ours %v", seed, body, total, uerr, oerr)
		if uerr == nil {
			require.Equal(t, us, os, "seed %d: %s of %d", seed, body, total)
		}
	}
	for _, text := range []string{"80", "http", "-1", "2147483648", "", "5%", "080", "+7"} {
		u, o := upintstr.Parse(text), intstr.Parse(text)
		require.Equal(t, u.String(), o.String(), text)
		require.EqualValues(t, u.Type, o.Type, text)
	}
}

// Operations on quantities other than sums, which TestQuantitiesAgree covers: rounding, scaling, negation,
// multiplication, approximation.
func TestQuantityOperationsAgree(t *testing.T) {
	for _, seed := range seeds.Of(t, 10_000) {
		r := rand.New(rand.NewSource(int64(seed)))
		text := randomQuantity(r)
		u, err := upresource.ParseQuantity(text)
		if err != nil {
			continue
		}
		o := resource.MustParse(text)
		require.Equal(t, u.IsZero(), o.IsZero(), "seed %d: %q", seed, text)
		require.EqualValues(t, u.Format, o.Format(), "seed %d: %q", seed, text)
		ui, uok := u.AsInt64()
		oi, ook := o.AsInt64()
		if uok {
			require.Truef(t, ook, "seed %d: %q", seed, text)
			require.Equal(t, ui, oi, "seed %d: %q", seed, text)
		}
		uf, of := u.AsApproximateFloat64(), o.AsApproximateFloat64()
		require.InEpsilonf(t, 1+math.Abs(uf), 1+math.Abs(of), 1e-9, "seed %d: %q", seed, text)
		un, on := u.DeepCopy(), o
		un.Neg()
		on.Neg()
		sameText(t, &un, &on, fmt.Sprintf("seed %d: minus %q", seed, text))
		scale := oneOf(r, resource.Nano, resource.Micro, resource.Milli, 0, resource.Kilo, resource.Mega, resource.Giga)
		ur, or := u.DeepCopy(), o
		if math.Abs(uf) < 1e15 {
			uexact, oexact := ur.RoundUp(upresource.Scale(scale)), or.RoundUp(scale)
			require.Equal(t, ur.String(), or.String(), "seed %d: %q rounded to %d", seed, text, scale)
			require.Equal(t, uexact, oexact, "seed %d: %q rounded to %d", seed, text, scale)
		}
		if uf >= 0 && uf < 1e9 {
			require.Equal(t, u.ScaledValue(upresource.Scale(scale)), o.ScaledValue(scale), "seed %d: %q in %d", seed, text, scale)
		}
		factor := r.Int63n(2000) - 1000
		ux, ox := u.DeepCopy(), o
		if math.Abs(uf) < 1e12 {
			ufits, ofits := ux.Mul(factor), ox.Mul(factor)
			require.Equal(t, ux.String(), ox.String(), "seed %d: %q times %d", seed, text, factor)
			require.False(t, ufits && !ofits, "seed %d: %q times %d", seed, text, factor)
		}
	}
}
