package keelson_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a program outside of this module may cost that uses the toolkit: modules built in, and bytes of the
// stripped program.
const (
	maxModules      = 8
	maxOperatorSize = 10 << 20
	maxHelloSize    = 6 << 20
)

// operatorProgram uses what every operator does.
const operatorProgram = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
	"github.com/keelson-dev/keelson/workqueue"
)

func run(ctx context.Context) error {
	cfg, err := kubeconfig.Load(kubeconfig.Options{})
	if err != nil {
		return err
	}
	conn, err := rest.New(cfg, rest.Options{})
	if err != nil {
		return err
	}
	defer conn.Close()
	set := informers.NewSet(conn, informers.SetOptions{})
	queue := workqueue.New(workqueue.Options[types.NamespacedName]{})
	pods := informers.For[*corev1.Pod](set)
	pods.AddHandler(func(e informers.Event[*corev1.Pod]) { queue.Add(e.Key) }, informers.HandlerOptions{})
	elector, err := leaderelection.New(leaselock.New(conn, types.NamespacedName{Namespace: "default", Name: "outside"}, leaselock.Options{}), leaderelection.Options{})
	if err != nil {
		return err
	}
	go func() { _ = set.Run(ctx) }()
	return elector.Run(ctx, func(ctx context.Context) error {
		for {
			key, err := queue.Get(ctx)
			if err != nil {
				return err
			}
			pod, err := client.For[*corev1.Pod](conn).Get(ctx, key)
			fmt.Println(pod, err)
			queue.Done(key)
		}
	})
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
`

// helloProgram decodes a pod and nothing else.
const helloProgram = `package main

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

func main() {
	pod := &corev1.Pod{}
	err := codec.Unmarshal([]byte(` + "`" + `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"hello"}}` + "`" + `), pod)
	fmt.Println(pod.Name, err)
}
`

// TestOutsideModule builds programs in a module of their own, as a user's is, and looks at what they carry.
func TestOutsideModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds of an outside module: -short")
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("go.mod", "module example.com/outside\n\ngo 1.26.0\n\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+here+"\n")
	sums, err := os.ReadFile("go.sum") // so that nothing has to be asked of a checksum database
	require.NoError(t, err)
	write("go.sum", string(sums))
	write("operator/main.go", operatorProgram)
	write("hello/main.go", helloProgram)
	gotool := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %v: %s", args, out)
		return string(out)
	}
	size := func(name string) int64 {
		gotool("build", "-ldflags=-s -w", "-o", name+".out", "./"+name)
		info, err := os.Stat(filepath.Join(dir, name+".out"))
		require.NoError(t, err)
		return info.Size()
	}
	operator := size("operator")
	var modules []string
	for line := range strings.Lines(gotool("version", "-m", "operator.out")) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "dep" {
			modules = append(modules, f[1])
		}
	}
	hello := size("hello")
	t.Logf("operator: %.1f MB of %d modules %v; hello: %.1f MB", float64(operator)/(1<<20), len(modules), modules, float64(hello)/(1<<20))
	require.Contains(t, modules, module)
	require.LessOrEqual(t, len(modules), maxModules, "%v", modules)
	require.LessOrEqual(t, operator, int64(maxOperatorSize))
	require.LessOrEqual(t, hello, int64(maxHelloSize))
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "hello.out")).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "hello <nil>\n", string(out))
}
