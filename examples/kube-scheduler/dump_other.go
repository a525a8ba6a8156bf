//go:build !unix

package main

import "os"

// dumpSignal is nil: this system has no such signal.
var dumpSignal os.Signal
