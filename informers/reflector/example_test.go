package reflector_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers/reflector"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// names is a minimal sink: it keeps the names of a collection, and prints them when they have changed.
type names struct {
	now     map[string]bool
	changed chan []string
}

func (n *names) tell() {
	var list []string
	for name := range n.now {
		list = append(list, name)
	}
	slices.Sort(list)
	n.changed <- list
}

func (n *names) Begin() reflector.Copy { return &reading{n, map[string]bool{}} }
func (n *names) Progress(string)       {}

// Missed is followed by another read, which includes the change that was missed.
func (n *names) Missed(*client.DecodeError) {}

func (n *names) Apply(ev client.EncodedEvent) {
	if ev.Type == client.Deleted {
		delete(n.now, ev.Object.Key.Name)
	} else {
		// A copy: the name shares memory with the whole object.
		n.now[string([]byte(ev.Object.Key.Name))] = true
	}
	n.tell()
}

func (n *names) NotServed() {
	clear(n.now)
	n.tell()
}

// reading is a collection on its way in, which replaces what was known when it is complete.
type reading struct {
	names *names
	found map[string]bool
}

func (r *reading) Unreadable(*client.DecodeError) {}

func (r *reading) Add(e client.Encoded)    { r.found[string([]byte(e.Key.Name))] = true }
func (r *reading) Remove(e client.Encoded) { delete(r.found, e.Key.Name) }

func (r *reading) Commit(string) {
	r.names.now = r.found
	r.names.tell()
}

// A custom cache fed by a reflector. Programs that want objects use package informers, which is one
// such sink.
func ExampleReflector() {
	api, err := apiserver.New(apiserver.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	served := make(chan struct{})
	go func() { defer close(served); _ = api.Run(ctx) }()
	l := pipenet.New()
	srv := &http.Server{Handler: api}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	conn, err := rest.New(rest.Config{Host: "http://memory", Dial: l.Dial}, rest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	maps := client.For[*corev1.ConfigMap](conn)
	sink := &names{changed: make(chan []string)}
	r := reflector.New(reflector.For(maps, true), sink, reflector.Options{List: client.ListOptions{Namespace: "default"}})
	ran := make(chan struct{})
	following, stop := context.WithCancel(ctx)
	defer stop()
	go func() { defer close(ran); _ = r.Run(following) }()

	fmt.Println(<-sink.changed)
	for _, name := range []string{"a", "b"} {
		cm := &corev1.ConfigMap{}
		cm.Namespace, cm.Name = "default", name
		if _, err := maps.Create(ctx, cm); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(<-sink.changed)
	}
	stop()
	<-ran
	cancel()
	<-served
	// Output:
	// []
	// [a]
	// [a b]
}

// The next action of a reflector is a pure function, which can be called without a server.
func ExampleMachine_Step() {
	m := reflector.NewMachine(false)
	m, cmd := m.Step(reflector.Input{Outcome: reflector.Start}, 0)
	fmt.Println(cmd.Do == reflector.WatchList)
	m, cmd = m.Step(reflector.Input{Outcome: reflector.Caught, Version: "7"}, 0)
	fmt.Println(cmd.Do == reflector.Follow, m.Version)
	m, cmd = m.Step(reflector.Input{Outcome: reflector.Failed, Err: apierrors.NewResourceExpired("too old")}, 0)
	fmt.Println(cmd.Do == reflector.WatchList, m.Phase == reflector.Reading)
	_, cmd = m.Step(reflector.Input{Outcome: reflector.Failed, Err: apierrors.NewTooManyRequests("busy", 3)}, 0)
	fmt.Println(cmd.Do == reflector.Wait, cmd.After)
	// Output:
	// true
	// true 7
	// true true
	// true 3s
}
