package registry

import (
	"crypto/rand"
	"encoding/hex"
	mathrand "math/rand/v2"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// suffixAlphabet has no vowels, so that no word results, and no characters that look alike.
const (
	suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"
	suffixLength   = 5
	// A name is at most 63 bytes with its suffix, as a DNS label is.
	maxPrefixLength = 63 - suffixLength
	// nameAttempts bounds the attempts to find a generated name that is free.
	nameAttempts = 8
)

// generatedName returns prefix, truncated if necessary, with a random suffix.
func generatedName(prefix string) string {
	if len(prefix) > maxPrefixLength {
		prefix = prefix[:maxPrefixLength]
	}
	b := make([]byte, 0, len(prefix)+suffixLength)
	b = append(b, prefix...)
	for range suffixLength {
		b = append(b, suffixAlphabet[mathrand.IntN(len(suffixAlphabet))])
	}
	return string(b)
}

// NewUID returns a random (version 4) UUID.
func NewUID() types.UID {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	var b [36]byte
	hex.Encode(b[:8], u[:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:], u[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return types.UID(b[:])
}
