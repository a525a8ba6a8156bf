package builtin

import (
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/store/columns"
)

var nodeTable = columns.Of(nodeRow, columns.Name(),
	columns.Text("Status", "Ready, NotReady or Unknown, and whether pods are scheduled to it."),
	columns.Text("Roles", "Roles from the node's labels."),
	columns.Age(),
	columns.Text("Version", "Version of the kubelet."),
	columns.Wide(columns.Text("Internal-IP", "Address inside the cluster.")),
	columns.Wide(columns.Text("External-IP", "Address outside the cluster.")),
	columns.Wide(columns.Text("OS-Image", "Operating system.")),
	columns.Wide(columns.Text("Kernel-Version", "Version of the kernel.")),
	columns.Wide(columns.Text("Container-Runtime", "Container runtime and its version.")))

func nodeRow(n *corev1.Node, now time.Time) []any {
	info := &n.Status.NodeInfo
	return []any{
		n.Name, nodeStatus(n), nodeRoles(n), columns.AgeOf(n, now), info.KubeletVersion,
		nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP),
		orElse(info.OSImage, "<unknown>"), orElse(info.KernelVersion, "<unknown>"), orElse(info.ContainerRuntimeVersion, "<unknown>"),
	}
}

func nodeStatus(n *corev1.Node) string {
	status := "Unknown"
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if status = "NotReady"; c.Status == corev1.ConditionTrue {
			status = "Ready"
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

// nodeRoles collects node-role.kubernetes.io/ROLE labels and the value of kubernetes.io/role.
func nodeRoles(n *corev1.Node) string {
	var roles []string
	for k, v := range n.Labels {
		if role, ok := strings.CutPrefix(k, "node-role.kubernetes.io/"); ok {
			v = role
		} else if k != "kubernetes.io/role" {
			continue
		}
		if v != "" && !slices.Contains(roles, v) {
			roles = append(roles, v)
		}
	}
	slices.Sort(roles)
	return orElse(strings.Join(roles, ","), none)
}

func nodeAddress(n *corev1.Node, t corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == t {
			return a.Address
		}
	}
	return none
}
