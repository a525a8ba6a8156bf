package kubelet_test

import (
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// testDevices gives a container a device of a plugin, which registers over the sockets in the file system.
func (n *realNode) testDevices() {
	p := &plugin{t: n.t, sockets: &sockets{dir: filepath.Join(n.dir, "kubelet", "device-plugins")}, name: "dev", host: n.dir}
	p.set("d1", "d2")
	require.NoError(n.t, p.serve())
	n.until("the node has devices", is("2"), "get", "node", "node1", "-o", "jsonpath={.status.allocatable['example\\.com/dev']}")
	n.apply(sleeper("devices", "limits: {example.com/dev: 1}"))
	n.until("devices runs", is("true"), "get", "pod", "devices", "-o", "jsonpath={.status.containerStatuses[0].ready}")
	require.Equal(n.t, "d1 ok\n", n.kubectl("exec", "devices", "--", "sh", "-c", "test -c /dev/x && test -d /lib/dev && echo $DEVICES ok"))
	conn, err := pluginapi.Dial(filepath.Join(n.dir, "kubelet", "pod-resources", "kubelet.sock"), pluginapi.DialUnix)
	require.NoError(n.t, err)
	defer conn.Close()
	one, err := pluginapi.Call[pluginapi.OnePodResources](n.t.Context(), conn, "/v1.PodResourcesLister/Get", &pluginapi.PodName{Name: "devices", Namespace: "default"})
	require.NoError(n.t, err)
	require.Equal(n.t, []pluginapi.ContainerDevices{{Resource: "example.com/dev", IDs: []string{"d1"}}}, one.Pod.Containers[0].Devices)
	n.kubectl("delete", "pod", "devices", "--wait=false")
	p.server.Stop()
	n.until("the plugin has ended", is("0"), "get", "node", "node1", "-o", "jsonpath={.status.allocatable['example\\.com/dev']}")
}
