// Package json reads and writes JSON by plans of Go types.
//
// A decoder's methods take an offset in the input and return the offset after what they read, -1 for an
// error; an encoder's append. Both are taken from pools, so that a call allocates only what it returns.
package json
