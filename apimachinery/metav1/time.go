package metav1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// RFC3339Micro is the format of MicroTime: RFC 3339 with exactly six fraction digits.
const RFC3339Micro = "2006-01-02T15:04:05.000000Z07:00"

// Time is a time.Time that travels as an RFC 3339 string in UTC with second precision; zero is null.
type Time struct{ time.Time }

// NewTime wraps t.
func NewTime(t time.Time) Time { return Time{t} }

// Now returns the current time.
func Now() Time { return Time{time.Now()} }

// Unix returns the Time of a Unix time.
func Unix(sec, nsec int64) Time { return Time{time.Unix(sec, nsec)} }

// Truncated returns t as it reads back from the wire: whole seconds.
func (t Time) Truncated() Time { return Time{t.Time.Truncate(time.Second)} }

// IsZero reports whether t is nil or the zero time.
func (t *Time) IsZero() bool { return t == nil || t.Time.IsZero() }

// Before reports whether t is before u; nil and zero times are before nothing.
func (t *Time) Before(u *Time) bool {
	return t != nil && u != nil && t.Time.Before(u.Time)
}

// Equal reports whether both are nil or the same instant.
func (t *Time) Equal(u *Time) bool {
	if t == nil || u == nil {
		return t == nil && u == nil
	}
	return t.Time.Equal(u.Time)
}

// AppendJSON appends the wire form.
func (t Time) AppendJSON(b []byte) ([]byte, error) { return appendTime(b, t.Time, time.RFC3339) }

// ParseJSON reads the wire form: an RFC 3339 string or null.
func (t *Time) ParseJSON(b []byte) error { return parseTime(b, &t.Time, time.RFC3339) }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil) }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error { return t.ParseJSON(b) }

// SizeProto is the length of the protobuf form.
func (t Time) SizeProto() int { return sizeTime(t.Time.Unix(), 0, t.Time.IsZero()) }

// AppendProto appends the protobuf form. As upstream it carries seconds only, so that all encodings agree.
func (t Time) AppendProto(b []byte) []byte {
	return appendTimeProto(b, t.Time.Unix(), 0, t.Time.IsZero())
}

// ParseProto reads the protobuf form.
func (t *Time) ParseProto(b []byte) error { return parseTimeProto(b, &t.Time) }

// MicroTime is Time with microsecond precision.
type MicroTime struct{ time.Time }

// NowMicro returns the current time.
func NowMicro() MicroTime { return MicroTime{time.Now()} }

// NewMicroTime wraps t.
func NewMicroTime(t time.Time) MicroTime { return MicroTime{t} }

// IsZero reports whether t is nil or the zero time.
func (t *MicroTime) IsZero() bool { return t == nil || t.Time.IsZero() }

// AppendJSON appends the wire form.
func (t MicroTime) AppendJSON(b []byte) ([]byte, error) { return appendTime(b, t.Time, RFC3339Micro) }

// ParseJSON reads the wire form, which has exactly six digits after the second.
func (t *MicroTime) ParseJSON(b []byte) error { return parseTime(b, &t.Time, RFC3339Micro) }

// MarshalJSON implements json.Marshaler.
func (t MicroTime) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil) }

// UnmarshalJSON implements json.Unmarshaler.
func (t *MicroTime) UnmarshalJSON(b []byte) error { return t.ParseJSON(b) }

func (t MicroTime) nanos() int64 { return int64(t.Time.Nanosecond()) / 1000 * 1000 }

// SizeProto is the length of the protobuf form.
func (t MicroTime) SizeProto() int { return sizeTime(t.Time.Unix(), t.nanos(), t.Time.IsZero()) }

// AppendProto appends the protobuf form, truncated to microseconds.
func (t MicroTime) AppendProto(b []byte) []byte {
	return appendTimeProto(b, t.Time.Unix(), t.nanos(), t.Time.IsZero())
}

// ParseProto reads the protobuf form.
func (t *MicroTime) ParseProto(b []byte) error { return parseTimeProto(b, &t.Time) }

// Duration travels as a Go duration string, such as 1h2m3s.
type Duration struct{ time.Duration }

// AppendJSON appends the wire form.
func (d Duration) AppendJSON(b []byte) ([]byte, error) {
	b = append(b, '"')
	b = append(b, d.String()...)
	return append(b, '"'), nil
}

// ParseJSON reads the wire form.
func (d *Duration) ParseJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return err
	}
	d.Duration = v
	return nil
}

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return d.AppendJSON(nil) }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(b []byte) error { return d.ParseJSON(b) }

// SizeProto is the length of the protobuf form.
func (d Duration) SizeProto() int { return 1 + protowire.SizeVarint(uint64(d.Duration)) }

// AppendProto appends the protobuf form.
func (d Duration) AppendProto(b []byte) []byte {
	return protowire.AppendVarint(append(b, 1<<3), uint64(d.Duration))
}

// ParseProto reads the protobuf form.
func (d *Duration) ParseProto(b []byte) error {
	return eachVarint(b, func(n protowire.Number, v uint64) {
		if n == 1 {
			d.Duration = time.Duration(v)
		}
	})
}

func appendTime(b []byte, t time.Time, format string) ([]byte, error) {
	if t.IsZero() {
		return append(b, "null"...), nil
	}
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, format)
	return append(b, '"'), nil
}

func parseTime(b []byte, t *time.Time, format string) error {
	if bytes.Equal(b, []byte("null")) {
		*t = time.Time{}
		return nil
	}
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("a time is a string, got %.40s", b)
	}
	v, err := time.Parse(format, string(b[1:len(b)-1]))
	if err != nil {
		return err
	}
	*t = v.Local()
	return nil
}

// The zero time is an empty message; otherwise seconds and nanos are both written, even when 0.
func sizeTime(sec, nanos int64, zero bool) int {
	if zero {
		return 0
	}
	return 2 + protowire.SizeVarint(uint64(sec)) + protowire.SizeVarint(uint64(nanos))
}

func appendTimeProto(b []byte, sec, nanos int64, zero bool) []byte {
	if zero {
		return b
	}
	b = protowire.AppendVarint(append(b, 1<<3), uint64(sec))
	return protowire.AppendVarint(append(b, 2<<3), uint64(nanos))
}

func parseTimeProto(b []byte, t *time.Time) error {
	if len(b) == 0 {
		*t = time.Time{}
		return nil
	}
	var sec, nanos int64
	if b[0] == 1<<3 { // nearly all times are seconds and no nanoseconds
		if v, n := protowire.ConsumeVarint(b[1:]); n > 0 && len(b) == n+3 && b[n+1] == 2<<3 && b[n+2] < 0x80 {
			*t = time.Unix(int64(v), int64(b[n+2])).Local()
			return nil
		}
	}
	err := eachVarint(b, func(n protowire.Number, v uint64) {
		switch n {
		case 1:
			sec = int64(v)
		case 2:
			nanos = int64(int32(v))
		}
	})
	if err != nil {
		return err
	}
	*t = time.Unix(sec, nanos).Local()
	return nil
}

// eachVarint walks a message and reports its varint fields; others are skipped.
func eachVarint(b []byte, field func(protowire.Number, uint64)) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if typ != protowire.VarintType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return protowire.ParseError(n)
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		field(num, v)
	}
	return nil
}
