package etcd_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/keelson-dev/keelson/store/etcd"
)

func ExampleNew() {
	s, err := etcd.New(context.Background(), etcd.Options{
		Endpoints:   []string{"http://127.0.0.1:1"}, // no server listens here
		DialTimeout: 100 * time.Millisecond,
		Logger:      slog.Default(),
	})
	if err != nil {
		fmt.Println("cannot start: etcd is not there")
		return
	}
	defer func() { _ = s.Close() }()
	// Output: cannot start: etcd is not there
}
