package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/codectest"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// TestValid compares with encoding/json: on the corners of the grammar, at the limit of nesting, and on
// documents that were damaged.
func TestValid(t *testing.T) {
	same := func(data string) {
		t.Helper()
		if want := json.Valid([]byte(data)); want != codec.Valid([]byte(data)) {
			require.Failf(t, "differs", "encoding/json says %v of %.200q", want, data)
		}
	}
	for _, text := range []string{"", " ", "1", " 1 ", "01", "-", "-0", "-01", "1.", ".5", "1e", "1e5", "1E+5", "+1", "nul", "null", "nullx", "tru", "false ",
		`"`, `"\x"`, `"\u12g4"`, `"\u12"`, `"\`, "\"\x01\"", "\"\xff\"", "\"\x7f\"", `"\ud800"`, "[]", "[1,]", "[,1]", "[1 2]", "{", "{}", `{"a"}`, `{"a":}`,
		`{"a":1,}`, `{,"a":1}`, `{"a":1,"a":2}`, `{a:1}`, `{1:1}`, "{}{}", "{} x", "\ufeff{}", " \t\r\n{ \"a\" : [ ] , \"b\" : { } } \n", "\v{}", "\x00"} {
		same(text)
	}
	for _, n := range []int{9_999, 10_000, 10_001} {
		same(strings.Repeat("[", n) + strings.Repeat("]", n))
		same(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
	}
	for _, seed := range seeds.Of(t, 20) {
		r := seeds.Rand(seed)
		for _, g := range codectest.Golden(t) {
			doc := []byte(g.JSON)
			at := r.IntN(len(doc))
			switch r.IntN(3) {
			case 0:
				doc[at] = "{}[]:,\"\\ 0e.-n\x00\xff"[r.IntN(16)]
			case 1:
				doc = doc[:at]
			default:
				doc = append(doc[:at:at], doc[min(at+1, len(doc)):]...)
			}
			if json.Valid(doc) != codec.Valid(doc) {
				require.Failf(t, "differs", "seed %d: encoding/json says %v of %q", seed, json.Valid(doc), doc)
			}
		}
	}
}

func BenchmarkValid(b *testing.B) {
	data, _ := codectest.Pod(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		codec.Valid(data)
	}
}
