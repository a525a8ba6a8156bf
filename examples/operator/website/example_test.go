package website_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// A whole operator in ten lines: every ConfigMap with a "greet" entry gets an annotation.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	conn, wait := inProcess(ctx) // or kubeconfig.Load and rest.New

	m := manager.New(conn, manager.Options{})
	lister, api := informers.For[*corev1.ConfigMap](m.Informers()).Lister(), client.For[*corev1.ConfigMap](m.Conn())
	_, err := controllers.Add(m, "greeter", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		cm, err := lister.Get(req)
		if err != nil || cm.Data["greet"] == "" || cm.Annotations["greeting"] != "" {
			return reconcile.Result{}, nil // deleted, without the entry, or done
		}
		cm.Annotations = map[string]string{"greeting": "Hello, " + cm.Data["greet"] + "!"}
		_, err = api.Update(ctx, cm)
		return reconcile.Result{}, err // a conflict is retried
	}), controllers.Options{}, controllers.For[*corev1.ConfigMap]())
	if err != nil {
		panic(err)
	}

	var running sync.WaitGroup
	running.Go(func() { _ = m.Run(ctx) })
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"greet": "world"}}
	if _, err := client.For[*corev1.ConfigMap](conn).Create(ctx, cm); err != nil {
		panic(err)
	}
	for e, err := range client.For[*corev1.ConfigMap](conn).Watch(ctx, client.WatchOptions{Namespace: "default"}) {
		if err != nil {
			panic(err)
		}
		if g := e.Object.Annotations["greeting"]; g != "" {
			fmt.Println(g)
			break
		}
	}
	stop()
	running.Wait()
	wait()
	// Output: Hello, world!
}

// inProcess is an API server in this process, over a network in memory, until ctx ends.
func inProcess(ctx context.Context) (conn *rest.Conn, wait func()) {
	server, err := apiserver.New(apiserver.Options{})
	if err != nil {
		panic(err)
	}
	net := pipenet.New()
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Run(ctx) })
	wg.Go(func() { _ = server.Serve(ctx, net, nil) })
	conn, err = rest.New(rest.Config{Host: "http://pipe", Dial: net.Dial}, rest.Options{})
	if err != nil {
		panic(err)
	}
	return conn, func() { _ = conn.Close(); wg.Wait() }
}
