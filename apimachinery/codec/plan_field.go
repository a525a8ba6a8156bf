package codec

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// A field is one JSON member of a struct, embedded structs flattened in. It is
// kept small: writing a struct walks an array of them.
type field struct {
	name     string
	comma    []byte // `,"name":`
	n        *node
	off      uint32
	enc      op       // n.enc, or opInvalid if only jsonEncoder.quoted can write it
	omit     omitRule // omitempty
	zero     omitRule // omitzero
	quoted   bool     // the tag option "string"
	intern   bool
	indirect bool // reached through embedded pointers
	*fieldInfo
}

// fieldInfo is the part of a field that is rarely needed.
type fieldInfo struct {
	goPath string // Meta.Name
	via    []hop  // pointers to follow before off counts
	sf     reflect.StructField

	zeroer   mem.Binder
	callZero bool // a pointer or interface that has IsZero
}

// A hop follows the embedded pointer at off.
type hop struct {
	off  uintptr
	elem *node
}

// unknownField is the field that collects the members without a field.
type unknownField struct{ off uintptr }

func (f *field) finish() {
	f.enc = f.n.enc
	if f.quoted {
		switch f.n.op {
		case opPtr, opBool, opInt8, opInt16, opInt32, opInt64, opUint8, opUint16, opUint32, opUint64, opFloat32, opFloat64, opString:
			if f.n.op == opPtr && !quotable(f.n.elem) {
				f.quoted = false
			}
		default:
			f.quoted = false
		}
		if f.n.enc != f.n.op {
			f.quoted = false
		}
	}
	if f.quoted {
		f.enc = opInvalid // makes the encoder call quoted
	}
}

func quotable(n *node) bool {
	return n.enc == n.op && n.op >= opBool && n.op <= opString
}

// internedNames are fields of the plain type string whose values repeat.
var internedNames = map[string]bool{
	"apiVersion": true, "kind": true, "namespace": true, "manager": true,
	"operation": true, "fieldsType": true, "subresource": true,
	"type": true, "reason": true, "group": true, "scheme": true,
}

type fieldTag struct {
	name                                 string
	omitEmpty, omitZero, quoted, unknown bool
}

func parseTag(tag string) fieldTag {
	parts := strings.Split(tag, ",")
	ft := fieldTag{name: parts[0]}
	if !validName(ft.name) {
		ft.name = ""
	}
	for _, o := range parts[1:] {
		switch o {
		case "omitempty":
			ft.omitEmpty = true
		case "omitzero":
			ft.omitZero = true
		case "string":
			ft.quoted = true
		case "unknown":
			ft.unknown = true
		}
	}
	return ft
}

