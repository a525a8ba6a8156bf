//go:build gc && go1.26 && !go1.27

package codec

// mapLayoutKnown says that maps are laid out in memory as smallMap says.
const mapLayoutKnown = true
