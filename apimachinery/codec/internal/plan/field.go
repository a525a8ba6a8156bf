package plan

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// A Field is one JSON member of a struct, embedded structs flattened in. It is
// kept small: writing a struct walks an array of them.
type Field struct {
	Name      string
	Key       []byte // `,"name":`
	Node      *Node
	Off       uint32
	Enc       Op       // n.enc, or OpInvalid if only Encoder.quoted can write it
	OmitEmpty OmitRule // omitempty
	OmitZero  OmitRule // omitzero
	Quoted    bool     // the tag option "string"
	Intern    bool
	Indirect  bool // reached through embedded pointers
	*FieldInfo
}

// FieldInfo is the part of a field that is rarely needed.
type FieldInfo struct {
	GoPath string            // Meta.Name
	via    []hop             // pointers to follow before off counts
	Tags   reflect.StructTag // all of the field's; a reflect.StructField takes 104 bytes
	Tag    Tag

	zeroer   mem.Binder
	callZero bool // a pointer or interface that has IsZero
}

// A hop follows the embedded pointer at off.
type hop struct {
	off  uintptr
	elem *Node
}

// UnknownMembers is the field that collects the members without a field.
type UnknownMembers struct{ Off uintptr }

func (f *Field) finish() {
	f.Enc = f.Node.Enc
	if f.Quoted {
		switch f.Node.Op {
		case OpPointer, OpBool, OpInt8, OpInt16, OpInt32, OpInt64, OpUint8, OpUint16, OpUint32, OpUint64, OpFloat32, OpFloat64, OpString:
			if f.Node.Op == OpPointer && !quotable(f.Node.Elem) {
				f.Quoted = false
			}
		default:
			f.Quoted = false
		}
		if f.Node.Enc != f.Node.Op {
			f.Quoted = false
		}
	}
	if f.Quoted {
		f.Enc = OpInvalid // the encoder then calls quoted
	}
}

func quotable(n *Node) bool {
	return n.Enc == n.Op && n.Op >= OpBool && n.Op <= OpString
}

// internedNames are fields of the plain type string whose values repeat.
var internedNames = map[string]bool{
	"apiVersion": true, "kind": true, "namespace": true, "manager": true,
	"operation": true, "fieldsType": true, "subresource": true,
	"type": true, "reason": true, "group": true, "scheme": true,
}

// A Tag is a json tag.
type Tag struct {
	Name                                 string
	OmitEmpty, OmitZero, Quoted, Unknown bool
}

func parseTag(tag string) Tag {
	parts := strings.Split(tag, ",")
	ft := Tag{Name: parts[0]}
	if !validName(ft.Name) {
		ft.Name = ""
	}
	for _, o := range parts[1:] {
		switch o {
		case "omitempty":
			ft.OmitEmpty = true
		case "omitzero":
			ft.OmitZero = true
		case "string":
			ft.Quoted = true
		case "unknown":
			ft.Unknown = true
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
	Field
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
func (b *builder) jsonFields(n *Node) {
	var found []candidate
	next := []level{{typ: n.Type}}
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
		n.Fields = append(n.Fields, c.Field)
	}
	n.index = newNameIndex(n.Fields)
}

// levelFields collects the fields of one struct.
func (b *builder) levelFields(n *Node, l level) (found []candidate, deeper []level) {
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
		if ft.Unknown && sf.Type == anyMapType && len(l.via) == 0 {
			n.Unknown = &UnknownMembers{Off: l.off + sf.Offset}
			continue
		}
		path := sf.Name
		if l.path != "" {
			path = l.path + "." + path
		}
		index := append(slices.Clone(l.index), i)
		if sf.Anonymous && ft.Name == "" && et.Kind() == reflect.Struct {
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
		c := candidate{tagged: ft.Name != "", index: index}
		name := ft.Name
		if name == "" {
			name = sf.Name
		}
		c.Field = Field{
			Name: name, Node: b.node(sf.Type), Off: uint32(l.off + sf.Offset),
			Quoted: ft.Quoted, Indirect: len(l.via) > 0,
			FieldInfo: &FieldInfo{GoPath: path, via: l.via, Tags: sf.Tag, Tag: ft},
			Intern:    sf.Type.Kind() == reflect.String && (sf.Type != stringType || internedNames[name]),
		}
		c.Key = append(jsontext.AppendString([]byte{','}, name), ':')
		if ft.OmitEmpty {
			c.OmitEmpty = emptyRule(sf.Type)
		}
		if ft.OmitZero {
			c.OmitZero = b.zeroRule(&c.Field)
		}
		found = append(found, c)
	}
	return found, deeper
}

// dominant applies Go's rules of visibility and restores source order.
func dominant(found []candidate) []candidate {
	byName := map[string][]candidate{}
	for _, c := range found {
		byName[c.Name] = append(byName[c.Name], c)
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

// Address follows embedded pointers; nil if one of them is nil.
func (f *Field) Address(p mem.Pointer) mem.Pointer {
	for _, h := range f.via {
		if p = *mem.PointerAt(mem.Add(p, h.off)); p == nil {
			return nil
		}
	}
	return mem.Add(p, f.Off)
}

// Reach follows embedded pointers and allocates those that are nil.
func (f *Field) Reach(p mem.Pointer) mem.Pointer {
	for _, h := range f.via {
		slot := mem.PointerAt(mem.Add(p, h.off))
		if *slot == nil {
			*slot = h.elem.New()
		}
		p = *slot
	}
	return mem.Add(p, f.Off)
}
