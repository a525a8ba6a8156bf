package kubelet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// kernelParameters are those whose values nodes need, as files below /proc/sys: memory is given out beyond
// what there is, processes are ended when it is short, the machine starts again 10 s after a panic, and root
// may have the keys of all containers.
var kernelParameters = []struct {
	name string
	want int
}{
	{"kernel/keys/root_maxbytes", 25_000_000}, {"kernel/keys/root_maxkeys", 1_000_000},
	{"kernel/panic", 10}, {"kernel/panic_on_oops", 1},
	{"vm/overcommit_memory", 1}, {"vm/panic_on_oom", 0},
}

// checkKernelParameters returns an error that names all parameters below dir with other values.
func checkKernelParameters(dir string) error {
	var errs []error
	for _, p := range kernelParameters {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(p.name)))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		have, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			errs = append(errs, fmt.Errorf("kernel flag %v: %w", p.name, err))
		} else if have != p.want {
			errs = append(errs, fmt.Errorf("invalid kernel flag: %v, expected value: %v, actual value: %v", p.name, p.want, have))
		}
	}
	return errors.Join(errs...)
}
