//go:build upstream

// Package lines lets a program answer lines of JSON on its standard input with lines on its standard output.
// The tests named Beside test it.
package lines

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// Answer answers until the input ends, and ends the program at the first error.
func Answer[World, Answer any](answer func(*World) (Answer, error)) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 256<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var w World
		err := json.Unmarshal(in.Bytes(), &w)
		if err == nil {
			var a Answer
			if a, err = answer(&w); err == nil {
				err = out.Encode(a)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
