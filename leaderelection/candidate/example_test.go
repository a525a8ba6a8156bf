package candidate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/candidate"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
)

// lead does the work of a process of this version while it is the leader. The server decides when.
func lead(ctx context.Context, conn client.Conn, identity, version string, work func(context.Context) error) error {
	one, err := candidate.New(conn, types.NamespacedName{Namespace: "kube-system", Name: identity}, "my-component", candidate.Options{BinaryVersion: version})
	if err != nil {
		return err
	}
	lock := leaselock.New(conn, types.NamespacedName{Namespace: "kube-system", Name: "my-component"}, leaselock.Options{})
	elector, err := leaderelection.New(lock, leaderelection.Options{Identity: identity, Coordinated: true})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	left := make(chan error, 1)
	go func() { left <- one.Run(ctx) }()
	err = elector.Run(ctx, work)
	cancel()
	return errors.Join(err, <-left)
}

// A version must be semantic: the server would refuse the candidate.
func Example() {
	err := lead(context.Background(), nil, "host-1", "1.36", nil)
	_, reason, _ := strings.Cut(err.Error(), "1.36\": ")
	fmt.Println(reason)
	// Output: must be a valid semantic version
}
