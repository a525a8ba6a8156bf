//go:build unix

package main

import (
	"os"
	"syscall"
)

// dumpSignal lets the program log what the scheduler holds.
var dumpSignal os.Signal = syscall.SIGUSR2
