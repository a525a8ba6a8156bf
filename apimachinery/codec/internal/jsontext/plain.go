package jsontext

import (
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// plainObjects reports whether b is certainly one compact object that holds only objects, with names in which
// encoding/json escapes only quotes and backslashes. Sets of owned fields are such objects, and often as
// large as the rest of an object.
func plainObjects(b []byte) bool {
	depth, i := 0, 0
	for {
		if i+1 >= len(b) || b[i] != '{' {
			return false
		}
		if i++; b[i] == '}' {
			for i++; i < len(b) && b[i] == '}' && depth > 0; i++ {
				depth--
			}
			if depth == 0 || i == len(b) || b[i] != ',' {
				return depth == 0 && i == len(b)
			}
			i++
		} else if depth++; depth == failure.MaxDepth {
			return false
		}
		end := plainName(b, i)
		if end < 0 || end == len(b) || b[end] != ':' {
			return false
		}
		i = end + 1
	}
}

// plainName returns the end of the string that begins at i, or -1 if there is none or it holds anything but
// plain characters and escaped quotes and backslashes.
func plainName(b []byte, i int) int {
	if i == len(b) || b[i] != '"' {
		return -1
	}
	for i++; ; i += 2 {
		rest := b[i:]
		i += plainLen(mem.String(rest))
		switch {
		case i < len(b) && b[i] == '"':
			return i + 1
		case i+1 >= len(b) || b[i] != '\\' || b[i+1] != '"' && b[i+1] != '\\':
			return -1
		}
	}
}
