package registry

import "github.com/keelson-dev/keelson/apimachinery/types"

// keyOf returns the key of one object below prefix.
func keyOf(prefix string, key types.NamespacedName) string {
	if key.Namespace == "" {
		return prefix + key.Name
	}
	return prefix + key.Namespace + "/" + key.Name
}
