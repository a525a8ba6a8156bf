package scheduler

import "encoding/binary"

// maxShapes is how many shapes are remembered.
const maxShapes = 128

// shapes are those of the pods that were decided about of late with one profile, by signature.
type shapes struct {
	byKey map[string]*shape
	key   []byte
	clock uint64
	// unsigned is that of the last pod that a plugin could not sign.
	unsigned shape
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

func newShapes() shapes { return shapes{byKey: map[string]*shape{}, key: make([]byte, 0, 256)} }

// shapeOf returns the shape of a pod, nil if a plugin cannot sign the pod.
func (cy *Cycle) shapeOf(pod *Pod) *shape {
	all := &cy.shapes
	key := all.key[:0]
	for _, f := range cy.profile.signers {
		cy.running = f.Name()
		began := len(key)
		w := cy.watchOf(f)
		w.enter()
		key = f.Sign(pod, key)
		w.leave()
		if key == nil {
			return nil
		}
		key = binary.LittleEndian.AppendUint32(key, uint32(len(key)-began))
	}
	all.key = key
	return all.find()
}

// find returns the shape with the key.
func (all *shapes) find() *shape {
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
