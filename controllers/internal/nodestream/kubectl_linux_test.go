package nodestream

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// pseudoTerminal returns both ends of a terminal of a size.
func pseudoTerminal(t *testing.T, width, height uint16) (master, slave *os.File) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

// TestKubectlInATerminal: its size reaches a node that refuses WebSockets.
func TestKubectlInATerminal(t *testing.T) {
	startKubectlSite(t).each(t, func(t *testing.T, minor int, k *kubectl) {
		master, slave := pseudoTerminal(t, 132, 43)
		c := k.command(t, "exec", "-it", "p", "--", "size")
		c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
		require.NoError(t, c.Start())
		require.NoError(t, slave.Close()) // so that reads end with the process
		readUntil(t, master, regexp.MustCompile("132x43"))
		require.NoError(t, c.Wait())
		k.sees(t, spoken(minor, 29), "SPDY/3.1")
	})
}
