package builtin_test

import (
	"fmt"

	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A program that runs all controllers of kube-controller-manager but one.
func Example() {
	conn, err := rest.New(rest.Config{Host: "https://127.0.0.1:6443"}, rest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	m := manager.New(conn, manager.Options{})
	if err := builtin.Add(m, builtin.Options{Controllers: []string{"*", "-job"}}); err != nil {
		fmt.Println(err)
	}
	// m.Run(ctx) runs them.

	// Output:
}
