package registry

import (
	"crypto/rand"
	"encoding/binary"
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

// Draw returns a random number, from Options.Draw if that is set.
func (r *Registry) Draw(purpose string) uint64 {
	if draw := r.options.Draw; draw != nil {
		return draw(purpose)
	}
	return mathrand.Uint64()
}

// generatedName returns prefix, truncated if necessary, with a random suffix.
func (r *Resource) generatedName(namespace, prefix string) string {
	if len(prefix) > maxPrefixLength {
		prefix = prefix[:maxPrefixLength]
	}
	n := r.registry.Draw("name " + r.prefix + namespace + "/" + prefix)
	b := make([]byte, 0, len(prefix)+suffixLength)
	b = append(b, prefix...)
	for range suffixLength {
		b = append(b, suffixAlphabet[n%uint64(len(suffixAlphabet))])
		n /= uint64(len(suffixAlphabet))
	}
	return string(b)
}

// newUID returns the UID of a new object of that name.
func (r *Resource) newUID(namespace, name string) types.UID {
	if r.registry.options.Draw == nil {
		return NewUID()
	}
	purpose := "uid " + r.prefix + namespace + "/" + name
	var u [16]byte
	binary.BigEndian.PutUint64(u[:8], r.registry.Draw(purpose))
	binary.BigEndian.PutUint64(u[8:], r.registry.Draw(purpose))
	return formatUID(u)
}

// NewUID returns a random (version 4) UUID.
func NewUID() types.UID {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	return formatUID(u)
}

// formatUID returns the UUID of version 4 with these bits.
func formatUID(u [16]byte) types.UID {
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
