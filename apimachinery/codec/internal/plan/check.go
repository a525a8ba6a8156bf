package plan

import (
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
)

// CheckJSON searches the graph below n for a part without a JSON form.
func (n *Node) CheckJSON() error {
	n.jsonOnce.Do(func() {
		n.jsonErr = n.search(func(m *Node) (error, bool) {
			if m.Enc != m.Op && m.Dec != m.Op && m.OneOf == nil {
				return nil, false
			}
			if m.bad != nil {
				return m.bad, false
			}
			if m.Op == OpMap && !m.mapKeyOK() {
				return fmt.Errorf("keys of type %v have no JSON form", m.Key.Type), false
			}
			return nil, true
		}, func(m *Node, visit func(name string, c *Node)) {
			for i := range m.Fields {
				visit(m.Fields[i].GoPath, m.Fields[i].Node)
			}
		})
	})
	return n.jsonErr
}

func (n *Node) mapKeyOK() bool {
	switch n.Key.Op {
	case OpString, OpInt8, OpInt16, OpInt32, OpInt64, OpUint8, OpUint16, OpUint32, OpUint64:
		return true
	}
	return n.Key.Enc == OpText && n.Key.Dec == OpText
}

// search returns the error of the first node for which test has one, with the path. test also reports whether
// to descend; fields enumerates the parts of a struct.
func (n *Node) search(test func(*Node) (error, bool), fields func(*Node, func(string, *Node))) error {
	seen := map[*Node]bool{}
	var walk func(m *Node, path string) error
	walk = func(m *Node, path string) error {
		if seen[m] {
			return nil
		}
		seen[m] = true
		err, down := test(m)
		if err != nil {
			return &failure.TypeError{Type: n.Type, Path: strings.TrimPrefix(path, "."), Err: err}
		}
		if !down {
			return nil
		}
		switch m.Op {
		case OpPointer:
			return walk(m.Elem, path)
		case OpSlice, OpArray, OpMap:
			return walk(m.Elem, path+"[]")
		case OpStruct:
			var first error
			fields(m, func(name string, c *Node) {
				if first == nil {
					first = walk(c, path+"."+name)
				}
			})
			return first
		}
		return nil
	}
	return walk(n, "")
}
