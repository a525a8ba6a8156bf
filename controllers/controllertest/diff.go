package controllertest

import (
	"github.com/keelson-dev/keelson/apimachinery/diff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Diff returns what differs between two objects, such as two states of one on the server, as diff.Text prints
// it; empty if nothing does. What the server sets with every write is left out, and the data of Secrets is
// not masked, so that a test can compare it. An object that cannot be compared fails the test.
func Diff(c *Cluster, before, after metav1.Object) string {
	c.t.Helper()
	changes, err := diff.Objects(before, after, diff.Options{Scheme: c.conn.Scheme(), ShowSecrets: true})
	if err != nil {
		c.t.Fatalf("controllertest: %v", err)
	}
	return diff.Text(changes)
}
