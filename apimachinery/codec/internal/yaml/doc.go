// Package yaml converts YAML to JSON and back, with bounds on what a document may expand to, and splits
// streams of documents.
package yaml
