package metav1

import (
	"cmp"
	"fmt"
	"strings"
)

// CompareResourceVersions tells which of two versions of one resource is newer: it is negative if a is older
// than b, 0 if they are equal, positive if a is newer. Versions of different resources, or from different
// servers, must not be compared. A version is a decimal number of any length that begins with 1 to 9;
// anything else is an error, and so is "" and "0", which are no versions of an object.
func CompareResourceVersions(a, b string) (int, error) {
	for _, v := range []string{a, b} {
		if !isResourceVersion(v) {
			return 0, fmt.Errorf("resource version %q is not a decimal number without leading zeros", v)
		}
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)), nil
}

func isResourceVersion(v string) bool {
	for i := range len(v) {
		if v[i] < '0' || v[i] > '9' || i == 0 && v[i] == '0' {
			return false
		}
	}
	return v != ""
}
