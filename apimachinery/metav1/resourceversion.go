package metav1

import (
	"cmp"
	"fmt"
	"strings"
)

// CompareResourceVersions orders two versions of one resource: the result is negative if a is older than b, 0
// if they are equal, positive if a is newer. Versions of different resources, or from different clusters,
// must not be compared. A version is a decimal number of any length without leading zeros; anything else is
// an error, including "" and "0", which are not versions of an object.
func CompareResourceVersions(a, b string) (int, error) {
	for _, v := range []string{a, b} {
		if !isResourceVersion(v) {
			return 0, fmt.Errorf("resource version %q is not a decimal number without leading zeros", v)
		}
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)), nil
}

// IsOlder reports whether version a is older than b. It is false if the two cannot be compared.
func IsOlder(a, b string) bool {
	order, err := CompareResourceVersions(a, b)
	return err == nil && order < 0
}

func isResourceVersion(v string) bool {
	for i := range len(v) {
		if v[i] < '0' || v[i] > '9' || i == 0 && v[i] == '0' {
			return false
		}
	}
	return v != ""
}
