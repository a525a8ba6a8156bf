package arena

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// blockSize bounds the blocks that the strings of one decode are carved from, in bytes, and thus the memory
// that one string keeps alive besides its own.
const blockSize = 1024

// A StringBlock allocates strings. The zero value is ready; it must not be shared
// between decode calls.
type StringBlock struct {
	buf  []byte
	used int
}

// Keep returns raw as a string. left is about how many bytes of input remain, so that the last block is not
// larger than needed.
func (s *StringBlock) Keep(raw []byte, left int) string {
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

// interned holds strings that occurred before, so that values such as Always or TCP exist once: at most
// internSlots strings of at most internMax bytes.
var interned [internSlots]atomic.Pointer[string]

// Intern returns a string equal to raw, usually one that is in memory already; ok is false if there is none
// and none was made.
func Intern(raw []byte, turn *uint8) (s string, ok bool) {
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
		// Another string has this slot. It is replaced one time in eight, so that two strings that alternate
		// do not cost two allocations each time.
		if *turn++; *turn%8 != 0 {
			return "", false
		}
	}
	return remember(slot, raw), true
}

// InternOrCopy is Intern, but returns a copy of raw if no string is in memory.
func InternOrCopy(raw []byte) string {
	var turn uint8
	if s, ok := Intern(raw, &turn); ok {
		return s
	}
	return string(raw)
}

// remember is separate from Intern so that only storing a string allocates.
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

// MaxKept is the largest scratch buffer kept between calls, in bytes. Definitions of custom resources have 50
// to 200 kB, and are written several times each when they are created.
const MaxKept = 256 << 10
