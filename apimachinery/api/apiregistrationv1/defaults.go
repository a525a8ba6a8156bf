package apiregistrationv1

// DefaultAPIService sets the port of the service.
func DefaultAPIService(a *APIService) {
	if s := a.Spec.Service; s != nil && s.Port == nil {
		s.Port = new(int32(443))
	}
}
