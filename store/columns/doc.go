// Package columns makes the Table form of objects: what kubectl get prints. Every built-in resource
// has the column names, types, formats and priorities of Kubernetes 1.36, and cells computed from the
// object alone, so a row costs no read of anything else. Custom resources get the columns their
// definition declares through [Custom]; any other resource gets Name and Created At.
//
// Tables are immutable and safe for concurrent use.
package columns
