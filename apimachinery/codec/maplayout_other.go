//go:build !(gc && go1.26 && !go1.27)

package codec

// mapLayoutKnown says that how this compiler lays out maps was not looked into. Maps are then made one by
// one; all else is the same.
const mapLayoutKnown = false
