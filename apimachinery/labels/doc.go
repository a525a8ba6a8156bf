// Package labels selects objects by their labels.
//
// A Selector is a conjunction of requirements, read from the text form used in
// URLs and on command lines:
//
//	a=b, a==b          the label is there and has the value
//	a!=b               it has another value or is not there
//	a in (x,y)         it is there with one of the values
//	a notin (x,y)      it has none of the values or is not there
//	a, !a              it is there, it is not there
//	a>5, a<5           it is there, is an integer, and compares like that
//
// Selectors are immutable and may be used concurrently. Matching does not
// allocate.
package labels
