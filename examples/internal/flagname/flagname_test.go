package flagname_test

import (
	"errors"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/flagname"
)

func TestClosest(t *testing.T) {
	f := pflag.NewFlagSet("p", pflag.ContinueOnError)
	f.Usage = func() {}
	f.Bool("leader-elect", true, "")
	f.Duration("leader-elect-retry-period", 0, "")
	f.IntP("verbosity", "v", 0, "")
	f.String("master", "", "")
	f.String("old-master", "", "")
	require.NoError(t, f.MarkDeprecated("old-master", "gone"))
	for arg, want := range map[string]string{
		"--leader-elected":           "unknown flag: --leader-elected; the closest known flag is --leader-elect",
		"--leader-election-period=3": "unknown flag: --leader-election-period; the closest known flag is --leader-elect-retry-period",
		"--old-masters":              "unknown flag: --old-masters; the closest known flag is --master",
		"--Master=x":                 "unknown flag: --Master; the closest known flag is --master",
		"--x":                        "unknown flag: --x",
		"--nothing-like-it":          "unknown flag: --nothing-like-it",
		"-x":                         "unknown shorthand flag: 'x' in -x",
		"--leader-elect=maybe":       `invalid argument "maybe" for "--leader-elect" flag: strconv.ParseBool: parsing "maybe": invalid syntax`,
	} {
		err := flagname.Closest(f, f.Parse([]string{arg}))
		require.EqualError(t, err, want)
	}
	require.NoError(t, flagname.Closest(f, nil))
	other := errors.New("other")
	require.Same(t, other, flagname.Closest(f, other))
}
