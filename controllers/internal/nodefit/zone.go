package nodefit

import "github.com/keelson-dev/keelson/apimachinery/api/corev1"

// Zone names the region and the zone of a node, each from its beta label if the node has that. Nodes without
// any of the labels have the same name.
func Zone(n *corev1.Node) string {
	label := func(beta, stable string) string {
		if v, ok := n.Labels[beta]; ok {
			return v
		}
		return n.Labels[stable]
	}
	return label(corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion) + "\x00" + label(corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone)
}
