package component

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// FlagTable returns a page in Markdown that says what a program does with each flag of the Kubernetes program
// of its name, and its own, and which of upstream it does not know. test is the command that makes the page.
func FlagTable(f *pflag.FlagSet, upstream []string, test string) (page string, unknown []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Flags of %[1]s\n\nWhat the program `examples/%[1]s` does with each flag of its namesake,\nversion 1.36, and its own. `--help` describes those that work. This table is made by:\n\n"+
		"```sh norun\n%[2]s\n```\n\n| flag | |\n|---|---|\n", f.Name(), test)
	for _, name := range upstream {
		switch flag := f.Lookup(name); {
		case name == "help" || name == "version": // Parse adds them
			fmt.Fprintf(&b, "| `--%s` | works |\n", name)
		case flag == nil:
			unknown = append(unknown, name)
		default:
			fmt.Fprintf(&b, "| `--%s` | %s |\n", name, fate(flag))
		}
	}
	f.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(upstream, flag.Name) {
			fmt.Fprintf(&b, "| `--%s` | works; upstream's %s does not have it |\n", flag.Name, f.Name())
		}
	})
	return b.String(), unknown
}

// fate says what becomes of a flag.
func fate(f *pflag.Flag) string {
	if why, ok := Refused(f); ok {
		return "refused: " + why
	}
	if why, ok := Ignored(f); ok {
		return "no effect: " + why
	}
	if fixed, ok := FixedValue(f); ok {
		values := slices.DeleteFunc(slices.Clone(fixed.Values), func(v string) bool { return v == "" })
		if len(values) == 0 {
			return "refused: " + fixed.Why
		}
		return "only `" + strings.Join(values, "`, `") + "`: " + fixed.Why
	}
	return "works"
}
