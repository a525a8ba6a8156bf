package codec

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// blockSize bounds the blocks strings of one decode are carved from, in bytes,
// and so what one surviving string can keep alive besides itself.
const blockSize = 1024

// A stringBlock allocates strings. The zero value is ready; it must not be shared
// between decode calls.
type stringBlock struct {
	buf  []byte
	used int
}

// keep returns raw as a string of its own. left is roughly how much input is
// still to come, so that the last block is not larger than needed.
func (s *stringBlock) keep(raw []byte, left int) string {
	n := len(raw)
	if n == 0 {
		return ""
	}
	if len(s.buf)-s.used < n {
		if n > blockSize/4 {
			return string(raw)
		}
		s.buf = make([]byte, min(max(left/2, 64, n), blockSize))
		s.used = 0
	}
	at := s.buf[s.used:]
	s.used += copy(at, raw)
	return mem.String(at[:n])
}

const (
	internSlots = 1024
	internMax   = 24 // bytes
)

// interned holds strings that came up before, so that values such as Always or TCP exist once: at most
// internSlots strings of at most internMax bytes.
var interned [internSlots]atomic.Pointer[string]

// intern returns a string equal to raw, most likely one already in memory; ok
// is false if there is none and none was made.
func intern(raw []byte, turn *uint8) (s string, ok bool) {
	n := len(raw)
	if n == 0 || n > internMax {
		return "", n == 0
	}
	slot := &interned[internHash(raw)%internSlots]
	have := slot.Load()
	if have != nil {
		if *have == string(raw) {
			return *have, true
		}
		// Another string has this slot. It is replaced only now and then, so that two
		// that alternate do not cost two allocations each time.
		if *turn++; *turn%8 != 0 {
			return "", false
		}
	}
	return remember(slot, raw), true
}

// internOrCopy is intern, with a copy where there is no string in memory.
func internOrCopy(raw []byte) string {
	var turn uint8
	if s, ok := intern(raw, &turn); ok {
		return s
	}
	return string(raw)
}

// remember is separate from intern so that only storing a string allocates.
//
//go:noinline
func remember(slot *atomic.Pointer[string], raw []byte) string {
	s := string(raw)
	slot.Store(&s)
	return s
}

func internHash(b []byte) uint64 {
	n := len(b)
	var x, y uint64
	switch {
	case n >= 8:
		x = binary.LittleEndian.Uint64(b)
		y = binary.LittleEndian.Uint64(b[n-8:])
		if n > 16 {
			x ^= binary.LittleEndian.Uint64(b[8:]) * 0x9FB21C651E98DF25
		}
	case n >= 4:
		x = uint64(binary.LittleEndian.Uint32(b))
		y = uint64(binary.LittleEndian.Uint32(b[n-4:]))
	default:
		x = uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16
	}
	h := (x ^ uint64(n)*0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
	h = (h ^ h>>31 ^ y) * 0x94D049BB133111EB
	return h >> 40
}
