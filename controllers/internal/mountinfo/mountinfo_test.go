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
25 22 0:22 / /mnt/back\134040slash rw - tmpfs tmpfs rw,context="u:r:t:s0:c1,c2",inode64
26 22 0:23 / /mnt/label rw - tmpfs tmpfs rw,rootcontext=u:r:t:s0,context=u:r:t:s1
short line
`))
	require.NoError(t, err)
	require.Equal(t, []mount{{device: "0:21", point: "/"}, {device: "0:22", point: "/mnt/with space", shared: true}, {device: "0:22", point: "/mnt/new\nline\ttab", labelled: true},
		{device: "0:22", point: `/mnt/back\040slash`, context: "u:r:t:s0:c1,c2"}, {device: "0:23", point: "/mnt/label", context: "u:r:t:s1"}}, all)
	require.Equal(t, []string{"/mnt/with space", `/mnt/back\040slash`}, peers(all, "/mnt/new\nline\ttab"))
	require.Empty(t, peers(all, "/mnt/with space/inside"), "nothing is mounted there")
}

func TestShared(t *testing.T) {
	all := []mount{{point: "/"}, {point: "/a", shared: true}, {point: "/a/b"}, {point: "/c"}, {point: "/c", shared: true}}
	for path, want := range map[string]bool{"/": false, "/x": false, "/a": true, "/a/x": true, "/ab": false, "/a/b": false, "/a/b/x": false, "/c/x": true} {
		require.Equal(t, want, shared(all, path), path)
	}
	require.False(t, shared(nil, "/"))
}
