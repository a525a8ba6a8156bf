package scan

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields calls f for every field of a message; v is the content of a length-delimited field, n the
// value of a varint, and [from, to) the whole field.
func fields(b []byte, f func(num protowire.Number, v []byte, n uint64, from, to int) bool) error {
	for i := 0; i < len(b); {
		from := i
		num, typ, n := protowire.ConsumeTag(b[i:])
		if n < 0 {
			return fmt.Errorf("%w: bad tag at byte %d", ErrMalformed, i)
		}
		i += n
		var v []byte
		var u uint64
		switch typ {
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(b[i:])
		case protowire.VarintType:
			u, n = protowire.ConsumeVarint(b[i:])
		default:
			n = protowire.ConsumeFieldValue(num, typ, b[i:])
		}
		if n < 0 {
			return fmt.Errorf("%w: bad field %d at byte %d", ErrMalformed, num, i)
		}
		i += n
		if !f(num, v, u, from, i) {
			return nil
		}
	}
	return nil
}

// ProtoMeta reads the metadata of an object's message. A message field may come in several parts, which add
// up.
func ProtoMeta(b []byte) (Meta, error) {
	var m Meta
	var inner error
	err := fields(b, func(num protowire.Number, v []byte, _ uint64, _, _ int) bool {
		if num == 1 {
			inner = m.readProto(v)
		}
		return inner == nil
	})
	if err == nil {
		err = inner
	}
	return m, err
}

func (m *Meta) readProto(meta []byte) error {
	var inner error
	err := fields(meta, func(num protowire.Number, v []byte, n uint64, from, _ int) bool {
		switch num {
		case 1:
			m.Name = str(v)
		case 3:
			m.Namespace = str(v)
		case 5:
			m.UID = str(v)
		case 6:
			m.ResourceVersion = str(v)
		case 7:
			m.Generation = int64(n)
		case 9:
			m.Terminating = true
		case 11:
			if m.Labels == nil {
				// Entries follow one another: count them once and allocate exactly.
				m.Labels = make([]Pair, 0, countRun(meta[from:], 11))
			}
			k, val, err := entry(v)
			m.Labels, inner = append(m.Labels, Pair{k, val}), err
		case 12:
			if bytes.Contains(v, []byte(initialEventsEnd)) {
				k, val, err := entry(v)
				inner = err
				if k == initialEventsEnd && val == "true" {
					m.InitialEventsEnd = true
				}
			}
		case 14:
			m.Finalizers++
		}
		return inner == nil
	})
	if err == nil {
		err = inner
	}
	return err
}

func countRun(b []byte, want protowire.Number) int {
	n := 0
	_ = fields(b, func(num protowire.Number, _ []byte, _ uint64, _, _ int) bool {
		if num == want {
			n++
		}
		return num == want
	})
	return n
}

func entry(b []byte) (k, v string, err error) {
	err = fields(b, func(num protowire.Number, c []byte, _ uint64, _, _ int) bool {
		switch num {
		case 1:
			k = str(c)
		case 2:
			v = str(c)
		}
		return true
	})
	return k, v, err
}

// ProtoList reads a list's message.
func ProtoList(b []byte, item func(raw []byte)) (version, cont string, remaining int64, err error) {
	var inner error
	err = fields(b, func(num protowire.Number, v []byte, _ uint64, _, _ int) bool {
		switch num {
		case 1:
			inner = fields(v, func(num protowire.Number, v []byte, n uint64, _, _ int) bool {
				switch num {
				case 2:
					version = string(v)
				case 3:
					cont = string(v)
				case 4:
					remaining = int64(n)
				}
				return true
			})
		case 2:
			item(v)
		}
		return inner == nil
	})
	if err == nil {
		err = inner
	}
	return version, cont, remaining, err
}

// ProtoWithoutManaged returns a copy of the object's message without managed fields, of exactly the needed
// size.
func ProtoWithoutManaged(b []byte) []byte {
	const managedFields = 17
	// The first pass computes what is removed: the size must be known before the memory is allocated.
	size, cut := 0, 0
	err := fields(b, func(num protowire.Number, v []byte, _ uint64, from, to int) bool {
		n := to - from
		if num == 1 {
			less := sizeOf(v, managedFields)
			if less < 0 {
				cut = -1
				return false
			}
			if cut += less; less > 0 {
				n = 1 + protowire.SizeBytes(len(v)-less)
			}
		}
		size += n
		return true
	})
	if err != nil || cut <= 0 {
		return bytes.Clone(b)
	}
	out := make([]byte, 0, size)
	_ = fields(b, func(num protowire.Number, v []byte, _ uint64, from, to int) bool {
		less := 0
		if num == 1 {
			less = sizeOf(v, managedFields)
		}
		if less == 0 {
			out = append(out, b[from:to]...)
			return true
		}
		out = protowire.AppendVarint(append(out, 1<<3|2), uint64(len(v)-less))
		_ = fields(v, func(num protowire.Number, _ []byte, _ uint64, from, to int) bool {
			if num != managedFields {
				out = append(out, v[from:to]...)
			}
			return true
		})
		return true
	})
	return out
}

// sizeOf returns how many bytes of a message are fields with a number, -1 if it is malformed.
func sizeOf(b []byte, want protowire.Number) int {
	n := 0
	if fields(b, func(num protowire.Number, _ []byte, _ uint64, from, to int) bool {
		if num == want {
			n += to - from
		}
		return true
	}) != nil {
		return -1
	}
	return n
}
