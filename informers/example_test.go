package informers_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// server starts an API server in memory and returns a connection to it and how to end both.
func server() (*rest.Conn, func()) {
	api, err := apiserver.New(apiserver.Options{})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() { defer close(ran); _ = api.Run(ctx) }()
	l := pipenet.New()
	srv := &http.Server{Handler: api}
	go func() { _ = srv.Serve(l) }()
	conn, err := rest.New(rest.Config{Host: "http://memory", Dial: l.Dial}, rest.Options{})
	if err != nil {
		panic(err)
	}
	return conn, func() {
		conn.Close()
		cancel()
		<-ran
		srv.Close()
	}
}

func Example() {
	conn, stop := server()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)

	set := informers.NewSet(conn, informers.SetOptions{})
	maps := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default"}, LabelSelector: labels.MustParse("app=shop")})
	added, updated := make(chan struct{}), make(chan struct{})
	maps.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
		fmt.Println(ev.Type, ev.Key)
		switch ev.Type {
		case informers.Added:
			close(added)
		case informers.Updated:
			fmt.Println(ev.Old().Data["color"], "->", ev.New().Data["color"])
			close(updated)
		}
	}, informers.HandlerOptions{Name: "example"})

	done := make(chan struct{})
	go func() { defer close(done); _ = set.Run(ctx) }()
	defer func() { cancel(); <-done }()
	if err := set.WaitForSync(ctx); err != nil {
		fmt.Println(err)
		return
	}

	// What is written through the set's connection is in its listers at once.
	writer, key := client.For[*corev1.ConfigMap](set.Conn()), types.NamespacedName{Namespace: "default", Name: "settings"}
	cm := &corev1.ConfigMap{Data: map[string]string{"color": "green"}}
	cm.Namespace, cm.Name, cm.Labels = key.Namespace, key.Name, map[string]string{"app": "shop"}
	if _, err := writer.Create(ctx, cm); err != nil {
		fmt.Println(err)
		return
	}
	got, err := maps.Lister().Get(key)
	if err != nil {
		fmt.Println(err)
		return
	}
	<-added
	got.Data["color"] = "blue"
	if _, err := writer.Update(ctx, got); err != nil {
		fmt.Println(err)
		return
	}
	<-updated
	// Output:
	// Added default/settings
	// Updated default/settings
	// green -> blue
}
