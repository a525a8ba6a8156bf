// Command wget prints what a URL answers.
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	quiet := flag.Bool("q", false, "print no progress, of which there is none")
	out := flag.String("O", "-", "where to write; only - is known")
	seconds := flag.Int("T", 10, "time-out in seconds")
	flag.Parse()
	if flag.NArg() != 1 || *out != "-" {
		flag.Usage()
		os.Exit(2)
	}
	_ = *quiet
	c := http.Client{Timeout: time.Duration(*seconds) * time.Second}
	resp, err := c.Get(flag.Arg(0))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", resp.Status)
	}
	if err == nil {
		_, err = io.Copy(os.Stdout, resp.Body)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wget:", err)
		os.Exit(1)
	}
}
