package etcdserver_test

import (
	"context"
	"fmt"
	"net"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/keelson-dev/keelson/store/etcdserver"
	"github.com/keelson-dev/keelson/store/memory"
)

func Example() {
	s := memory.New(memory.Options{TxnOps: 1 << 20}) // so that a DeleteRange may find that many keys
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- etcdserver.New(s, etcdserver.Options{}).Serve(ctx, listener) }()

	// Any client of etcd.
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + listener.Addr().String()}, Logger: zap.NewNop()})
	if err != nil {
		panic(err)
	}
	put, _ := client.Put(ctx, "greeting", "hello")
	txn, _ := client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision("greeting"), "=", put.Header.Revision)).
		Then(clientv3.OpPut("greeting", "good evening")).
		Commit()
	get, _ := client.Get(ctx, "greeting")
	fmt.Println(txn.Succeeded, string(get.Kvs[0].Value), get.Kvs[0].Version)

	_ = client.Close()
	stop()
	fmt.Println(<-ended, s.Close())
	// Output:
	// true good evening 2
	// <nil> <nil>
}
