package leaselock_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/pipenet"
)

func Example() {
	// An API server in memory; a program in a cluster has its connection from
	// client/kubeconfig.
	server, err := apiserver.New(apiserver.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, terminate := context.WithCancel(context.Background())
	defer terminate()
	go func() { _ = server.Run(ctx) }()
	listener := pipenet.New()
	defer listener.Close()
	go func() { _ = http.Serve(listener, server) }()
	conn, err := rest.New(rest.Config{Host: "http://memory", Dial: listener.Dial}, rest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	lock := leaselock.New(conn, types.NamespacedName{Namespace: "kube-system", Name: "example"}, leaselock.Options{})
	elector, err := leaderelection.New(lock, leaderelection.Options{Identity: "pod-1"})
	if err != nil {
		log.Fatal(err)
	}
	err = elector.Run(ctx, func(ctx context.Context) error {
		fmt.Println(elector.Leader(), "leads")
		return nil
	})
	fmt.Println("stopped:", err)
	// Output:
	// pod-1 leads
	// stopped: <nil>
}
