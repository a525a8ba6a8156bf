// Package apierrors holds the errors of the API: a StatusError carries the
// Status object that a server answers with and a client receives.
//
// Servers build them with the NewX functions, whose codes, reasons and first words are those of Kubernetes.
// Clients check errors with the IsX functions, which look through wrapped errors (errors.As) and never panic
// on nil.
package apierrors
