package mountinfo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEscapesAreDecoded(t *testing.T) {
	all, err := parse(strings.NewReader(`22 1 0:21 / / rw,relatime - ext4 /dev/root rw
23 22 0:22 / /mnt/with\040space rw shared:1 - tmpfs tmpfs rw
24 22 0:22 / /mnt/new\012line\011tab rw - tmpfs tmpfs rw
25 22 0:22 / /mnt/back\134040slash rw - tmpfs tmpfs rw
short line
`))
	require.NoError(t, err)
	require.Equal(t, []mount{{"/", false}, {"/mnt/with space", true}, {"/mnt/new\nline\ttab", false}, {`/mnt/back\040slash`, false}}, all)
}

func TestShared(t *testing.T) {
	all := []mount{{"/", false}, {"/a", true}, {"/a/b", false}, {"/c", false}, {"/c", true}}
	for path, want := range map[string]bool{"/": false, "/x": false, "/a": true, "/a/x": true, "/ab": false, "/a/b": false, "/a/b/x": false, "/c/x": true} {
		require.Equal(t, want, shared(all, path), path)
	}
	require.False(t, shared(nil, "/"))
}
