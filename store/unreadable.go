package store

import (
	"bytes"
	"errors"
)

// unreadable begins a value that stands for one that cannot be read. No encoding of objects begins so.
const unreadable = "\x00store: unreadable\x00"

// Unreadable returns a value that stands for a stored one that cannot be read, such as one that was encrypted
// with an unknown key. A Store that transforms values returns it, so that one such value does not make the
// others inaccessible.
func Unreadable(err error) []byte { return []byte(unreadable + err.Error()) }

// ReadError returns the error if the value was made by Unreadable, nil for all others.
func ReadError(value []byte) error {
	if text, ok := bytes.CutPrefix(value, []byte(unreadable)); ok {
		return errors.New(string(text))
	}
	return nil
}
