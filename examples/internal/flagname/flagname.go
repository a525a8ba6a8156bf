// Package flagname suggests the closest flag for a mistyped one.
package flagname

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// Closest adds to the error of an unknown flag the name of the most similar flag of f, if at most half of the
// letters differ. Other errors are returned as they are.
func Closest(f *pflag.FlagSet, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	name := unknown.GetSpecifiedName()
	best, least := "", len(name)/2+1
	f.VisitAll(func(known *pflag.Flag) {
		if known.Hidden || known.Deprecated != "" {
			return
		}
		if d := distance(name, known.Name); d < least {
			best, least = known.Name, d
		}
	})
	if best == "" {
		return err
	}
	return fmt.Errorf("%w; the closest known flag is --%s", err, best)
}

// distance is how many letters must be inserted, deleted or replaced to make a from b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
