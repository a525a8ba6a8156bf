package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
	"github.com/keelson-dev/keelson/examples/internal/load"
)

const besideChanges = 20

// besideSizes are the numbers of Services, and of the endpoints of each, that are measured, with the modes of
// this proxy and of kube-proxy. In mode iptables, kube-proxy writes everything in one transaction, whose time
// grows with the square of the chains in it: 6 s of CPU with 1,000 Services, and with 10,000 the first write
// was not done after 6 minutes of CPU in 14 minutes; there are two. In mode nftables each of its changes
// reads the table: 4 s of CPU with 10,000 Services.
var besideSizes = []struct {
	n, endpoints   int
	ours, upstream []proxy.Mode
}{
	{1000, 10, []proxy.Mode{proxy.IPTables, proxy.NFTables}, []proxy.Mode{proxy.IPTables, proxy.NFTables}},
	{10_000, 10, []proxy.Mode{proxy.IPTables, proxy.NFTables}, []proxy.Mode{proxy.NFTables}},
	{50_000, 5, []proxy.Mode{proxy.NFTables}, nil},
}

// TestProxyBeside runs upstream's kube-proxy and this one in network namespaces of their own, with
// besideSizes, over one API server. Both must write a chain or an element for every endpoint, and each change
// of one. The log has a table of what that takes, beside the same changes with the bare program of the mode.
// With KEELSON_FRESH and without KEELSON_PEERS, this proxy is measured alone.
func TestProxyBeside(t *testing.T) {
	theirs := ""
	if os.Getenv("KEELSON_PEERS") != "" || os.Getenv("KEELSON_FRESH") == "" {
		theirs = seeds.Peer(t, "kube-proxy")
	}
	ours := build(t)
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-8s %-8s %-10s | %8s %8s %8s | %8s %8s | %9s %9s %6s | %9s %9s\n", "Services", "mode", "proxy",
		"start s", "own CPU", "all CPU", "restart", "all CPU", "change ms", "all ms", "syncs", "RSS MiB", "floor ms")
	for _, size := range besideSizes {
		for _, mode := range size.ours {
			t.Run(fmt.Sprintf("%d/%s", size.n, mode), func(t *testing.T) {
				b := &beside{t: t, c: controllertest.Start(t, controllertest.Options{}), n: size.n, endpoints: size.endpoints}
				b.fill()
				row := func(name string, f figures) {
					fmt.Fprintf(&table, "%-8d %-8s %-10s | %s\n", size.n, mode, name, f)
					t.Log(table.String()) // as far as it is
				}
				f := b.measure(ours, mode)
				f.floor = b.bare(mode)
				row("keelson", f)
				if theirs != "" && slices.Contains(size.upstream, mode) {
					row("kube-proxy", b.measure(theirs, mode))
				}
			})
		}
	}
}

// beside is an API server with many Services, and the proxies that are measured with it.
type beside struct {
	t    *testing.T
	c    *controllertest.Cluster
	n    int
	node *node // of the proxy that was measured last
	// endpoints is the number of those of each Service.
	endpoints int
}

// objects are the i-th Service and its endpoints.
func (b *beside) objects(i, eps int) (*corev1.Service, *discoveryv1.EndpointSlice) {
	addr := netip.AddrFrom4([4]byte{10, 96, byte(1 + i>>8), byte(i)})
	svc := proxytest.Service(fmt.Sprintf("s%05d", i), addr.String(), func(s *corev1.Service) { s.Namespace = "default" }, proxytest.Port("http", corev1.ProtocolTCP, 80, 0))
	list := make([]proxytest.Endpoint, eps)
	for j := range list {
		list[j] = proxytest.Endpoint{IP: netip.AddrFrom4([4]byte{10, byte(200 + j), byte(i >> 8), byte(i)}).String(), Node: "there"}
	}
	return svc, proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, list...)
}

func (b *beside) fill() {
	for i := range b.n {
		svc, slice := b.objects(i, b.endpoints)
		controllertest.Create(b.c, svc)
		controllertest.Create(b.c, slice)
	}
}

// figures are what was measured of one proxy.
type figures struct {
	start, restart time.Duration
	first, second  load.Usage // after the start and the restart
	change         load.Usage // of all changes together
	syncs          string     // during the changes
	floor          time.Duration
}

func (f figures) String() string {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) / besideChanges }
	return fmt.Sprintf("%8.2f %8.2f %8.2f | %8.2f %8.2f | %9.2f %9.1f %6s | %9.0f %9.1f", f.start.Seconds(), f.first.CPU.Seconds(),
		(f.first.CPU + f.first.Children).Seconds(), f.restart.Seconds(), (f.second.CPU + f.second.Children).Seconds(),
		ms(f.change.CPU), ms(f.change.CPU+f.change.Children), f.syncs, float64(f.second.Resident)/(1<<20), ms(f.floor))
}

// measure starts a proxy twice, changes endpoints one at a time, and applies the same changes with the bare
// program of the mode.
func (b *beside) measure(program string, mode proxy.Mode) (f figures) {
	b.t.Logf("%s %s %d", program, mode, b.n)
	n := newNode(b.t, b.c)
	p := n.start(program, besideConfig(mode))
	f.start, f.first = b.complete(p, mode)
	p.end(syscall.SIGTERM)
	p = n.start(program, besideConfig(mode))
	f.restart, f.second = b.complete(p, mode)

	before := p.syncs()
	p.settle(changeQuiet)
	usage, own := p.usage(), p.precise()
	for i := range besideChanges {
		// One endpoint less, and in the next round the same one more.
		eps := b.endpoints - 1 + i%2
		_, slice := b.objects(b.n/2, eps)
		controllertest.Update(b.c, slice.Namespace, slice.Name, func(s *discoveryv1.EndpointSlice) { s.Endpoints = slice.Endpoints })
		<-time.After(1200 * time.Millisecond) // the least time between writes
		p.settle(changeQuiet)
	}
	b.complete(p, mode) // with many Services, one that is slow is behind
	after := p.usage()
	f.change = load.Usage{CPU: p.precise() - own, Children: after.Children - usage.Children}
	f.syncs = fmt.Sprint(p.syncs() - before)
	p.end(syscall.SIGTERM)
	b.node = n
	return f
}

