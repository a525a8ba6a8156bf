// Package deep copies and compares values by plans of their types.
//
// A copy of an object whose parts have been allocated in the same order before is made in one block, see
// package arena; others are copied part by part.
package deep
