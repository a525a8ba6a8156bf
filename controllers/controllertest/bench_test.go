package controllertest_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// BenchmarkStart is a whole test: server, manager, controller, three pods, and the end of everything.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		run(b, func(b testing.TB) { controllertest.Start(b, controllertest.Options{}) })
	}
}

func BenchmarkStartWithController(b *testing.B) {
	for b.Loop() {
		run(b, func(b testing.TB) {
			c := controllertest.Start(b, controllertest.Options{Controllers: []controllertest.Adder{addReplicaSets}})
			controllertest.Create(c, replicaSet("web", 3))
			for len(controllertest.List[*corev1.Pod](c, "default")) < 3 {
			}
		})
	}
}

// run calls f with a T whose cleanups run at its end.
func run(b *testing.B, f func(testing.TB)) {
	sub := &scope{TB: b}
	defer sub.end()
	f(sub)
}

type scope struct {
	testing.TB
	cleanups []func()
}

func (s *scope) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *scope) end() {
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
}
