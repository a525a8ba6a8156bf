// Package clienttest connects clients and servers inside one process, without a network: an in-memory
// listener that works in testing/synctest bubbles, and a real API server behind it.
package clienttest

import "github.com/keelson-dev/keelson/store/pipenet"

// Listener is a net.Listener whose connections are made with Dial, in memory. Everything in it works in a
// bubble.
type Listener = pipenet.Listener

// Listen returns a new listener.
func Listen() *Listener { return pipenet.New() }
