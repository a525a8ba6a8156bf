package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A wrong flag ends the program before it does anything, with an error that refers to --help; help is no
// error.
func TestWrongFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--nonsense"}, 1, "kube-apiserver: unknown flag: --nonsense; see --help\n"},
		{[]string{"--secure-port=zero"}, 1, `kube-apiserver: invalid argument "zero" for "--secure-port" flag: strconv.ParseInt: parsing "zero": invalid syntax; see --help` + "\n"},
		{[]string{"--storage-backend=memory", "stray"}, 1, `kube-apiserver: unexpected argument "stray"; see --help` + "\n"},
		{nil, 1, "kube-apiserver: --etcd-servers is required (or give --storage-backend=memory)\n" +
			"--service-account-signing-key-file is required, with --service-account-issuer (or give, for development, --generate-service-account-key)\n"},
		{[]string{"--etcd-servers=http://127.0.0.1:1"}, 1, "kube-apiserver: --service-account-signing-key-file is required, with --service-account-issuer (or give, for development, --generate-service-account-key)\n"},
		{[]string{"--help"}, 0, ""},
	} {
		cmd := exec.Command(os.Args[0], c.args...)
		cmd.Env = append(os.Environ(), asServer+"=1")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // the exit code is checked below
		require.Equal(t, c.code, cmd.ProcessState.ExitCode(), "%v: %s", c.args, &errs)
		require.Equal(t, c.says, errs.String())
		require.Equal(t, c.code == 0, strings.Contains(out.String(), "--etcd-servers"), "%v", c.args)
	}
}
