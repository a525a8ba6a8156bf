// Package proto reads and writes Kubernetes protobuf by plans of Go types.
//
// A [Reader] takes offsets in the input. A [Writer] writes a message from its end to its start: the length of
// a nested message is known when its prefix is written. A [Part] reads some members and checks the others.
package proto
