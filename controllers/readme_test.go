package controllers_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, name string) string {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// What the README shows in Go are whole files, which are compiled and tested in examples, so that they
// work when they are copied.
func TestTheReadmeShowsWholeFiles(t *testing.T) {
	blocks := regexp.MustCompile("(?s)\n```go\n(.*?)```\n").FindAllStringSubmatch(read(t, "../README.md"), -1)
	require.Len(t, blocks, 3)
	require.Equal(t, read(t, "../examples/website/main.go"), blocks[0][1])
	require.Equal(t, read(t, "../examples/website/main_test.go"), blocks[1][1])
	require.Equal(t, read(t, "../examples/custom-scheduler/main.go"), blocks[2][1])
}

// The code of the package comment is, line for line, compiled and run by the Example and its test.
func TestTheDocShowsRealCode(t *testing.T) {
	var code strings.Builder
	for line := range strings.Lines(read(t, "doc.go")) {
		if text, ok := strings.CutPrefix(line, "//\t"); ok {
			code.WriteString("\t" + text)
		}
	}
	require.NotEmpty(t, code.String())
	require.Contains(t, read(t, "example_test.go"), code.String())
}
