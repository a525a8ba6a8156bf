// Command agent runs in a pod of the tests: it connects with the pod's service account and prints its user
// name as the server sees it, and the ID of its token, whenever they change. It ends with an error when the
// server refuses it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg, err := kubeconfig.InCluster()
	if err != nil {
		return err
	}
	conn, err := rest.New(cfg, rest.Options{})
	if err != nil {
		return err
	}
	defer conn.Close()
	reviews := client.For[*authenticationv1.SelfSubjectReview](conn)
	said := ""
	for ctx.Err() == nil {
		me, err := reviews.Create(ctx, &authenticationv1.SelfSubjectReview{})
		if _, replied := errors.AsType[*apierrors.StatusError](err); replied {
			return err // a rotation of the token must not cause one
		}
		if err != nil {
			// A server that stands still for some seconds, as on a machine whose processors are emulated, loses
			// its connections.
			fmt.Fprintln(os.Stderr, "agent:", err)
		} else if now := fmt.Sprint(me.Status.UserInfo.Username, me.Status.UserInfo.Extra["authentication.kubernetes.io/credential-id"]); now != said {
			fmt.Println(now)
			said = now
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}
