package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKernelParameters(t *testing.T) {
	dir := t.TempDir()
	set := func(name, value string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(value+"\n"), 0o600))
	}
	for _, p := range kernelParameters {
		set(p.name, fmt.Sprint(p.want))
	}
	require.NoError(t, checkKernelParameters(dir))
	set("vm/overcommit_memory", "0")
	set("kernel/panic", "x")
	require.NoError(t, os.Remove(filepath.Join(dir, "kernel/panic_on_oops")))
	err := checkKernelParameters(dir)
	require.ErrorContains(t, err, "invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0")
	require.ErrorContains(t, err, `kernel flag kernel/panic: strconv.Atoi: parsing "x"`)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A kubelet that protects the defaults does not start on a machine with others.
func TestProtectKernelDefaults(t *testing.T) {
	dir := t.TempDir()
	k, err := New(nil, Options{NodeName: "n1", RootDir: dir, LogDir: filepath.Join(dir, "logs"), ProtectKernelDefaults: true})
	require.NoError(t, err)
	k.kernelDir = filepath.Join(dir, "none")
	err = k.Run(t.Context())
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "kubelet: protectKernelDefaults: ")
	require.ErrorContains(t, err, "kernel/panic_on_oops")
}
