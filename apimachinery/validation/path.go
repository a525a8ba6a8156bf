package validation

import "strconv"

// Path locates a field. The nil Path is the object itself. Paths are
// immutable: extending one leaves it unchanged.
type Path struct {
	parent *Path
	name   string
	index  int
	kind   pathKind
}

type pathKind uint8

const (
	pathName pathKind = iota
	pathIndex
	pathKey
)

// NewPath returns the path of a field of the object, or of the field nested in it by the further names.
func NewPath(name string, more ...string) *Path { return (*Path)(nil).Child(name, more...) }

// Root returns the first element of the path.
func (p *Path) Root() *Path {
	for p != nil && p.parent != nil {
		p = p.parent
	}
	return p
}

// Child returns the path of a field of the value at p, or of the field nested in it by the further names.
func (p *Path) Child(name string, more ...string) *Path {
	p = &Path{parent: p, name: name}
	for _, name := range more {
		p = &Path{parent: p, name: name}
	}
	return p
}

// Index returns the path of an element of the list at p.
func (p *Path) Index(i int) *Path { return &Path{parent: p, index: i, kind: pathIndex} }

// Key returns the path of an entry of the map at p.
func (p *Path) Key(key string) *Path { return &Path{parent: p, name: key, kind: pathKey} }

// String is the path as users see it: spec.containers[0].ports[1].name. Map keys
// are not quoted. The nil path is "<nil>".
func (p *Path) String() string {
	if p == nil {
		return "<nil>"
	}
	return string(p.appendTo(make([]byte, 0, 64)))
}

func (p *Path) appendTo(dst []byte) []byte {
	if p.parent != nil {
		dst = p.parent.appendTo(dst)
	}
	switch p.kind {
	case pathIndex:
		dst = strconv.AppendInt(append(dst, '['), int64(p.index), 10)
		return append(dst, ']')
	case pathKey:
		dst = append(append(dst, '['), p.name...)
		return append(dst, ']')
	}
	if p.parent != nil && p.name != "" {
		dst = append(dst, '.')
	}
	return append(dst, p.name...)
}
