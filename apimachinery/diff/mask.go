package diff

import "reflect"

// lastApplied is the annotation in which kubectl keeps a copy of the object, data included.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// mask replaces the data of a Secret, as "kubectl diff" does: values that differ are distinguished, and no
// other property of them is visible.
func mask(old, now map[string]any) {
	for _, path := range [][]string{{"data"}, {"stringData"}} {
		maskMaps(at(old, path...), at(now, path...))
	}
	was, is := at(old, "metadata", "annotations"), at(now, "metadata", "annotations")
	maskValue(was, is, lastApplied)
}

func at(tree map[string]any, path ...string) map[string]any {
	for _, key := range path {
		tree, _ = tree[key].(map[string]any)
	}
	return tree
}

func maskMaps(old, now map[string]any) {
	for key := range old {
		maskValue(old, now, key)
	}
	for key := range now {
		if _, both := old[key]; !both {
			maskValue(old, now, key)
		}
	}
}

func maskValue(old, now map[string]any, key string) {
	was, had := old[key]
	is, has := now[key]
	before, after := "***", "***"
	if had && has && !reflect.DeepEqual(was, is) {
		before, after = "*** (before)", "*** (after)"
	}
	if had {
		old[key] = before
	}
	if has {
		now[key] = after
	}
}
