package controllers_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the README shows in Go is, word for word, code that is compiled and run here.
func TestTheReadmeShowsRealCode(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	var code strings.Builder
	for _, file := range []string{"example_test.go", "controllertest/example_test.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		code.Write(text)
	}
	blocks := regexp.MustCompile("(?s)\n```go\n(.*?)```\n").FindAllStringSubmatch(strings.ReplaceAll(string(readme), "\r\n", "\n"), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		require.Contains(t, strings.ReplaceAll(code.String(), "\r\n", "\n"), block[1])
	}
}