func besideConfig(mode proxy.Mode) string {
	return fmt.Sprintf("mode: %s\niptables: {syncPeriod: 10m}\nnftables: {syncPeriod: 10m}\n", mode)
}

// bare applies the changes with nft or iptables-restore and returns the CPU time of these.
func (b *beside) bare(mode proxy.Mode) (sum time.Duration) {
	table := proxy.NewTable(proxy.IPv4, proxy.Node{Name: "here"})
	cfg := proxy.Config{Family: proxy.IPv4, MasqueradeBit: 14, DetectLocal: proxy.DetectLocal{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}}}
	svc, slice := b.objects(b.n/2, b.endpoints)
	set(table, svc, slice)
	table.Take()
	argv := map[proxy.Mode][]string{proxy.NFTables: {"nft", "-f", "-"}, proxy.IPTables: {"iptables-restore", "-w", "5", "--noflush", "--counters"}}[mode]
	for i := range besideChanges {
		svc, slice := b.objects(b.n/2, b.endpoints-1+i%2)
		set(table, svc, slice)
		text, err := proxy.Script(mode, cfg, table.Take())
		require.NoError(b.t, err)
		cmd := exec.CommandContext(b.t.Context(), "nsenter", append([]string{"--net=" + b.node.ns, "--"}, argv...)...)
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		require.NoError(b.t, err, "%s: %s", text, out)
		sum += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return sum
}

func set(table *proxy.Table, svc *corev1.Service, slice *discoveryv1.EndpointSlice) {
	table.Set(types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}, svc, []*discoveryv1.EndpointSlice{slice})
}

// rules is the number of endpoints in the kernel.
func (b *beside) rules(n *node, mode proxy.Mode) (found int) {
	argv, words := []string{"iptables-save", "-t", "nat"}, []string{" -j DNAT "}
	if mode == proxy.NFTables {
		argv, words = []string{"nft", "list", "table", "ip", "kube-proxy"}, []string{" . 8080", ":8080"}
	}
	out, err := exec.CommandContext(b.t.Context(), "nsenter", append([]string{"--net=" + n.ns, "--"}, argv...)...).Output()
	if err != nil {
		return 0 // there is no table yet, or it changes
	}
	for _, word := range words {
		found += bytes.Count(out, []byte(word))
	}
	return found
}

// startQuiet and changeQuiet are how long a proxy does nothing when it has started, and after a change.
const startQuiet, changeQuiet = 3 * time.Second, 500 * time.Millisecond

// complete waits until a proxy that was just started is done and all rules are there. It returns how long
// that took and what it cost.
func (b *beside) complete(p *running, mode proxy.Mode) (took time.Duration, usage load.Usage) {
	begun := time.Now()
	for end := begun.Add(time.Hour); ; {
		usage, last := p.settle(startQuiet)
		healthy, _ := p.get("http://127.0.0.1:10256/healthz")
		found := b.rules(p.node, mode)
		if healthy == http.StatusOK && found == b.n*b.endpoints {
			return last.Sub(begun), usage
		}
		require.True(b.t, time.Now().Before(end), "health %d, %d endpoints\n%s", healthy, found, &p.log)
	}
}

// syncs is how many times the proxy has written rules. The page of one that is busy may take long.
func (p *running) syncs() (sum int) {
	code, body := p.get("http://127.0.0.1:10249/metrics")
	for end := time.Now().Add(10 * time.Minute); code != http.StatusOK; {
		require.True(p.t, time.Now().Before(end), "the page of metrics: %d\n%s", code, &p.log)
		<-time.After(time.Second)
		code, body = p.get("http://127.0.0.1:10249/metrics")
	}
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "kubeproxy_sync_proxy_rules_duration_seconds_count") && !strings.Contains(line, "IPv6") {
			var n float64
			_, err := fmt.Sscan(line[strings.LastIndexByte(strings.TrimSpace(line), ' ')+1:], &n)
			require.NoError(p.t, err)
			sum += int(n)
		}
	}
	return sum
}

func (p *running) usage() load.Usage {
	u, err := load.UsageOf(p.cmd.Process.Pid)
	require.NoError(p.t, err, "%s", &p.log)
	return u
}

// precise is the CPU time of the threads of the process, in nanoseconds instead of hundredths of a second. It
// lacks threads that have ended.
func (p *running) precise() (sum time.Duration) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	for _, file := range files {
		var d time.Duration
		if data, err := os.ReadFile(file); err == nil {
			_, _ = fmt.Sscan(string(data), &d)
		}
		sum += d
	}
	return sum
}

// busy reports whether the process has a child, whose CPU time counts when it has ended.
func (p *running) busy() bool {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && len(bytes.TrimSpace(data)) > 0 {
			return true
		}
	}
	return false
}

// settle waits until the process and its children have done nothing for a while, and returns since when.
func (p *running) settle(quiet time.Duration) (last load.Usage, since time.Time) {
	last, since = p.usage(), time.Now()
	for time.Since(since) < quiet {
		<-time.After(50 * time.Millisecond)
		if now := p.usage(); p.busy() || now.CPU+now.Children != last.CPU+last.Children {
			last, since = now, time.Now()
		}
	}
	return last, since
}
