package placement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Set is a set of CPUs: their numbers in order. It is not changed after it was made.
type Set []int

// maxCPU is the highest number of a CPU that a text may contain. Linux has at most 8,192.
const maxCPU = 1 << 16

// ParseSet reads the kernel's form of a set, such as 0-3,8.
func ParseSet(text string) (Set, error) {
	var s Set
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		if err != nil {
			return nil, fmt.Errorf("%q is no list of CPUs", text)
		}
		last, err := strconv.Atoi(to)
		if err != nil || first < 0 || last < first || last > maxCPU {
			return nil, fmt.Errorf("%q is no list of CPUs", text)
		}
		for id := first; id <= last; id++ {
			s = append(s, id)
		}
	}
	slices.Sort(s)
	return slices.Compact(s), nil
}

// String returns the kernel's form of the set.
func (s Set) String() string {
	var b strings.Builder
	for i := 0; i < len(s); {
		end := i
		for end+1 < len(s) && s[end+1] == s[end]+1 {
			end++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(s[i]))
		if end > i {
			b.WriteString("-" + strconv.Itoa(s[end]))
		}
		i = end + 1
	}
	return b.String()
}

// Has reports whether a CPU is in the set.
func (s Set) Has(id int) bool {
	_, ok := slices.BinarySearch(s, id)
	return ok
}

// Union returns the CPUs of either set.
func (s Set) Union(o Set) Set {
	all := slices.Concat(s, o)
	slices.Sort(all)
	return slices.Compact(all)
}

// Minus returns the CPUs of s that are not in o.
func (s Set) Minus(o Set) Set { return s.keep(func(id int) bool { return !o.Has(id) }) }

// And returns the CPUs of both sets.
func (s Set) And(o Set) Set { return s.keep(o.Has) }

func (s Set) keep(which func(int) bool) Set {
	var kept Set
	for _, id := range s {
		if which(id) {
			kept = append(kept, id)
		}
	}
	return kept
}
