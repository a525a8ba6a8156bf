package discoveryv1

import "github.com/keelson-dev/keelson/apimachinery/api/corev1"

// DefaultEndpointSlice sets the name and protocol of ports.
func DefaultEndpointSlice(e *EndpointSlice) {
	for i := range e.Ports {
		p := &e.Ports[i]
		if p.Name == nil {
			p.Name = new("")
		}
		if p.Protocol == nil {
			p.Protocol = new(corev1.ProtocolTCP)
		}
	}
}
