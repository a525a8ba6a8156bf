// Package plan analyses Go types, so that the encoders, decoders and copiers of codec can walk a value by
// address.
//
// A [Node] is the plan of one type. It has the shape of the type, its fields with their offsets, JSON names
// and protobuf numbers, the methods that define an encoding, and the references that a copy follows. Nodes of
// the types of fields and elements are linked, so that a walk needs no lookup. A node is made at the first
// use of its type, published when all nodes it links to are complete, and does not change after that.
//
// The package reads struct tags and method sets and writes no encoding itself. A node also holds two things
// that are not part of the plan, because a walk has only the node: the recorded allocations of values of the
// type ([Object] and [Node.Layouts]), and a pool for iterating over maps ([Node.GetScratch]). Both may be
// used by many goroutines at once.
package plan
