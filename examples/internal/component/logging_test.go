package component

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// The JSON format has the keys of Kubernetes' logs, and -v says which lines there are.
func TestLogging(t *testing.T) {
	f := pflag.NewFlagSet("a-component", pflag.ContinueOnError)
	l := Logging{}
	l.Flags(f)
	require.NoError(t, f.Parse([]string{"--logging-format=json", "-v2", "--log-flush-frequency=5s"}))
	require.NoError(t, l.Validate())
	var out strings.Builder
	log := l.logger(&out, levelOf(l.Verbosity))
	log.Debug("left out")
	log.Info("pod started", "name", "a", "v", "kept")
	log.Error("start pod failed", "err", errors.New("no image"))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &line))
	require.IsType(t, 0.0, line["ts"])
	require.Equal(t, "pod started", line["msg"])
	require.Equal(t, "a", line["name"])
	clear(line)
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &line))
	require.Equal(t, "error", line["level"])
	require.Equal(t, "no image", line["err"])
	require.NotContains(t, line, "v")
	require.ErrorContains(t, (&Logging{Format: "yaml"}).Validate(), "want text or json")
	require.Error(t, f.Parse([]string{"--vmodule=a=1"}))
}
