package controllertest

import (
	"encoding/base64"
	"fmt"
	"net"
	"path/filepath"

	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
	"github.com/keelson-dev/keelson/client"
)

// Kubeconfig makes the server listen on a TCP port of the loopback interface and returns the path of a
// kubeconfig file for it, so that kubectl and programs in other processes can connect. In a bubble it fails
// the test, because waiting for a socket would stop virtual time forever.
func (c *Cluster) Kubeconfig(user ...client.User) string {
	c.t.Helper()
	if c.bubble {
		c.t.Fatalf("controllertest: Kubeconfig opens a TCP port, which does not work in a testing/synctest bubble: use Access, Dial or Transport there, or call Start outside a bubble")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatalf("controllertest: %v", err)
	}
	c.listenOn(l)
	a := c.Access(user...)
	b64 := base64.StdEncoding.EncodeToString
	path := filepath.Join(c.t.TempDir(), "kubeconfig")
	if err := atomicfile.WriteSync(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: test
  cluster: {server: "https://%s", certificate-authority-data: %s}
users:
- name: test
  user: {client-certificate-data: %s, client-key-data: %s}
contexts:
- name: test
  context: {cluster: test, user: test}
current-context: test
`, l.Addr(), b64(a.CA), b64(a.Cert), b64(a.Key))); err != nil {
		c.t.Fatalf("controllertest: %v", err)
	}
	return path
}
