package etcdserver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/keelson-dev/keelson/store"
)

// The layout of the store: a key of etcd may be any bytes, a key of the store begins with a slash.
const (
	keyRoot   = "/key/"
	leaseRoot = "/lease/"
	nowhere   = "/none/" // always empty, to read the revision alone
)

// A value in the store is the key's version and lease as varints, followed by etcd's value: so they are as
// durable as the value, and available at older revisions too.

func encode(version, lease int64, value []byte) []byte {
	b := make([]byte, 0, 2*binary.MaxVarintLen64+len(value))
	b = binary.AppendUvarint(b, uint64(version))
	b = binary.AppendUvarint(b, uint64(lease))
	return append(b, value...)
}

// decode shares the value with kv.
func decode(kv store.KV) (*mvccpb.KeyValue, error) {
	version, n := binary.Uvarint(kv.Value)
	lease, m := uint64(0), 0
	if n > 0 {
		lease, m = binary.Uvarint(kv.Value[n:])
	}
	if n <= 0 || m <= 0 || !strings.HasPrefix(kv.Key, keyRoot) {
		return nil, fmt.Errorf("%w: key %q at revision %d", errForeign, kv.Key, kv.Revision)
	}
	return &mvccpb.KeyValue{
		Key: []byte(kv.Key[len(keyRoot):]), Value: kv.Value[n+m:],
		CreateRevision: kv.CreateRevision, ModRevision: kv.Revision, Version: int64(version), Lease: int64(lease),
	}, nil
}

// errForeign is returned for a value that another client of the store has written.
var errForeign = errors.New("etcdserver: the store has a value that this server did not write")

func leaseKey(id int64) string { return leaseRoot + strconv.FormatInt(id, 16) }

// span is the range of keys of a request.
type span struct {
	from string
	to   string // the first key after it; unused if single or open is set
	// single means the key from alone, open all keys from it on.
	single, open bool
}

func newSpan(key, rangeEnd []byte) span {
	switch {
	case len(rangeEnd) == 0:
		return span{from: string(key), single: true}
	case len(rangeEnd) == 1 && rangeEnd[0] == 0:
		return span{from: string(key), open: true}
	default:
		return span{from: string(key), to: string(rangeEnd)}
	}
}

func (s span) contains(key string) bool {
	switch {
	case s.single:
		return key == s.from
	case s.open:
		return key >= s.from
	default:
		return key >= s.from && key < s.to
	}
}

func (s span) empty() bool { return !s.single && !s.open && s.from >= s.to }

// prefix returns the longest common prefix of its keys. exact reports whether every key from s.from on with
// that prefix is in the span, so that no other bound is needed.
func (s span) prefix() (prefix string, exact bool) {
	switch {
	case s.single:
		return s.from, false
	case s.open:
		return "", true
	}
	// The span ends where the keys with some prefix end if its end is that prefix with its last byte raised
	// by one.
	if last := len(s.to) - 1; last >= 0 && s.to[last] > 0 {
		if p := s.to[:last] + string([]byte{s.to[last] - 1}); strings.HasPrefix(s.from, p) {
			return p, true
		}
	}
	n := 0
	for n < len(s.from) && n < len(s.to) && s.from[n] == s.to[n] {
		n++
	}
	return s.from[:n], false
}
