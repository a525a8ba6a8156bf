package cache

import (
	"slices"
	"sort"
)

const (
	// checkpointEvery is about how many changes apart the log keeps a whole snapshot, and so about the most
	// changes that reading an old revision undoes.
	checkpointEvery = 256
	// hotForms is how many of the latest changes keep their encoded forms: those of the events and those of
	// states that are no longer current. What the log holds beyond that is bounded by the size of the stored
	// objects.
	hotForms = 1024
)

// changeLog holds the latest changes, with consecutive sequence numbers and ascending
// revisions.
type changeLog struct {
	limit, limitBytes int

	floor      int64 // every change with a greater revision is in entries
	last       int64 // sequence number of the newest change, in entries or not
	entries    []*change
	bytes      int
	checkpoint int64 // sequence number of the last one
}

// first returns the sequence number of the oldest change in the log.
func (l *changeLog) first() int64 { return l.last - int64(len(l.entries)) + 1 }

// add appends changes after which the state is snap, and drops old ones.
func (l *changeLog) add(changes []*change, snap *Snapshot) {
	if len(changes) == 0 {
		return
	}
	for _, c := range changes {
		l.entries = append(l.entries, c)
		l.bytes += c.size()
	}
	l.last = snap.seq
	if l.last-l.checkpoint >= checkpointEvery {
		l.checkpoint = l.last
		changes[len(changes)-1].after = snap
	}
	cold := len(l.entries) - hotForms
	for i := max(0, cold-len(changes)); i < cold; i++ {
		l.entries[i].dropForms()
	}
	n := 0
	for bytes := l.bytes; n < len(l.entries)-1 && (len(l.entries)-n > l.limit || bytes > l.limitBytes); n++ {
		bytes -= l.entries[n].size()
	}
	l.drop(n)
}

func (l *changeLog) drop(n int) {
	for i, c := range l.entries[:n] {
		l.floor = c.revision()
		l.bytes -= c.size()
		l.entries[i] = nil // append moves the rest to a new array at times
	}
	l.entries = l.entries[n:]
}

// reset drops everything; history begins again at revision floor.
func (l *changeLog) reset(floor int64) {
	l.entries, l.bytes, l.floor, l.checkpoint = nil, 0, floor, l.last
}

// upTo returns the sequence number of the last change up to revision.
func (l *changeLog) upTo(revision int64) int64 {
	n := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].revision() > revision })
	return l.first() + int64(n) - 1
}

// appendFrom appends to buf up to limit changes from seq on, which must not be below first.
func (l *changeLog) appendFrom(buf []*change, seq int64, limit int) []*change {
	i := int(seq - l.first())
	if i >= len(l.entries) {
		return buf
	}
	return append(buf, l.entries[i:min(len(l.entries), i+limit)]...)
}

// since returns a known snapshot not before revision, and the changes to undo from it.
func (l *changeLog) since(revision int64, current *Snapshot) (*Snapshot, []*change) {
	newer := l.entries[int(l.upTo(revision)+1-l.first()):]
	for i, c := range newer {
		if c.after != nil {
			return c.after, slices.Clone(newer[:i+1])
		}
	}
	return current, slices.Clone(newer)
}

// undoChanges undoes changes, the last one first.
func undoChanges(snap *Snapshot, undo []*change, revision int64) *Snapshot {
	items := snap.items
	seq := snap.seq
	if len(undo) > 0 {
		edit := items.Edit()
		for _, c := range slices.Backward(undo) {
			if c.prev == nil {
				edit.Delete(c.obj.Key)
			} else {
				edit.Set(c.prev.Key, c.prev)
			}
		}
		items, seq = edit.Map(), undo[0].seq-1
	}
	return &Snapshot{items: items, revision: revision, changed: revision, seq: seq}
}
