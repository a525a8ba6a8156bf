package kubelet_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testFilter finds the kubelet's chains in the packet filter of the namespace.
func (n *realNode) testFilter() {
	out, err := exec.Command("iptables-save").CombinedOutput()
	require.NoError(n.t, err, string(out))
	require.Equal(n.t, 3, strings.Count(string(out), ":KUBE-KUBELET-CANARY - "), "mangle, nat and filter: %s", out)
	require.Contains(n.t, string(out), ":KUBE-IPTABLES-HINT - ")
	require.Contains(n.t, string(out), "-A INPUT -j KUBE-FIREWALL")
	require.Contains(n.t, string(out), `-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`)
	// A second kubelet changes nothing that is there.
	n.stop()
	n.stop = n.startKubelet(false)
	n.until("the canaries are back", has("Ready"), "get", "node", "node1", "--no-headers")
	for range 600 {
		if out, err = exec.Command("iptables-save").CombinedOutput(); strings.Count(string(out), ":KUBE-KUBELET-CANARY - ") == 3 {
			break
		}
	}
	require.NoError(n.t, err)
	require.Equal(n.t, 3, strings.Count(string(out), ":KUBE-KUBELET-CANARY - "), string(out))
	require.Equal(n.t, 3, strings.Count(string(out), "KUBE-FIREWALL\n")+strings.Count(string(out), "-A KUBE-FIREWALL"), string(out))
}

// testOutOfMemory lets a container use more memory than its limit.
func (n *realNode) testOutOfMemory() {
	n.apply(runs("eater", `sh, -c, "tail /dev/zero"`, "limits: {memory: 24Mi}"))
	n.until("the container was killed", is("OOMKilled 137"), "get", "pod", "eater", "-o",
		"jsonpath={.status.containerStatuses[0].lastState.terminated.reason} {.status.containerStatuses[0].lastState.terminated.exitCode}")
	n.kubectl("delete", "pod", "eater")
}

// pluginProcess is a device plugin in a process of its own.
type pluginProcess struct {
	n       *realNode
	in      io.WriteCloser
	answers *bufio.Reader
}

// pluginFolder is the variable that makes TestPluginProcess a plugin.
const pluginFolder = "KEELSON_TEST_PLUGIN"

func (n *realNode) startPlugin() *pluginProcess {
	cmd := exec.Command(os.Args[0], "-test.run=^TestPluginProcess$")
	cmd.Env = append(os.Environ(), pluginFolder+"="+n.dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(n.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(n.t, err)
	require.NoError(n.t, cmd.Start())
	n.t.Cleanup(func() {
		_ = in.Close() // it ends then
		_ = cmd.Wait()
	})
	return &pluginProcess{n: n, in: in, answers: bufio.NewReader(out)}
}

// say makes the plugin do something and waits until it has.
func (p *pluginProcess) say(line string) {
	_, err := io.WriteString(p.in, line+"\n")
	require.NoError(p.n.t, err)
	answer, err := p.answers.ReadString('\n')
	require.NoError(p.n.t, err)
	require.Equal(p.n.t, "done\n", answer)
}

// TestPluginProcess is the device plugin of testPluginProcess: each line that it reads names its devices, or
// makes it register.
func TestPluginProcess(t *testing.T) {
	dir := os.Getenv(pluginFolder)
	if dir == "" {
		t.Skip("started by TestReal")
	}
	p := &plugin{t: t, sockets: &sockets{dir: filepath.Join(dir, "kubelet", "device-plugins")}, name: "gpu", host: dir}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch words := strings.Fields(lines.Text()); words[0] {
		case "devices":
			p.set(words[1:]...)
		case "register":
			if p.server != nil {
				p.server.Stop() // removes the socket
			}
			require.NoError(t, p.serve())
		}
		_, err := os.Stdout.WriteString("done\n")
		require.NoError(t, err)
	}
}

// testPluginProcess gives containers devices of a plugin in another process. A device that is sick is not
// allocatable, and what a container has is known to the next kubelet.
func (n *realNode) testPluginProcess() {
	allocatable := func(want string) {
		n.t.Helper()
		n.until("devices", is(want), "get", "node", "node1", "-o", "jsonpath={.status.allocatable['example\\.com/gpu']}")
	}
	running := func(pod string) {
		n.t.Helper()
		n.until(pod+" runs", is("true"), "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].ready}")
	}
	device := func(pod string) string {
		return strings.TrimSpace(n.kubectl("exec", pod, "--", "sh", "-c", "test -c /dev/x && test -d /lib/dev && echo $DEVICES"))
	}
	p := n.startPlugin()
	p.say("devices d1 d2 d3")
	p.say("register")
	allocatable("3")
	n.apply(sleeper("first", "limits: {example.com/gpu: 1}"))
	running("first")
	require.Equal(n.t, "d1", device("first"))
	p.say("devices d1 d2!Unhealthy d3")
	allocatable("2")
	require.Equal(n.t, "3", strings.TrimSpace(n.kubectl("get", "node", "node1", "-o", "jsonpath={.status.capacity['example\\.com/gpu']}")))

	n.stop()
	n.stop = n.startKubelet(false)
	allocatable("0") // until the plugin registers with this kubelet
	p.say("register")
	allocatable("2")
	n.apply(sleeper("second", "limits: {example.com/gpu: 1}"))
	running("second")
	require.Equal(n.t, "d3", device("second"), "d1 is the first pod's, d2 is sick")
	require.Equal(n.t, "d1", device("first"))
	require.Equal(n.t, "0", strings.TrimSpace(n.kubectl("get", "pod", "first", "-o", "jsonpath={.status.containerStatuses[0].restartCount}")))
	n.apply(sleeper("third", "limits: {example.com/gpu: 1}"))
	n.until("there is no third device", has("OutOfexample.com/gpu"), "get", "pod", "third", "-o", "jsonpath={.status.reason} {.status.message}")
	n.kubectl("delete", "pod", "first", "second", "third")
	require.NoError(n.t, p.in.Close())
	allocatable("0")
}
