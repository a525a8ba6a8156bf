package admission

import "time"

// Metrics are hooks for measurements. They are called on the request's goroutine and must be quick and safe for concurrent use. Nil functions
// are skipped.
type Metrics struct {
	// Step is called when all plugins of a step have been asked about a request, or one of them has refused it.
	Step func(s Step, op Operation, rejected bool, elapsed time.Duration)
	// Plugin is called when one plugin has been asked; a mutating one is asked again in a second round.
	Plugin func(plugin string, s Step, op Operation, rejected bool, elapsed time.Duration)
}

// Step is a part of admission.
type Step string

// The steps: first plugins may change the object, then they may only refuse it.
const (
	Admitting  Step = "admit"
	Validating Step = "validate"
)
