package schema

import (
	"cmp"
	"strconv"
	"strings"
)

// CompareVersions orders API versions by maturity, as discovery lists them: it
// is positive if a should be preferred to b. Generally available versions
// ("v2") come before betas ("v2beta1"), betas before alphas, higher numbers
// before lower ones; anything that is not of that shape comes last, the
// alphabetically first of those preferred.
func CompareVersions(a, b string) int {
	if a == b {
		return 0
	}
	va, okA := parseVersion(a)
	vb, okB := parseVersion(b)
	switch {
	case okA && !okB:
		return 1
	case !okA && okB:
		return -1
	case !okA:
		return strings.Compare(b, a)
	}
	if c := cmp.Compare(va.stage, vb.stage); c != 0 {
		return c
	}
	if c := cmp.Compare(va.major, vb.major); c != 0 {
		return c
	}
	return cmp.Compare(va.minor, vb.minor)
}

const (
	stageAlpha = iota
	stageBeta
	stageGA
)

type version struct {
	stage        int
	major, minor uint64
}

// parseVersion accepts v[0-9]+((alpha|beta)[0-9]+)?
func parseVersion(s string) (version, bool) {
	rest, ok := strings.CutPrefix(s, "v")
	if !ok {
		return version{}, false
	}
	v := version{stage: stageGA}
	if v.major, rest, ok = cutNumber(rest); !ok {
		return version{}, false
	}
	if rest == "" {
		return v, true
	}
	if after, found := strings.CutPrefix(rest, "alpha"); found {
		v.stage, rest = stageAlpha, after
	} else if after, found := strings.CutPrefix(rest, "beta"); found {
		v.stage, rest = stageBeta, after
	} else {
		return version{}, false
	}
	if v.minor, rest, ok = cutNumber(rest); !ok || rest != "" {
		return version{}, false
	}
	return v, true
}

// cutNumber takes the leading number.
func cutNumber(s string) (n uint64, rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 {
		return 0, s, false
	}
	n, err := strconv.ParseUint(s[:i], 10, 64)
	return n, s[i:], err == nil
}
