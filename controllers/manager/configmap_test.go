package manager_test

import (
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func clientOf(m *manager.Manager) *client.Client[*corev1.ConfigMap] {
	return client.For[*corev1.ConfigMap](m.Conn())
}

func withEntry(m map[string]string, key string) map[string]string {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]string{}
	}
	out[key] = ""
	return out
}
