package yaml_test

import (
	"encoding/base64"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

func TestYAMLThatExpands(t *testing.T) {
	const mib = 1 << 20
	list := func(alias string, n int) string { return "[" + strings.Repeat(alias+",", n) + alias + "]" }
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 ha\n")
	for i := range 9 {
		prev, next := string(rune('0'+i)), string(rune('1'+i))
		laughs.WriteString("a" + next + ": &a" + next + " " + list("*a"+prev, 9) + "\n")
	}
	for name, text := range map[string]string{
		"a long scalar":      "a: &a \"" + strings.Repeat("x", mib) + "\"\nb: " + list("*a", 400),
		"escaped characters": "a: &a \"" + strings.Repeat("<", mib) + "\"\nb: " + list("*a", 30),
		"a long key":         "a: &a \"" + strings.Repeat("x", mib) + "\"\nb: " + list("{*a : 1}", 400),
		"binary":             "a: &a !!binary \"" + base64.StdEncoding.EncodeToString(make([]byte, mib)) + "\"\nb: " + list("*a", 1000),
		"a long number":      "a: &a 1" + strings.Repeat("_1", mib/2) + "\nb: " + list("*a", 1000),
		"billion laughs":     laughs.String(),
		"itself":             "a: &a [*a]",
		"merged maps":        "a: &a {k: \"" + strings.Repeat("x", mib) + "\"}\nb: " + list("{<<: *a}", 400),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := codec.YAMLToJSON([]byte(text))
		runtime.ReadMemStats(&after)
		var decode *codec.DecodeError
		require.ErrorAs(t, err, &decode, name)
		require.LessOrEqual(t, (after.TotalAlloc-before.TotalAlloc)/mib, uint64(256), name)
	}
	got, err := codec.YAMLToJSON([]byte("a: &a {x: 1, z: [true, null, s]}\nb: *a\nc:\n  <<: *a\n  x: 2\n"))
	require.NoError(t, err)
	require.JSONEq(t, `{"a":{"x":1,"z":[true,null,"s"]},"b":{"x":1,"z":[true,null,"s"]},"c":{"x":2,"z":[true,null,"s"]}}`, string(got))
	_, err = codec.YAMLToJSON([]byte("a: &a \"" + strings.Repeat("x", mib) + "\"\nb: " + list("*a", 400)))
	require.True(t, errors.Is(err, codec.ErrTooLarge))
}
