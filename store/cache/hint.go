package cache

import (
	"bytes"
	"sync"
)

// maxHints bounds the hints that wait for their event. Those of failed writes are replaced by later ones.
const maxHints = 1024

// hints are attributes of values that are about to be written.
type hints struct {
	mu    sync.Mutex
	byKey map[string]hint
}

type hint struct {
	value []byte
	attrs Attrs
}

// Hint passes the attributes of a value that the caller is about to store under key and has decoded anyway:
// when the event arrives with the same bytes, Options.Attributes is not called. A hint is optional, and one
// whose write fails does no harm. Neither value nor attrs may be modified afterwards.
func (c *Cache) Hint(key string, value []byte, attrs Attrs) {
	select {
	case <-c.ready:
	default:
		return // no event will consume it
	}
	c.hints.mu.Lock()
	defer c.hints.mu.Unlock()
	if c.hints.byKey == nil {
		c.hints.byKey = map[string]hint{}
	}
	if len(c.hints.byKey) >= maxHints {
		for old := range c.hints.byKey {
			delete(c.hints.byKey, old)
			break
		}
	}
	c.hints.byKey[key] = hint{value: value, attrs: attrs}
}

// take returns and removes the hint for a key, if it is for these bytes.
func (h *hints) take(key string, value []byte) (Attrs, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, ok := h.byKey[key]
	if !ok || !bytes.Equal(found.value, value) {
		return Attrs{}, false
	}
	delete(h.byKey, key)
	return found.attrs, true
}
