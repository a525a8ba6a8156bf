package kubelet

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFileVariables(t *testing.T) {
	text := "# a comment\n\n  A='one'\nB='two lines\nof $text' # more\r\nC= 'nothing'\nA='again'\nD=''\nE'x='odd'\n\tF='a=b'"
	for key, want := range map[string]string{"A": "one", "B": "two lines\nof $text", "C": "", "D": "", "E'x": "odd", "F": "a=b", "G": ""} {
		got, err := fileVariable(text, key)
		require.NoError(t, err, key)
		require.Equal(t, want, got, key)
	}
	for text, why := range map[string]string{
		"A='1'\nB":          "line 2 has no =",
		"='1'":              "line 1 has no name",
		"A ='1'":            "line 1 has a blank before =",
		"A=1":               "line 1 does not begin with a single quote",
		"A=\"1\"":           "line 1 does not begin with a single quote",
		"X='\n\n'\nA='1":    "line 4 has no end",
		"A='1''2'":          "line 1 there is something else",
		"X='a\nb'c\nA='ok'": "line 1 there is something else",
	} {
		_, err := fileVariable(text, "A")
		if strings.HasPrefix(text, "A='1'\n") {
			require.NoError(t, err, "what comes after the variable is not looked at")
			_, err = fileVariable(text, "Z")
		}
		require.ErrorContains(t, err, why, text)
	}
}

func FuzzFileVariable(f *testing.F) {
	f.Add("A='b'\n", "A")
	f.Add("A='b\n\nc' # d\nB='e'", "B")
	f.Fuzz(func(t *testing.T, text, key string) {
		value, err := fileVariable(text, key)
		if err == nil && value != "" {
			require.Contains(t, strings.ReplaceAll(text, "\r\n", "\n"), key+"='"+value+"'")
		}
	})
}

// Containers may put anything in the place of the file.
func TestFilesOfVariablesThatCannotBeRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "volume")
	require.NoError(t, os.Mkdir(dir, 0o755))
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("good"), []byte("A='b'"), 0o600))
	require.NoError(t, os.WriteFile(dir+"/../secret", []byte("A='secret'"), 0o600))
	require.NoError(t, os.Symlink("good", at("inside")))
	require.NoError(t, os.Symlink("../secret", at("outside")))
	require.NoError(t, os.Mkdir(at("folder"), 0o755))
	require.NoError(t, os.WriteFile(at("huge"), make([]byte, maxEnvFile+1), 0o600))
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	for _, name := range []string{"good", "inside"} {
		text, err := readEnvFile(dir, name)
		require.NoError(t, err, name)
		require.Equal(t, "A='b'", text)
	}
	for _, name := range []string{"outside", "folder", "huge", "pipe", "missing", "../secret"} {
		_, err := readEnvFile(dir, name)
		require.Error(t, err, name)
	}
}
