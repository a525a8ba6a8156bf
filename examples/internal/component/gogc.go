package component

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"
)

// GOGC is how much the heap grows between garbage collections, in percent.
type GOGC int

// Flags adds the flag --gogc, whose default is the present value.
func (g *GOGC) Flags(f *pflag.FlagSet) {
	f.IntVar((*int)(g), "gogc", int(*g), "percentage of heap growth between garbage collections, as the environment variable GOGC, which overrides it: less takes less memory and more CPU time")
}

// Validate refuses what would collect garbage all the time.
func (g GOGC) Validate() error {
	if g < 1 {
		return fmt.Errorf("--gogc=%d: want 1 or more", g)
	}
	return nil
}

// Apply sets it for this process, unless the environment does.
func (g GOGC) Apply() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(int(g))
	}
}
