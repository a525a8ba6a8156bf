package apiextensionsv1

import "strings"

// DefaultCustomResourceDefinition derives names from the kind, sets the conversion and records the
// storage version as the first one that was stored.
func DefaultCustomResourceDefinition(c *CustomResourceDefinition) {
	s := &c.Spec
	if s.Names.Singular == "" {
		s.Names.Singular = strings.ToLower(s.Names.Kind)
	}
	if s.Names.ListKind == "" && s.Names.Kind != "" {
		s.Names.ListKind = s.Names.Kind + "List"
	}
	if s.Conversion == nil {
		s.Conversion = &CustomResourceConversion{Strategy: NoneConverter}
	}
	if w := s.Conversion.Webhook; w != nil && w.ClientConfig != nil && w.ClientConfig.Service != nil {
		if w.ClientConfig.Service.Port == nil {
			w.ClientConfig.Service.Port = new(int32(443))
		}
	}
	if len(c.Status.StoredVersions) > 0 {
		return
	}
	for i := range s.Versions {
		if s.Versions[i].Storage {
			c.Status.StoredVersions = append(c.Status.StoredVersions, s.Versions[i].Name)
			break
		}
	}
}
