package json_test

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/codectest"
)

// TestDifferentialShape compares both directions with encoding/json.
func TestDifferentialShape(t *testing.T) {
	for _, seed := range codectest.Seeds(t, 1500) {
		var v codectest.Shape
		codectest.Filler(seed).Fuzz(&v)
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
	for _, seed := range codectest.Seeds(t, 1500) {
		var v codectest.Shape
		codectest.Filler(seed).Fuzz(&v)
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
	var s1, s2 codectest.Shape
	wantErr = json.Unmarshal(text, &s1)
	err = codec.Unmarshal(text, &s2)
	// (encoding/json matches names in any case and so meets mismatches we do not.)
	if _, syntax := wantErr.(*json.SyntaxError); err == nil && syntax {
		require.Failf(t, "no error", "seed %d: %q: encoding/json says %v", seed, text, wantErr)
	}
	if err != nil {
		require.Equal(t, codectest.Shape{}, s2, "a failed decode leaves zero")
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
		var v codectest.Shape
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
