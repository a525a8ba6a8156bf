package component_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/component"
)

// A process that is killed takes its children with it: the pipe that both write to ends.
func TestEndWithParent(t *testing.T) {
	if os.Getenv("COMPONENT_PARENT") != "" {
		child := exec.Command("sleep", "1000")
		child.Stdout = os.Stdout
		component.EndWithParent(child)
		require.NoError(t, child.Start())
		_, err := os.Stdout.WriteString("started\n")
		require.NoError(t, err)
		_ = child.Wait()
		return
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestEndWithParent$")
	parent.Env = append(os.Environ(), "COMPONENT_PARENT=1")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "started\n", line)
	require.NoError(t, parent.Process.Kill())
	_, err = io.ReadAll(lines)
	require.NoError(t, err)
	require.Error(t, parent.Wait(), "it was killed")
}
