// Package mountinfo lists the mount points of the process's mount namespace.
package mountinfo

import (
	"bufio"
	"io"
	"os"
	"strings"
)

// Points returns the mount points in the order in which they were mounted. It works on Linux only.
func Points() ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(f)
}

func parse(r io.Reader) ([]string, error) {
	var points []string
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if f := strings.Fields(s.Text()); len(f) > 4 {
			points = append(points, escapes.Replace(f[4]))
		}
	}
	return points, s.Err()
}

// escapes are the characters that the kernel writes in octal.
var escapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`)
