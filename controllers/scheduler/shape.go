package scheduler

// maxShapes is how many shapes are remembered.
const maxShapes = 128

// shapes are those of the pods that were decided about of late with one profile, by signature.
type shapes struct {
	byKey map[string]*shape
	key   []byte
	clock uint64
}

// shape is what the static filters answer for pods with one signature, by node.
type shape struct {
	cells []cell
	used  uint64
}

// cell is the answer for a node as of a version of it; no node has version 0.
type cell struct {
	version uint64
	status  *Status
}

func newShapes() shapes { return shapes{byKey: map[string]*shape{}} }

// of returns the shape of a pod.
func (all *shapes) of(p *Profile, pod *Pod) *shape {
	all.key = all.key[:0]
	for _, f := range p.static {
		all.key = append(f.Sign(pod, all.key), 0)
	}
	s := all.byKey[string(all.key)]
	if s == nil {
		if len(all.byKey) >= maxShapes {
			for key, o := range all.byKey {
				if o.used+maxShapes/2 < all.clock {
					delete(all.byKey, key)
				}
			}
			if len(all.byKey) >= maxShapes {
				clear(all.byKey)
			}
		}
		s = &shape{}
		all.byKey[string(all.key)] = s
	}
	all.clock++
	s.used = all.clock
	return s
}
