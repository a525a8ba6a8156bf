package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/checkpoint"
)

type state struct {
	Name  string         `json:"name"`
	Count map[string]int `json:"count,omitempty"`
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pods", "uid", "state")
	s, err := checkpoint.Load[state](path)
	require.NoError(t, err)
	require.Nil(t, s)
	want := state{Name: "<a>\u2028", Count: map[string]int{"x": 1}}
	require.NoError(t, checkpoint.Save(path, &want))
	s, err = checkpoint.Load[state](path)
	require.NoError(t, err)
	require.Equal(t, &want, s)
	want.Name = "b"
	require.NoError(t, checkpoint.Save(path, &want))
	s, err = checkpoint.Load[state](path)
	require.NoError(t, err)
	require.Equal(t, &want, s)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// Every single byte that is lost or changed is found out, or changes nothing.
func TestCorruption(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	want := state{Name: "name", Count: map[string]int{"x": 12, "y": 3}}
	require.NoError(t, checkpoint.Save(path, &want))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	check := func(text []byte) {
		require.NoError(t, os.WriteFile(path, text, 0o600))
		s, err := checkpoint.Load[state](path)
		if err == nil {
			require.Equal(t, &want, s, "%s", text)
			return
		}
		require.ErrorIs(t, err, checkpoint.ErrCorrupt)
		require.ErrorContains(t, err, path)
	}
	for i := range whole {
		check(whole[:i])
		changed := []byte(string(whole))
		changed[i]++
		check(changed)
	}
	check([]byte(strings.Replace(string(whole), `"version":1`, `"version":2`, 1)))
	_, err = checkpoint.Load[struct{ Name int }](path)
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	_, err = checkpoint.Load[state](filepath.Dir(path))
	require.Error(t, err)
	require.NotErrorIs(t, err, checkpoint.ErrCorrupt)
}
