package crd_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// large returns the i-th of many definitions of the size that large projects use: about 50 kB of JSON, five
// to a group, with descriptions, nested templates, defaults and rules.
func large(b testing.TB, i int) []byte {
	data, err := codec.YAMLToJSON([]byte(warrant))
	if err != nil {
		b.Fatal(err)
	}
	var d tree
	if err := json.Unmarshal(data, &d); err != nil {
		b.Fatal(err)
	}
	group, plural, kind := fmt.Sprintf("g%d.test", i/5), fmt.Sprintf("warrant%ds", i), fmt.Sprintf("Warrant%d", i)
	d["metadata"].(tree)["name"] = plural + "." + group
	spec := d["spec"].(tree)
	spec["group"], spec["names"] = group, tree{"plural": plural, "kind": kind}
	version := spec["versions"].([]any)[0].(tree)
	properties := version["schema"].(tree)["openAPIV3Schema"].(tree)["properties"].(tree)["spec"].(tree)["properties"].(tree)
	text := strings.Repeat("What this field is for, its default and what it must not be. ", 4)
	leaf := func(n int) tree {
		out := tree{}
		for f := range n {
			out[fmt.Sprintf("field%d", f)] = tree{"type": "string", "description": text, "maxLength": 63}
		}
		return tree{"type": "object", "description": text, "properties": out}
	}
	for part := range 12 {
		one := leaf(6)
		one["properties"].(tree)["containers"] = tree{"type": "array", "description": text, "items": leaf(8)}
		properties[fmt.Sprintf("part%d", part)] = one
	}
	out, err := json.Marshal(d)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// cpu returns the processor time that the process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkEstablish stores many definitions, one request after the other, and waits until each is
// established and served; the controller serves a definition after it has written its conditions. The metrics
// include the client, which is in the same process, and leave out the list of 32 MB that checks the
// conditions.
func BenchmarkEstablish(b *testing.B) {
	for _, n := range []int{100, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			bodies, names := make([][]byte, n), make([]schema.GroupVersionResource, n)
			for i := range bodies {
				bodies[i] = large(b, i)
				names[i] = schema.GroupVersionResource{Group: fmt.Sprintf("g%d.test", i/5), Version: "v1", Resource: fmt.Sprintf("warrant%ds", i)}
			}
			for b.Loop() {
				b.StopTimer()
				c := start(b, apiserver.Options{})
				c.do("GET", definitions, nil, 200)
				b.StartTimer()
				before := cpu(b)
				for _, body := range bodies {
					c.send("POST", definitions, body, 201)
				}
				stored := time.Now()
				c.eventually("served", func() bool {
					return !slices.ContainsFunc(names, func(gvr schema.GroupVersionResource) bool { return c.Registry().Resource(gvr) == nil })
				})
				b.ReportMetric(time.Since(stored).Seconds(), "s-after-last")
				b.ReportMetric((cpu(b) - before).Seconds(), "cpu-s")
				b.StopTimer()
				all := c.send("GET", definitions, nil, 200).Body.String()
				if got := strings.Count(all, `"reason":"InitialNamesAccepted"`); got != n {
					b.Fatalf("%d of %d are established", got, n)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(len(bodies[0])), "bytes/definition")
		})
	}
}
