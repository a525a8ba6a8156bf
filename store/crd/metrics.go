package crd

import (
	"time"

	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// Metrics are hooks for measurements, which must be fast and safe for concurrent use. Nil functions are
// skipped.
type Metrics struct {
	// Rules are those of the rules in schemas.
	Rules openapi.RuleMetrics
	// Documented is called when the OpenAPI documents of a version of a definition have changed.
	Documented func(definition string, of schema.GroupVersion, c DocumentChange)
	// Converted is called after each conversion by a webhook.
	Converted func(Conversion)
}

// DocumentChange is how a document has changed.
type DocumentChange string

// The changes.
const (
	DocumentAdded   DocumentChange = "add"
	DocumentUpdated DocumentChange = "update"
	DocumentRemoved DocumentChange = "remove"
)

// Conversion is a conversion of objects by the webhook of a definition.
type Conversion struct {
	// Definition is its name. From is the version of the first object, To the one that is wanted.
	Definition, From, To string
	// Failure is empty if it succeeded.
	Failure ConversionFailure
	Elapsed time.Duration
}

// ConversionFailure is the reason of a failed conversion.
type ConversionFailure string

// The reasons.
const (
	CallFailed       ConversionFailure = "conversion_webhook_call_failure"
	ResponseInvalid  ConversionFailure = "conversion_webhook_malformed_response_failure"
	ResponsePartial  ConversionFailure = "conversion_webhook_partial_response_failure"
	ConvertedInvalid ConversionFailure = "conversion_webhook_invalid_converted_object_failure"
)

// conversionError is the error of a failed conversion.
type conversionError struct {
	failure ConversionFailure
	err     error
}

func (e *conversionError) Error() string { return e.err.Error() }
func (e *conversionError) Unwrap() error { return e.err }
