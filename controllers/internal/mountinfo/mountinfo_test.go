package mountinfo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEscapesAreDecoded(t *testing.T) {
	points, err := parse(strings.NewReader(`22 1 0:21 / / rw,relatime - ext4 /dev/root rw
23 22 0:22 / /mnt/with\040space rw shared:1 - tmpfs tmpfs rw
24 22 0:22 / /mnt/new\012line\011tab rw - tmpfs tmpfs rw
25 22 0:22 / /mnt/back\134040slash rw - tmpfs tmpfs rw
short line
`))
	require.NoError(t, err)
	require.Equal(t, []string{"/", "/mnt/with space", "/mnt/new\nline\ttab", `/mnt/back\040slash`}, points)
}
