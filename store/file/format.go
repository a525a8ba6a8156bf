package file

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
)

// A file is fileMark, 12 random bytes and the checksum of all before it (in a file with formerMark: 16 random
// bytes), and then frames. A frame is the data of one sync: frameMark, the length of its records and a
// checksum (each 4 bytes, little-endian), then the records. The checksum is the CRC-32C of the file's first
// 32 bytes, the frame's place in the file, the length and the records, so that bytes inside a value that look
// like a frame are not one. The first frames are a snapshot: its keys and, as the last record, its revision.
// All later ones hold commits. Numbers in records are varints, byte strings are preceded by their length.
var (
	fileMark   = []byte("keelson store 2\n")
	formerMark = []byte("keelson store 1\n")
	frameMark  = []byte{0xf5, 'K', 'e', 'l'}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

const (
	startBytes  = 32 // of the file's own header
	headerBytes = 12
)

// The kinds of records.
const (
	recordKey      = 1 // key, value, revision, create revision, deadline
	recordSnapshot = 2 // revision
	recordCommit   = 3 // revision, number of changes; each: type, key, and for a Put value and deadline
)

// beginFrame appends space for a frame's header, which endFrame fills in.
func beginFrame(b []byte) []byte { return append(b, make([]byte, headerBytes)...) }

// identity is the checksum of a file's random bytes.
type identity uint32

// newStart returns the start of a new file.
func newStart() ([]byte, identity) {
	start := make([]byte, startBytes)
	_, _ = rand.Read(start[copy(start, fileMark):]) // never fails
	seal(start)
	return start, identityOf(start)
}

// seal puts the checksum at the end of the start of a file. Without it, damage in the start would make every
// frame look half written.
func seal(start []byte) {
	binary.LittleEndian.PutUint32(start[startBytes-4:], crc32.Checksum(start[:startBytes-4], castagnoli))
}

func sealed(start []byte) bool {
	return binary.LittleEndian.Uint32(start[startBytes-4:]) == crc32.Checksum(start[:startBytes-4], castagnoli)
}

func identityOf(start []byte) identity { return identity(crc32.Checksum(start, castagnoli)) }

// endFrame fills in the header of a frame that begins at an offset.
func (id identity) endFrame(frame []byte, at int64) {
	copy(frame, frameMark)
	binary.LittleEndian.PutUint32(frame[4:], uint32(len(frame)-headerBytes))
	binary.LittleEndian.PutUint32(frame[8:], id.checksum(frame, at))
}

func (id identity) checksum(frame []byte, at int64) uint32 {
	var place [12]byte
	binary.LittleEndian.PutUint64(place[:], uint64(at))
	copy(place[8:], frame[4:8])
	return crc32.Update(crc32.Update(uint32(id), castagnoli, place[:]), castagnoli, frame[headerBytes:])
}

func appendBytes[T string | []byte](b []byte, v T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

// appendTime writes Unix nanoseconds; zero is the zero time.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendVarint(b, t.UnixNano())
}

func appendKey(b []byte, kv store.KV, deadline time.Time) []byte {
	b = append(b, recordKey)
	b = appendBytes(b, kv.Key)
	b = appendBytes(b, kv.Value)
	b = binary.AppendUvarint(b, uint64(kv.Revision))
	b = binary.AppendUvarint(b, uint64(kv.CreateRevision))
	return appendTime(b, deadline)
}

func appendSnapshot(b []byte, revision int64) []byte {
	return binary.AppendUvarint(append(b, recordSnapshot), uint64(revision))
}

func appendCommit(b []byte, e memory.Entry) []byte {
	b = binary.AppendUvarint(append(b, recordCommit), uint64(e.Revision))
	b = binary.AppendUvarint(b, uint64(len(e.Changes)))
	for _, c := range e.Changes {
		b = append(b, byte(c.Type))
		b = appendBytes(b, c.Key)
		if c.Type == store.Put {
			b = appendBytes(b, c.Value)
			b = appendTime(b, c.Deadline)
		}
	}
	return b
}

// contents is the decoded content of a file.
type contents struct {
	id          identity
	snapshot    int64 // revision of the snapshot; 1 for a new store
	keys        []key
	commits     []memory.Entry
	revision    int64 // of the last commit
	snapshotEnd int64 // where the snapshot's frames end
	end         int64 // where the last whole frame ends; 0 for an empty file
}

type key struct {
	kv       store.KV
	deadline time.Time
}

func (c *contents) all(yield func(store.KV, time.Time) bool) {
	for _, k := range c.keys {
		if !yield(k.kv, k.deadline) {
			return
		}
	}
}

func (c *contents) entries(yield func(memory.Entry) bool) { slices.Values(c.commits)(yield) }

var _ iter.Seq[memory.Entry] = (*contents)(nil).entries

// read reads a file. A broken frame that no valid one follows is due to a crash: contents end before it.
func read(f io.ReaderAt, path string) (*contents, error) {
	c := &contents{snapshot: 1, revision: 1}
	corrupt := func(at int64, reason string) error { return &CorruptError{Path: path, Offset: at, Reason: reason} }
	start := make([]byte, startBytes+1)
	n, err := f.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if mark := start[:min(n, len(fileMark))]; !bytes.HasPrefix(fileMark, mark) && !bytes.HasPrefix(formerMark, mark) {
		return nil, corrupt(0, "it is not a file of this store, or of a later version")
	}
	if whole := bytes.HasPrefix(start, formerMark) || sealed(start[:startBytes]); n < startBytes || n == startBytes && !whole {
		return c, nil // a crash interrupted its creation
	} else if !whole {
		return nil, corrupt(0, "its identity is damaged")
	}
	start = start[:startBytes]
	c.id, c.end, c.snapshotEnd = identityOf(start), startBytes, startBytes
	for {
		frame, err := c.id.readFrame(f, c.end)
		if err != nil {
			return nil, err
		}
		if frame == nil {
			break
		}
		if reason := c.add(frame[headerBytes:]); reason != "" {
			return nil, corrupt(c.end, reason)
		}
		c.end += int64(len(frame))
		if len(c.commits) == 0 {
			c.snapshotEnd = c.end
		}
	}
	if len(c.keys) > 0 && c.snapshot == 1 {
		// A file is renamed only when it is complete.
		return nil, corrupt(c.end, "the snapshot has no end")
	}
	at, err := c.id.nextFrame(f, c.end)
	if err != nil {
		return nil, err
	}
	if at > 0 {
		return nil, corrupt(c.end, fmt.Sprintf("a frame is broken, and a whole one follows at %d", at))
	}
	return c, nil
}

// readFrame returns the frame at an offset, or nil if there is no whole one.
func (id identity) readFrame(f io.ReaderAt, at int64) ([]byte, error) {
	header := make([]byte, headerBytes)
	if _, err := f.ReadAt(header, at); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(header[4:]))
	if !bytes.Equal(header[:4], frameMark) {
		return nil, nil
	}
	// Read in steps: a broken length must not allocate all memory.
	frame := bytes.NewBuffer(make([]byte, 0, headerBytes+min(length, 1<<16)))
	n, err := io.Copy(frame, io.NewSectionReader(f, at, headerBytes+length))
	if err != nil {
		return nil, err
	}
	if n < headerBytes+length || binary.LittleEndian.Uint32(header[8:]) != id.checksum(frame.Bytes(), at) {
		return nil, nil
	}
	return frame.Bytes(), nil
}