// validName is encoding/json's rule for names in tags.
func validName(s string) bool {
	for _, c := range s {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return true
}

// A candidate is a field found at some depth of embedding, before Go's rules
// of visibility have chosen among those of one name.
type candidate struct {
	field
	tagged bool
	index  []int
}

// level is a struct type whose fields are still to be collected.
type level struct {
	typ   reflect.Type
	off   uintptr
	via   []hop
	path  string
	index []int
}

// jsonFields collects the members of the struct n the way encoding/json does:
// breadth first through embedded structs, the shallowest name wins, a tagged
// one wins over untagged ones of the same depth, and further ties hide all.
func (b *builder) jsonFields(n *node) {
	var found []candidate
	next := []level{{typ: n.typ}}
	visited := map[reflect.Type]bool{}
	for len(next) > 0 {
		current := next
		count := map[reflect.Type]int{}
		for _, l := range current {
			count[l.typ]++
		}
		var deeper []level
		done := map[reflect.Type]bool{}
		for _, l := range current {
			if visited[l.typ] || done[l.typ] {
				continue
			}
			done[l.typ] = true
			cs, ls := b.levelFields(n, l)
			for _, c := range cs {
				found = append(found, c)
				if count[l.typ] > 1 {
					// The type is embedded twice at this depth: its fields hide each other.
					found = append(found, c)
				}
			}
			deeper = append(deeper, ls...)
		}
		for t := range done {
			visited[t] = true
		}
		next = deeper
	}
	for _, c := range dominant(found) {
		n.fields = append(n.fields, c.field)
	}
	n.index = newNameIndex(n.fields)
}

// levelFields collects the fields of one struct.
func (b *builder) levelFields(n *node, l level) (found []candidate, deeper []level) {
	for i := range l.typ.NumField() {
		sf := l.typ.Field(i)
		et := sf.Type
		if sf.Anonymous {
			if et.Kind() == reflect.Pointer {
				et = et.Elem()
			}
			if !sf.IsExported() && et.Kind() != reflect.Struct {
				continue
			}
		} else if !sf.IsExported() {
			continue
		}
		tag := sf.Tag.Get("json")
		if tag == "-" {
			continue
		}
		ft := parseTag(tag)
		if ft.unknown && sf.Type == anyMapType && len(l.via) == 0 {
			n.unknown = &unknownField{off: l.off + sf.Offset}
			continue
		}
		path := strings.TrimPrefix(l.path+"."+sf.Name, ".")
		index := append(slices.Clone(l.index), i)
		if sf.Anonymous && ft.name == "" && et.Kind() == reflect.Struct {
			d := level{typ: et, off: l.off + sf.Offset, via: l.via, path: path, index: index}
			if sf.Type.Kind() == reflect.Pointer {
				if !sf.IsExported() {
					continue // cannot be set by anyone outside its package
				}
				d.via = append(slices.Clone(l.via), hop{l.off + sf.Offset, b.node(et)})
				d.off = 0
			}
			deeper = append(deeper, d)
			continue
		}
		c := candidate{tagged: ft.name != "", index: index}
		name := ft.name
		if name == "" {
			name = sf.Name
		}
		c.field = field{
			name: name, n: b.node(sf.Type), off: uint32(l.off + sf.Offset),
			quoted: ft.quoted, indirect: len(l.via) > 0,
			fieldInfo: &fieldInfo{goPath: path, via: l.via, sf: sf},
			intern:    sf.Type.Kind() == reflect.String && (sf.Type != stringType || internedNames[name]),
		}
		c.comma = append(appendString([]byte{','}, name), ':')
		if ft.omitEmpty {
			c.omit = emptyRule(sf.Type)
		}
		if ft.omitZero {
			c.zero = b.zeroRule(&c.field)
		}
		found = append(found, c)
	}
	return found, deeper
}

// dominant applies Go's rules of visibility and restores source order.
func dominant(found []candidate) []candidate {
	byName := map[string][]candidate{}
	for _, c := range found {
		byName[c.name] = append(byName[c.name], c)
	}
	var out []candidate
	for _, cs := range byName {
		slices.SortStableFunc(cs, func(a, b candidate) int {
			if d := len(a.index) - len(b.index); d != 0 {
				return d
			}
			if a.tagged != b.tagged {
				if a.tagged {
					return -1
				}
				return 1
			}
			return slices.Compare(a.index, b.index)
		})
		if len(cs) > 1 && len(cs[0].index) == len(cs[1].index) && cs[0].tagged == cs[1].tagged {
			continue
		}
		out = append(out, cs[0])
	}
	slices.SortFunc(out, func(a, b candidate) int { return slices.Compare(a.index, b.index) })
	return out
}

// address follows embedded pointers; nil if one of them is nil.
func (f *field) address(p mem.Pointer) mem.Pointer {
	for _, h := range f.via {
		if p = *mem.PointerAt(mem.Add(p, h.off)); p == nil {
			return nil
		}
	}
	return mem.Add(p, f.off)
}

// reach follows embedded pointers and allocates those that are nil.
func (f *field) reach(p mem.Pointer) mem.Pointer {
	for _, h := range f.via {
		slot := mem.PointerAt(mem.Add(p, h.off))
		if *slot == nil {
			*slot = h.elem.newValue()
		}
		p = *slot
	}
	return mem.Add(p, f.off)
}
