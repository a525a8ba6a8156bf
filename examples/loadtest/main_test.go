package main

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--objects=0":         "--objects",
		"--phases=create,fly": `no phase is called "fly"`,
		"--apply-changes=101": "no percentage",
		"--pid=999999999":     "process 999999999",
		"--wrong":             "unknown flag",
		"stray":               `unexpected argument "stray"`,
	} {
		_, err := parse([]string{args})
		require.ErrorContains(t, err, want)
	}
	_, err := parse([]string{"--help"})
	require.ErrorIs(t, err, pflag.ErrHelp)
}
