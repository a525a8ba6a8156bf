package spdy_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/moby/spdystream"

	"github.com/keelson-dev/keelson/apimachinery/spdy"
)

func ExampleConn_Run() {
	here, node := net.Pipe()
	go serve(node)
	conn, err := spdy.New(here)
	if err != nil {
		panic(err)
	}
	status, err := conn.Run(context.Background(), spdy.Process{Stdout: os.Stdout})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", status)
	// Output:
	// hello
	// {"status":"Success"}
}

// serve plays a node on which each process says hello.
func serve(conn net.Conn) {
	sc, err := spdystream.NewConnection(conn, true)
	if err != nil {
		panic(err)
	}
	replies := map[string]string{"stdout": "hello\n", "error": `{"status":"Success"}`}
	sc.Serve(func(st *spdystream.Stream) {
		_ = st.SendReply(http.Header{}, false)
		go func() {
			_, _ = st.Write([]byte(replies[st.Headers().Get("Streamtype")]))
			_ = st.Close()
		}()
	})
}
