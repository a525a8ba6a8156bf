package plan

// nameIndex finds a field by name without allocating. It is a hash table without collisions, whose multiplier
// is found by trial when the plan is made. One of 400 multipliers nearly always separates the names of a
// struct in a table of two to four times their number; otherwise a larger table is tried, and then a map.
type nameIndex struct {
	slots []uint16 // field number + 1; 0 is empty
	mask  uint32
	mul   uint32
	other map[string]int // if no multiplier separates the names
}

func nameHash(name []byte, mul uint32) uint32 {
	n := uint32(len(name))
	if n == 0 {
		return 0
	}
	h := n*31 + uint32(name[0])
	h = h*mul + uint32(name[n/2])
	h = h*mul + uint32(name[n-1])
	h = h*mul + uint32(name[n/4])
	return h ^ h>>15
}

func newNameIndex(fields []Field) nameIndex {
	if len(fields) == 0 {
		return nameIndex{}
	}
	size := uint32(4)
	for size < uint32(len(fields))*2 {
		size *= 2
	}
	for range 3 {
		for mul := uint32(0x9e3779b1); mul > 0x9e3779b1-400*0x10002; mul -= 0x10002 {
			if ix, ok := tryIndex(fields, size, mul); ok {
				return ix
			}
		}
		size *= 2
	}
	ix := nameIndex{other: map[string]int{}}
	for i := range fields {
		ix.other[fields[i].Name] = i
	}
	return ix
}

func tryIndex(fields []Field, size, mul uint32) (nameIndex, bool) {
	ix := nameIndex{slots: make([]uint16, size), mask: size - 1, mul: mul}
	for i := range fields {
		s := &ix.slots[nameHash([]byte(fields[i].Name), mul)&ix.mask]
		if *s != 0 {
			return ix, false
		}
		*s = uint16(i + 1)
	}
	return ix, true
}

// Find returns the number of the field called name, or -1.
func (n *Node) Find(name []byte) int {
	ix := &n.index
	if ix.other != nil {
		if i, ok := ix.other[string(name)]; ok {
			return i
		}
		return -1
	}
	if len(ix.slots) == 0 {
		return -1
	}
	i := int(ix.slots[nameHash(name, ix.mul)&ix.mask]) - 1
	if i >= 0 && n.Fields[i].Name == string(name) {
		return i
	}
	return -1
}
