package job

import (
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// indexes is a rising list of completion indexes, each once. Its text form joins runs: "0,2-4,7".
type indexes []int32

// parseIndexes reads the text form; indexes from limit up, and what cannot be read, are left out.
func parseIndexes(text string, limit int32) (out indexes) {
	if text == "" {
		return nil
	}
	for _, part := range strings.Split(text, ",") {
		first, last, run := strings.Cut(part, "-")
		a, err := strconv.ParseInt(first, 10, 32)
		b := a
		if err == nil && run {
			b, err = strconv.ParseInt(last, 10, 32)
		}
		if err != nil {
			continue
		}
		for i := a; i <= b && int32(i) < limit; i++ {
			out = append(out, int32(i))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// String is the text form. A run of two is written with a comma, as everybody does.
func (x indexes) String() string {
	var b strings.Builder
	for i := 0; i < len(x); {
		end := i
		for end+1 < len(x) && x[end+1] == x[end]+1 {
			end++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(x[i])))
		if end > i {
			if end == i+1 {
				b.WriteByte(',')
			} else {
				b.WriteByte('-')
			}
			b.WriteString(strconv.Itoa(int(x[end])))
		}
		i = end + 1
	}
	return b.String()
}

func (x indexes) has(i int32) bool {
	_, ok := slices.BinarySearch(x, i)
	return ok
}

func (x indexes) with(more indexes) indexes {
	if len(more) == 0 {
		return x
	}
	out := slices.Concat(x, more)
	slices.Sort(out)
	return slices.Compact(out)
}

func (x indexes) without(less indexes) indexes {
	if len(less) == 0 {
		return x
	}
	return slices.DeleteFunc(slices.Clone(x), less.has)
}

func (f *facts) completions() int32 {
	if f.job.Spec.Completions == nil {
		return 0
	}
	return *f.job.Spec.Completions
}

// indexOf is a pod's completion index, or -1.
func indexOf(p *corev1.Pod) int32 {
	n, err := strconv.ParseInt(p.Annotations[batchv1.JobCompletionIndexAnnotation], 10, 32)
	if err != nil || n < 0 {
		return -1
	}
	return int32(n)
}

// failuresOf are the failures of its index that a pod remembers to have come before it, counted and ignored
// ones.
func failuresOf(p *corev1.Pod) (counted, ignored int32) {
	number := func(key string) int32 {
		n, err := strconv.ParseInt(p.Annotations[key], 10, 32)
		if err != nil || n < 0 {
			return 0
		}
		return int32(n)
	}
	return number(batchv1.JobIndexFailureCountAnnotation), number(batchv1.JobIndexIgnoredFailureCountAnnotation)
}

// exhausted are the indexes whose newly failed pods were their last.
func (f *facts) exhausted() (out indexes) {
	for _, p := range f.failed {
		i := indexOf(p)
		if before, _ := failuresOf(p); i >= 0 && i < f.completions() && before >= *f.job.Spec.BackoffLimitPerIndex {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
