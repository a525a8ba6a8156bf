package crd_test

import (
	"fmt"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
)

var widgetsGVR = schema.GroupVersionResource{Group: "a.test", Version: "v1", Resource: "widgets"}

// BenchmarkCustomResource compares a custom resource, with a schema, defaults, a rule and selectable fields, with a built-in
// kind of the same size.
func BenchmarkCustomResource(b *testing.B) {
	const maps = "/api/v1/namespaces/default/configmaps"
	for _, kind := range []struct {
		name, path string
		object     func(name string) tree
	}{
		{"configmap", maps, func(name string) tree {
			return tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": name, "labels": tree{"a": "b"}},
				"data": tree{"size": "2", "color": "red", "one": "1", "two": "2"}}
		}},
		{"custom", widgets, func(name string) tree {
			return tree{"apiVersion": "a.test/v1", "kind": "Widget", "metadata": tree{"name": name, "labels": tree{"a": "b"}},
				"spec": tree{"size": 2, "color": "red", "parts": []any{tree{"name": "one", "num": 1}, tree{"name": "two", "num": 2}}}}
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			c := start(b, apiserver.Options{NoBootstrap: true})
			c.do("POST", definitions, widget, 201)
			c.eventually("served", func() bool { return c.Registry().Resource(widgetsGVR) != nil })
			b.Run("create", func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					c.do("POST", kind.path, kind.object(fmt.Sprintf("b%d-%d", b.N, i)), 201)
				}
			})
			c.do("DELETE", kind.path, nil, 200)
			for i := range 1000 {
				c.do("POST", kind.path, kind.object(fmt.Sprintf("o%d", i)), 201)
			}
			b.Run("get", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.send("GET", kind.path+"/o7", nil, 200)
				}
			})
			b.Run("list", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.send("GET", kind.path, nil, 200)
				}
			})
			b.Run("update", func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					c.send("PATCH", kind.path+"/o7", []byte(fmt.Sprintf(`{"metadata":{"labels":{"a":"%d"}}}`, i)), 200, "Content-Type", "application/merge-patch+json")
				}
			})
		})
	}
}
