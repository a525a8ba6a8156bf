package podobjects

import "github.com/keelson-dev/keelson/apimachinery/types"

// references counts the pods that refer to an object. The user's lock guards it.
type references map[types.UID]bool

func (r references) add(pod types.UID) (first bool) {
	first = !r[pod]
	r[pod] = true
	return first
}

// remove reports whether none is left.
func (r references) remove(pod types.UID) (last bool) {
	delete(r, pod)
	return len(r) == 0
}
