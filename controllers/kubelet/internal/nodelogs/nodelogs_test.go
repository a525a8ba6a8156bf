package nodelogs

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine is a directory of logs, and a journal of the service kubelet that prints its arguments.
func machine(t *testing.T) (logs string) {
	dir := t.TempDir()
	logs = filepath.Join(dir, "log")
	for path, text := range map[string]string{"log/boot.log": "booted\n", "log/web/web.log": "served\n", "log/plain": "plain\n", "secret": "secret\n"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink("../secret", filepath.Join(logs, "out")))
	program := "#!/bin/sh\nif [ \"$1\" = --field ]; then echo kubelet.service; echo crio.service; exit; fi\necho \"journal $*\"\nexit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journalctl"), []byte(program), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return logs
}

func get(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestQueries(t *testing.T) {
	h := Queries(machine(t))
	const journal = "journal --utc --no-pager --output=short-precise "
	for _, c := range []struct {
		path string
		code int
		want string
	}{
		{"/boot.log", 200, "booted\n"},
		{"/", 200, `<a href="boot.log">boot.log</a>`},
		{"/none.log", 404, "404"},
		{"/?query=kubelet", 200, journal + "--unit=kubelet\n"},
		{"/?query=kubelet&query=crio&tailLines=5&boot=-1", 200, journal + "--pager-end --lines=5 --unit=kubelet --unit=crio --boot -1\n"},
		{"/?query=kubelet&sinceTime=2026-01-02T03:04:05Z&untilTime=2026-01-02T13:04:05Z", 200, journal + "--since=2026-1-2 03:4:5 --until=2026-1-2 13:4:5 --unit=kubelet\n"},
		{"/?query=kubelet&pattern=a%2Bb", 200, journal + "--unit=kubelet --grep=a+b\n"},
		{"/?query=boot", 200, "booted\n"},
		{"/?query=web", 200, "served\n"},
		{"/?query=plain&query=kubelet", 200, journal + "--unit=kubelet\nplain\n"},
		{"/?query=none", 200, "\nlog not found for none\n"},
		{"/?query=boot&tailLines=5", 200, "\noptions present and query resolved to log files for [boot]\ntry without specifying options\n"},
		{"/?query=/boot.log", 406, "path escapes from parent"},
		{"/?query=web/web.log", 200, "served\n"},
		{"/?query=out", 200, "error getting log for out: openat out: path escapes from parent"},
		{"/?query=./out", 406, "path escapes from parent"},
		{"/?query=../secret", 406, "path escapes from parent"},
		{"/?query=web/none", 406, "no such file or directory"},
		{"/?query=", 400, `query: Invalid value: [""]: may not be empty`},
		{"/?query=%20", 400, `query: Invalid value: [" "]: may not be empty`},
		{"/?query=kubelet&sinceTime=x", 400, `sinceTime: Invalid value: "x": invalid time format`},
		{"/?query=kubelet&untilTime=x", 400, `untilTime: Invalid value: "x": invalid time format`},
		{"/?query=kubelet&boot=x", 400, `boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax`},
		{"/?query=kubelet&tailLines=x", 400, `tailLines: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax`},
		{"/?tailLines=5", 406, "query: Required value: cannot be empty with options"},
		{"/boot.log?query=kubelet", 406, "path not allowed in query mode"},
		{"/?query=kubelet&query=a/b", 406, `query: Invalid value: "[a/b], [kubelet]": cannot specify a file and service`},
		{"/?query=a/b&query=c/d", 406, `query: Invalid value: ["a/b","c/d"]: cannot specify more than one file`},
		{"/?query=web/web.log&tailLines=5", 406, `query: Invalid value: ["web/web.log"]: cannot specify file with options`},
		{"/?query=kubelet&sinceTime=2026-01-02T03:04:05Z&untilTime=2026-01-01T03:04:05Z", 406, "untilTime: Invalid value: \"2026-01-01T03:04:05Z\": must be after `sinceTime`"},
		{"/?query=kubelet&boot=1", 406, "boot: Invalid value: 1: must be less than 1"},
		{"/?query=kubelet&tailLines=100001", 406, "tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive"},
		{"/?query=kubelet&pattern=(", 406, `pattern: Invalid value: "("`},
		{"/?query=a&query=b&query=c&query=d&query=e", 406, "query: Too many: 5: must have at most 4 items"},
		{"/?query=" + strings.Repeat("a", 257), 406, "length must be less than 256"},
		{"/?query=" + url.QueryEscape("a;reboot"), 406, "input contains unsupported characters"},
		{"/?query=" + url.QueryEscape("a;b") + "&query=c$d", 406, "[query: Invalid value"},
	} {
		w := get(h, c.path)
		require.Equal(t, c.code, w.Code, "%s: %s", c.path, w.Body)
		require.Contains(t, w.Body.String(), c.want, c.path)
	}
	w := get(h, "/?query=boot", "Accept-Encoding", "gzip")
	require.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
	z, err := gzip.NewReader(w.Body)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, "booted\n", string(b))
}

// Without a journal all services are those of files, and a journal that ends in the middle says so.
func TestNoJournal(t *testing.T) {
	h := Queries(machine(t))
	t.Setenv("PATH", t.TempDir())
	require.Equal(t, "booted\n", get(h, "/?query=boot").Body.String())
	require.Equal(t, "\nlog not found for kubelet\n", get(h, "/?query=kubelet").Body.String())
	var out strings.Builder
	(&query{}).journal(t.Context(), &out, []string{"kubelet"})
	require.Equal(t, "\nerror: journal output not available\n", out.String())
	before := -1
	out.Reset()
	(&query{boot: &before}).journal(t.Context(), &out, []string{"kubelet"})
	require.Empty(t, out.String(), "an earlier start may have none")
}

// Without queries the parameters mean nothing.
func TestFiles(t *testing.T) {
	h := Files(machine(t))
	require.Equal(t, "booted\n", get(h, "/boot.log?query=kubelet").Body.String())
}
