package nodestream

import "sync"

// limited collects output and drops what exceeds its limit. Safe for concurrent use.
type limited struct {
	mu   sync.Mutex
	left int
	buf  []byte
}

func (l *limited) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keep := b[:min(len(b), l.left)]
	l.buf = append(l.buf, keep...)
	l.left -= len(keep)
	return len(b), nil
}

func (l *limited) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf
}
