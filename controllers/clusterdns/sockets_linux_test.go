package clusterdns

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// benchServer is the address of the server in the environment of the process that sends queries.
const benchServer = "KEELSON_TEST_DNS_SERVER"

// BenchmarkOverSockets answers 1,000 other names from the cache over UDP on one processor, for clients in
// another process with 16 queries under way. It reports the CPU time of the server for an answer, the answers
// a second that one processor gives at that price, and the 99th percentile of what clients wait. On a machine
// that does other things, these wait for the scheduler most of the time, unless the benchmark has precedence:
//
//	chrt -r 10 go test -run - -bench OverSockets -benchtime 50000x ./controllers/clusterdns
func BenchmarkOverSockets(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	serving(b, c, Options{Upstreams: []string{"192.0.2.1"}}, twoAddresses)
	send := func(n int) (p99 string) {
		cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestSendQueries$")
		cmd.Env = append(os.Environ(), benchServer+"="+c.LocalAddr().String(), "KEELSON_TEST_DNS_QUERIES="+strconv.Itoa(n))
		out, err := cmd.CombinedOutput()
		_, p99, ok := strings.Cut(string(out), "p99 ")
		if err != nil || !ok {
			b.Fatal(err, string(out))
		}
		return strings.Fields(p99)[0]
	}
	send(1000) // fills the cache
	before := ownCPU(b)
	b.ResetTimer()
	p99, err := strconv.ParseFloat(send(b.N), 64)
	if err != nil {
		b.Fatal(err)
	}
	each := float64(ownCPU(b)-before) / float64(time.Microsecond) / float64(b.N)
	b.ReportMetric(each, "cpu-µs/answer")
	b.ReportMetric(1e6/each, "answers/core-s")
	b.ReportMetric(p99, "p99-µs")
}

// ownCPU is the CPU time of this process.
func ownCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestSendQueries is the process that sends the queries of BenchmarkOverSockets.
func TestSendQueries(t *testing.T) {
	server := os.Getenv(benchServer)
	if server == "" {
		t.Skip("only run by BenchmarkOverSockets")
	}
	n, err := strconv.Atoi(os.Getenv("KEELSON_TEST_DNS_QUERIES"))
	require.NoError(t, err)
	const clients = 16
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			conn, err := net.Dial("udp", server)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			queries, buf := namesOfOthers(t), make([]byte, udpSize)
			var mine []time.Duration
			for k := i; k < n; k += clients {
				began := time.Now()
				_ = conn.SetDeadline(began.Add(patience))
				_, err := conn.Write(queries[k%len(queries)])
				if err == nil {
					_, err = conn.Read(buf)
				}
				if err != nil {
					t.Error(err)
					return
				}
				mine = append(mine, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
		})
	}
	wg.Wait()
	if len(took) > 0 {
		slices.Sort(took)
		fmt.Printf("p99 %.0f\n", float64(took[len(took)*99/100])/float64(time.Microsecond))
	}
}
