// Package wire has the framing around encoded objects: the protobuf envelope, watch events and lists. It
// knows no Go types.
//
// The functions are those of package codec with the same names, which documents them.
package wire
