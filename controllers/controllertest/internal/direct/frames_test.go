package direct_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/controllertest/internal/direct"
	"github.com/keelson-dev/keelson/store/authn"
)

// Events of a watch that were written at once are read in turns of their own.
func TestEventsHaveTurns(t *testing.T) {
	length := func(s string) string { return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s }
	for name, tc := range map[string]struct {
		query, contentType string
		written            []string // each without a pause after the one before
		want               []string // what is read in one instant
	}{
		"JSON":     {"?watch=true", "application/json", []string{"one\ntw", "o\nthree\n"}, []string{"one\n", "two\n", "three\n"}},
		"protobuf": {"?watch=1", "application/vnd.kubernetes.protobuf;stream=watch", []string{length("one") + length("two") + length("")[:2], length("")[2:]}, []string{length("one"), length("two"), length("")}},
		"logs":     {"", "text/plain", []string{"one\ntwo\n"}, []string{"one\ntwo\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := direct.New(context.Background, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", tc.contentType)
					require.NoError(t, http.NewResponseController(w).Flush())
					for _, data := range tc.written {
						_, err := io.WriteString(w, data)
						require.NoError(t, err)
						time.Sleep(time.Second)
					}
				}))
				s.Serialize(1)
				r, err := http.NewRequestWithContext(t.Context(), "GET", "https://server.test/"+tc.query, nil)
				require.NoError(t, err)
				resp, err := s.Transport(&authn.User{Name: "ann"}).RoundTrip(r)
				require.NoError(t, err)
				in := bufio.NewReader(resp.Body)
				var got []string
				var last time.Time
				for {
					if _, err := in.Peek(1); err == io.EOF {
						break
					}
					require.True(t, time.Now().After(last), "each event takes a turn")
					last = time.Now()
					data, err := in.Peek(in.Buffered())
					require.NoError(t, err)
					got = append(got, string(data))
					_, _ = in.Discard(len(data))
				}
				require.Equal(t, tc.want, got)
				require.NoError(t, resp.Body.Close())
				require.NoError(t, s.Close())
			})
		})
	}
}