// nextFrame returns where the next whole frame after an offset begins, or 0.
func (id identity) nextFrame(f io.ReaderAt, at int64) (int64, error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, at, 1<<62), 1<<20)
	for ; ; at++ {
		seen, err := r.Peek(len(frameMark))
		if errors.Is(err, io.EOF) {
			return 0, nil
		} else if err != nil {
			return 0, err
		}
		if bytes.Equal(seen, frameMark) {
			if frame, err := id.readFrame(f, at); err != nil || frame != nil {
				return at, err
			}
		}
		if _, err := r.Discard(1); err != nil {
			return 0, err
		}
	}
}

// add reads the records of a frame. It returns the reason if they are invalid, which is not expected, since
// their checksum is correct.
func (c *contents) add(b []byte) string {
	r := records{b: b}
	for len(r.b) > 0 && !r.bad {
		switch kind := r.byte(); kind {
		case recordKey:
			k := key{kv: store.KV{Key: string(r.bytes()), Value: bytes.Clone(r.bytes()), Revision: r.int(), CreateRevision: r.int()}, deadline: r.time()}
			if c.snapshot != 1 || len(c.commits) > 0 {
				return "a key follows the snapshot"
			}
			c.keys = append(c.keys, k)
		case recordSnapshot:
			if c.snapshot != 1 || len(c.commits) > 0 {
				return "there are two snapshots"
			}
			c.snapshot = r.int()
			c.revision = c.snapshot
		case recordCommit:
			e := memory.Entry{Revision: r.int()}
			n := r.int()
			for range n {
				if r.bad || len(r.b) == 0 {
					return "a commit ends too early"
				}
				change := memory.Change{Type: store.EventType(r.byte()), Key: string(r.bytes())}
				switch change.Type {
				case store.Put:
					change.Value, change.Deadline = bytes.Clone(r.bytes()), r.time()
				case store.Delete:
				default:
					return "a change is of an unknown type"
				}
				e.Changes = append(e.Changes, change)
			}
			if e.Revision != c.revision+1 {
				return fmt.Sprintf("commit %d follows %d", e.Revision, c.revision)
			}
			c.revision = e.Revision
			c.commits = append(c.commits, e)
		default:
			return fmt.Sprintf("there is a record of the unknown kind %d", kind)
		}
	}
	if r.bad {
		return "a record ends too early"
	}
	return ""
}

// records decodes the parts of records. After a part that is missing, all further ones are zero.
type records struct {
	b   []byte
	bad bool
}

func (r *records) fail() {
	r.b, r.bad = nil, true
}

func (r *records) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *records) int() int64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<62 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return int64(v)
}

func (r *records) bytes() []byte {
	n := r.int()
	if n > int64(len(r.b)) {
		r.fail()
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *records) time() time.Time {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return time.Time{}
	}
	r.b = r.b[n:]
	if v == 0 {
		return time.Time{}
	}
	return time.Unix(0, v)
}

// syncDir makes the names in a directory durable, where the system supports it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return ignoreUnsupported(d.Sync())
}
