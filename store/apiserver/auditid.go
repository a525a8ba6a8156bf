package apiserver

import (
	"encoding/hex"
	mathrand "math/rand/v2"
)

// newAuditID is a random UUID. It names a request in logs and guards nothing, so it need not be unguessable.
func newAuditID() string {
	var u [16]byte
	for i, v := range [2]uint64{mathrand.Uint64(), mathrand.Uint64()} {
		for j := range 8 {
			u[8*i+j] = byte(v >> (8 * j))
		}
	}
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	var b [36]byte
	hex.Encode(b[:8], u[:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:], u[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}
