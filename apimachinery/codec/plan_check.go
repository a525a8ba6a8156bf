package codec

import (
	"fmt"
	"strings"
)

// checkJSON searches the graph below n for a part without a JSON form.
func (n *node) checkJSON() error {
	n.jsonOnce.Do(func() {
		n.jsonErr = n.search(func(m *node) (error, bool) {
			if m.enc != m.op && m.dec != m.op && m.oneOf == nil {
				return nil, false
			}
			if m.bad != nil {
				return m.bad, false
			}
			if m.op == opMap && !m.mapKeyOK() {
				return fmt.Errorf("keys of type %v have no JSON form", m.key.typ), false
			}
			return nil, true
		}, func(m *node, visit func(name string, c *node)) {
			for i := range m.fields {
				visit(m.fields[i].goPath, m.fields[i].n)
			}
		})
	})
	return n.jsonErr
}

func (n *node) mapKeyOK() bool {
	switch n.key.op {
	case opString, opInt8, opInt16, opInt32, opInt64, opUint8, opUint16, opUint32, opUint64:
		return true
	}
	return n.key.enc == opText && n.key.dec == opText
}

// search returns the error of the first node for which test has one, with the path. test also reports whether
// to descend; fields enumerates the parts of a struct.
func (n *node) search(test func(*node) (error, bool), fields func(*node, func(string, *node))) error {
	seen := map[*node]bool{}
	var walk func(m *node, path string) error
	walk = func(m *node, path string) error {
		if seen[m] {
			return nil
		}
		seen[m] = true
		err, down := test(m)
		if err != nil {
			return &TypeError{Type: n.typ, Path: strings.TrimPrefix(path, "."), Err: err}
		}
		if !down {
			return nil
		}
		switch m.op {
		case opPtr:
			return walk(m.elem, path)
		case opSlice, opArray, opMap:
			return walk(m.elem, path+"[]")
		case opStruct:
			var first error
			fields(m, func(name string, c *node) {
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
