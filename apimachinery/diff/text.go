package diff

import (
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// Text prints changes, a line for each value: "-" before the old one and "+" before the new one. Objects and
// lists are printed as indented YAML. Of a text of several lines that has changed, the lines that differ are
// printed, with up to two lines of context. The result is empty if there are no changes.
func Text(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		old, isText := c.Old.(string)
		now, both := c.New.(string)
		if isText && both && (strings.Contains(old, "\n") || strings.Contains(now, "\n")) {
			fmt.Fprintf(&b, "  %s:\n", c.Path)
			lines(&b, split(old), split(now))
			continue
		}
		if c.Old != nil {
			value(&b, "-", c.Path, c.Old)
		}
		if c.New != nil {
			value(&b, "+", c.Path, c.New)
		}
	}
	return b.String()
}

func value(b *strings.Builder, sign, path string, v any) {
	switch v.(type) {
	case map[string]any, []any:
	default:
		fmt.Fprintf(b, "%s %s: %s\n", sign, path, scalar(v))
		return
	}
	text, err := codec.MarshalYAML(v)
	if err != nil {
		text = fmt.Append(nil, v)
	}
	fmt.Fprintf(b, "%s %s:\n", sign, path)
	for _, line := range split(string(text)) {
		fmt.Fprintf(b, "%s   %s\n", sign, line)
	}
}

// scalar returns a value as in YAML.
func scalar(v any) string {
	if s, ok := v.(string); ok && !strings.Contains(s, "\n") {
		text, err := codec.MarshalYAML(s)
		if err == nil {
			return strings.TrimSuffix(string(text), "\n")
		}
	}
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}

func split(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// context is the number of unchanged lines that are printed around changed ones.
const context = 2

// maxTable bounds the work of comparing texts; larger ones are replaced as a whole where they differ.
const maxTable = 1 << 20

// lines prints what differs between two texts.
func lines(b *strings.Builder, old, now []string) {
	head := 0
	for head < min(len(old), len(now)) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < min(len(old), len(now))-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	edits := edit(old[head:len(old)-tail], now[head:len(now)-tail])
	for _, line := range old[max(0, head-context):head] {
		fmt.Fprintf(b, "    %s\n", line)
	}
	skipped := false
	for i, e := range edits {
		if e.sign == ' ' && !near(edits, i) {
			if !skipped {
				b.WriteString("    ...\n")
			}
			skipped = true
			continue
		}
		skipped = false
		fmt.Fprintf(b, "%c   %s\n", e.sign, e.line)
	}
	end := old[len(old)-tail:]
	for _, line := range end[:min(context, len(end))] {
		fmt.Fprintf(b, "    %s\n", line)
	}
}

// edited is a line with its sign: kept, removed or added.
type edited struct {
	sign byte
	line string
}

// near reports whether a changed line is within the context of a line.
func near(edits []edited, i int) bool {
	for _, e := range edits[max(0, i-context):min(len(edits), i+context+1)] {
		if e.sign != ' ' {
			return true
		}
	}
	return false
}

// edit returns the shortest edit from old to now, or the replacement of the whole if that costs too much.
func edit(old, now []string) (out []edited) {
	if len(old)*len(now) > maxTable {
		for _, line := range old {
			out = append(out, edited{'-', line})
		}
		for _, line := range now {
			out = append(out, edited{'+', line})
		}
		return out
	}
	// common[i][j] is the length of the longest subsequence that old[i:] and now[j:] have in common.
	common := make([][]int32, len(old)+1)
	for i := range common {
		common[i] = make([]int32, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			if old[i] == now[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		switch {
		case i < len(old) && j < len(now) && old[i] == now[j]:
			out = append(out, edited{' ', old[i]})
			i, j = i+1, j+1
		case j == len(now) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			out = append(out, edited{'-', old[i]})
			i++
		default:
			out = append(out, edited{'+', now[j]})
			j++
		}
	}
	return out
}
