package mountinfo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEscapesAreDecoded(t *testing.T) {
	all, err := parse(strings.NewReader(`22 1 0:21 / / rw,relatime - ext4 /dev/root rw
23 22 0:22 / /mnt/with\040space rw shared:1 - tmpfs tmpfs rw
24 22 0:22 / /mnt/new\012line\011tab rw - tmpfs tmpfs rw,seclabel,size=1k
25 22 0:22 / /mnt/back\134040slash rw - tmpfs tmpfs rw
short line
`))
	require.NoError(t, err)
	require.Equal(t, []mount{{point: "/"}, {point: "/mnt/with space", shared: true}, {point: "/mnt/new\nline\ttab", labelled: true}, {point: `/mnt/back\040slash`}}, all)
}

func TestShared(t *testing.T) {
	all := []mount{{point: "/"}, {point: "/a", shared: true}, {point: "/a/b"}, {point: "/c"}, {point: "/c", shared: true}}
	for path, want := range map[string]bool{"/": false, "/x": false, "/a": true, "/a/x": true, "/ab": false, "/a/b": false, "/a/b/x": false, "/c/x": true} {
		require.Equal(t, want, shared(all, path), path)
	}
	require.False(t, shared(nil, "/"))
}
