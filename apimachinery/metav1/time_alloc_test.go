package metav1_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func TestTimesDoNotAllocate(t *testing.T) {
	at, micro := metav1.NewTime(time.Unix(1e9, 0).UTC()), metav1.NewMicroTime(time.Unix(1e9, 5000).UTC())
	text, microText := []byte(`"2026-01-02T03:04:05Z"`), []byte(`"2026-01-02T03:04:05.000006Z"`)
	wire := at.AppendProto(nil)
	buf := make([]byte, 0, 64)
	for name, f := range map[string]func(){
		"Time.AppendJSON":      func() { buf, _ = at.AppendJSON(buf[:0]) },
		"Time.ParseJSON":       func() { _ = at.ParseJSON(text) },
		"Time.AppendProto":     func() { buf = at.AppendProto(buf[:0]); _ = at.SizeProto() },
		"Time.ParseProto":      func() { _ = at.ParseProto(wire) },
		"MicroTime.AppendJSON": func() { buf, _ = micro.AppendJSON(buf[:0]) },
		"MicroTime.ParseJSON":  func() { _ = micro.ParseJSON(microText) },
	} {
		require.Zero(t, testing.AllocsPerRun(100, f), name)
	}
}
