package patch

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Documents are read as encoding/json reads them.
func FuzzDecode(f *testing.F) {
	for _, doc := range []string{` { "a" : [ 1.50 , -0 , 1e400, "x", null , true , [ ] , { } , [[{"b":{}}]] ] , "a\u0062" : "\ud800\n" } `,
		`{"a":1,"a":{"b":2}}`, "{\"\xff\":\"\xfe\"}", `{"":""}`, `{}`, `{"a":"]}\"["}`, `{"a":1}{}`, `null`, `[]`, ``,
		`{"a":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + `}`, `{"a":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		d := json.NewDecoder(strings.NewReader(string(doc)))
		d.UseNumber()
		var want map[string]any
		err := d.Decode(&want)
		if err == nil && want != nil {
			_, err = d.Token()
		}
		got, gotErr := decode(doc, ErrBadDocument)
		if want == nil || err != io.EOF {
			require.ErrorIs(t, gotErr, ErrBadDocument)
			return
		}
		require.NoError(t, gotErr)
		require.Equal(t, want, got)
	})
}
