package registry

// serviceStrategy is the strategy of services.
func (r *Registry) serviceStrategy() Strategy { return Strategy{ReturnsDeleted: true} }
