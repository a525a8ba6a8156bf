package main

import (
	"context"
	"errors"
	"sync"
)

// chooseRuntime decides between real containers and simulation, and says why if it was asked to decide.
func (c *cluster) chooseRuntime() (kind, why string) { return "fake", "" }

func (c *cluster) startRealNode(context.Context, starter, func(error), *sync.WaitGroup) bool {
	panic(errors.ErrUnsupported)
}
