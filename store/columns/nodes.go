package columns

import (
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

var nodeTable = Of(nodeRow, name(),
	text("Status", "Ready, NotReady or Unknown, and whether pods are scheduled to it."),
	text("Roles", "Roles from the node's labels."),
	age(),
	text("Version", "Version of the kubelet."),
	wide(text("Internal-IP", "Address inside the cluster.")),
	wide(text("External-IP", "Address outside the cluster.")),
	wide(text("OS-Image", "Operating system.")),
	wide(text("Kernel-Version", "Version of the kernel.")),
	wide(text("Container-Runtime", "Container runtime and its version.")))

func nodeRow(n *corev1.Node, now time.Time) []any {
	info := &n.Status.NodeInfo
	return []any{
		n.Name, nodeStatus(n), nodeRoles(n), ageOf(n, now), info.KubeletVersion,
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
