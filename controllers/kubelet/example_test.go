package kubelet_test

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
)

func Example() {
	conn, err := rest.New(rest.Config{Host: "http://127.0.0.1:1"}, rest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	k, err := kubelet.New(conn, kubelet.Options{NodeName: "node1", RuntimeEndpoint: "unix:///run/containerd/containerd.sock"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // a program would end it with a signal
	_ = k.Run(ctx)
	fmt.Println(k.Name())
	// Output: node1
}
