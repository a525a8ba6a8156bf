package deep

import (
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// Copy returns a copy of the value of type n at src. The error is a TypeError: for n, or for a value in an
// interface. It panics with an error wrapping ErrTooDeep if the value is cyclic, as the other functions do.
func Copy(n *plan.Node, src mem.Pointer) (mem.Pointer, error) {
	if err := n.CheckCopy(); err != nil {
		return nil, err
	}
	if dst, err := copyInBlock(n, src); dst != nil {
		return dst, err
	}
	c := copier{}
	dst := c.pointee(n, src)
	return dst, c.err
}

// CopyInto makes the value of type n at dst a copy of the one at src.
func CopyInto(n *plan.Node, dst, src mem.Pointer) error {
	if err := n.CheckCopy(); err != nil || dst == src {
		return err
	}
	c := copier{}
	n.At(dst).Set(n.At(src))
	c.fix(n, dst, src)
	return c.err
}

// CopyAny copies the value of an interface.
func CopyAny(v any) (any, error) {
	c := copier{}
	out := c.dynamic(v)
	return out, c.err
}
