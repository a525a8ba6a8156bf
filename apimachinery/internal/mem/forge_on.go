//go:build !keelson_safe

package mem

// Safe says that nothing relies on the layout of values that the language keeps opaque.
const Safe = false
