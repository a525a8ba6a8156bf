package interop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// BenchmarkClusterStart is a cluster from nothing to its first answer and its end, and the memory of the
// processes of one that runs. KEELSON_PEERS names the folder of upstream's kube-apiserver and of etcd, for
// envtest.
func BenchmarkClusterStart(b *testing.B) {
	b.Run("keelson", func(b *testing.B) {
		before := residentMiB(b, os.Getpid())
		for b.Loop() {
			c, err := controllertest.New(context.Background(), controllertest.Options{})
			require.NoError(b, err)
			firstAnswer(b, kubernetes.NewForConfigOrDie(clientGo(c, protoType)))
			b.ReportMetric(residentMiB(b, os.Getpid())-before, "RSS-MiB")
			require.NoError(b, c.Close())
		}
	})
	b.Run("upstream", func(b *testing.B) {
		peers := filepath.Dir(seeds.Peer(b, "kube-apiserver"))
		for b.Loop() {
			env := &envtest.Environment{BinaryAssetsDirectory: peers}
			cfg, err := env.Start()
			require.NoError(b, err)
			firstAnswer(b, kubernetes.NewForConfigOrDie(cfg))
			b.ReportMetric(childrenMiB(b), "RSS-MiB")
			require.NoError(b, env.Stop())
		}
	})
}

func firstAnswer(b *testing.B, cs *kubernetes.Clientset) {
	_, err := cs.CoreV1().Namespaces().Get(b.Context(), "default", metav1.GetOptions{})
	require.NoError(b, err)
}

// residentMiB returns the resident memory of a process.
func residentMiB(b *testing.B, pid int) float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		b.Skip("only Linux says how much memory a process has: ", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	require.NoError(b, err)
	return float64(pages*os.Getpagesize()) / (1 << 20)
}

// childrenMiB returns that of the child processes together.
func childrenMiB(b *testing.B) (sum float64) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(b, err)
	for _, file := range stats {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := bytes.Cut(data[bytes.LastIndexByte(data, ')'):], []byte(" "))
		if fields := strings.Fields(string(rest)); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(b, err)
			sum += residentMiB(b, pid)
		}
	}
	return sum
}
