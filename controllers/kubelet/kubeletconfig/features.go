package kubeletconfig

import "maps"

// Features returns which features are on, of those that concern this kubelet.
func (c *Configuration) Features() map[string]bool {
	on := maps.Clone(gates)
	maps.Copy(on, c.FeatureGates)
	return on
}
