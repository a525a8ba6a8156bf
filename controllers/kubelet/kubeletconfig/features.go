package kubeletconfig

import "maps"

// Features returns which features are on, of those that concern this kubelet.
func (c *Configuration) Features() map[string]bool {
	on := maps.Clone(gates)
	maps.Copy(on, c.FeatureGates)
	return on
}

// checkFeatures refuses a feature without one that it needs.
func (c *Configuration) checkFeatures() error {
	var p problems
	p.add(c.FeatureGates[gateBundles] && !c.FeatureGates[gateBundleKind], "featureGates."+gateBundles, "it needs the feature gate %s", gateBundleKind)
	return p.err()
}
