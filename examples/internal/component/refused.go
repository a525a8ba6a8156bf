package component

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Refuse registers flags of upstream that a program does not have, each with what to do instead, or why: a
// command line that sets one is refused with this text. Flags that are registered already stay.
func Refuse(f *pflag.FlagSet, why map[string]string) {
	for name, text := range why {
		if f.Lookup(name) != nil {
			continue
		}
		f.Var(refused(text), name, text)
		f.Lookup(name).Hidden = true
		f.Lookup(name).NoOptDefVal = "true"
	}
}

// NoEffect registers flags of upstream that are accepted and have no effect, each with why. A name that ends
// in a question mark is a switch, which needs no value. Flags that are registered already stay.
func NoEffect(f *pflag.FlagSet, why map[string]string) {
	for name, text := range why {
		name, isSwitch := strings.CutSuffix(name, "?")
		if f.Lookup(name) != nil {
			continue
		}
		f.Var(ignored(text), name, "no effect: "+text)
		f.Lookup(name).Hidden = true
		if isSwitch {
			f.Lookup(name).NoOptDefVal = "true"
		}
	}
}

// Fixed is what a flag that has one value here accepts.
type Fixed struct {
	// Values that say what is done anyway; others are refused. The first is shown as the value.
	Values []string
	Why    string
}

// Fix registers flags of upstream that have one value here. Flags that are registered already stay.
func Fix(f *pflag.FlagSet, flags map[string]Fixed) {
	for name, fixed := range flags {
		if f.Lookup(name) != nil {
			continue
		}
		f.Var(&fixed, name, "only "+fixed.Values[0]+": "+fixed.Why)
		f.Lookup(name).Hidden = true
		if slices.Contains([]string{"true", "false"}, fixed.Values[0]) {
			f.Lookup(name).NoOptDefVal = "true"
		}
	}
}

// String is the value that holds.
func (x *Fixed) String() string {
	if len(x.Values) == 0 {
		return ""
	}
	return x.Values[0]
}

// Type is shown in the help.
func (*Fixed) Type() string { return "fixed" }

// Set refuses other values than those that hold.
func (x *Fixed) Set(text string) error {
	if !slices.Contains(x.Values, text) {
		return errors.New(x.Why)
	}
	return nil
}

// Limit says in the help and in the table of flags which values of registered flags are accepted, where
// others are refused by the check of what they set, such as the fields of a configuration.
func Limit(f *pflag.FlagSet, flags map[string]Fixed) {
	for name, fixed := range flags {
		flag := f.Lookup(name)
		flag.Value = limited{flag.Value, fixed}
		flag.Usage, flag.Hidden = "only "+strings.Join(fixed.Values, ", ")+": "+fixed.Why, true
	}
}

// limited is a flag that sets something which accepts certain values only.
type limited struct {
	pflag.Value
	to Fixed
}

// FixedValue returns what the flag accepts; false if it may have other values.
func FixedValue(f *pflag.Flag) (*Fixed, bool) {
	if limited, ok := f.Value.(limited); ok {
		return &limited.to, true
	}
	x, ok := f.Value.(*Fixed)
	return x, ok
}

// refused is a flag that cannot be set, for a reason.
type refused string

// String is empty.
func (refused) String() string { return "" }

// Type is shown in the help.
func (refused) Type() string { return "refused" }

// Set fails with the reason.
func (r refused) Set(string) error { return errors.New(string(r)) }

// ignored is a flag without effect, for a reason.
type ignored string

// String is empty.
func (ignored) String() string { return "" }

// Type is shown in the help.
func (ignored) Type() string { return "ignored" }

// Set accepts any value.
func (ignored) Set(string) error { return nil }

// Ignored returns why the flag has no effect; false if it has one.
func Ignored(f *pflag.Flag) (why string, ok bool) {
	i, ok := f.Value.(ignored)
	return string(i), ok
}

// Refused returns why a command line must not set the flag; false if it may.
func Refused(f *pflag.Flag) (why string, ok bool) {
	r, ok := f.Value.(refused)
	return string(r), ok
}
