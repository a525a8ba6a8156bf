// Package mountinfo lists the mount points of the process's mount namespace.
package mountinfo

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strings"
)

// Points returns the mount points in the order in which they were mounted. It works on Linux only.
func Points() ([]string, error) {
	all, err := read()
	var points []string
	for _, m := range all {
		points = append(points, m.point)
	}
	return points, err
}

// Peers returns the other mount points of the file system that is mounted at a path without symbolic links;
// none if nothing is. It works on Linux only.
func Peers(path string) ([]string, error) {
	all, err := read()
	return peers(all, path), err
}

func peers(all []mount, path string) (points []string) {
	at := on(all, path)
	if at.point != path {
		return nil
	}
	for _, m := range all {
		if m.device == at.device && m.point != path {
			points = append(points, m.point)
		}
	}
	return points
}

// Context returns the SELinux label that the mount at a path without symbolic links gives all of its files;
// empty if it gives none, or nothing is mounted there. It works on Linux only.
func Context(path string) (string, error) {
	all, err := read()
	if at := on(all, path); at.point == path {
		return at.context, err
	}
	return "", err
}

// Shared reports whether the mount that a path without symbolic links is on passes mounts on to its peers, as
// those of containers are. It works on Linux only.
func Shared(path string) (bool, error) {
	all, err := read()
	return shared(all, path), err
}

// Labelled reports whether files of the mount that a path without symbolic links is on have SELinux labels of
// their own, which can be changed. It works on Linux only.
func Labelled(path string) (bool, error) {
	all, err := read()
	return on(all, path).labelled, err
}

func shared(all []mount, path string) bool { return on(all, path).shared }

// on is the mount that a path is on.
func on(all []mount, path string) mount {
	var on mount
	for _, m := range all {
		inside := m.point == "/" || path == m.point || strings.HasPrefix(path, m.point+"/")
		if inside && len(m.point) >= len(on.point) { // of two at one point, the later one is above
			on = m
		}
	}
	return on
}

type mount struct {
	device   string // of the file system, as MAJOR:MINOR
	point    string
	shared   bool
	labelled bool
	context  string
}

func read() ([]mount, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(f)
}

func parse(r io.Reader) ([]mount, error) {
	var all []mount
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) <= 5 {
			continue
		}
		m := mount{device: f[2], point: escapes.Replace(f[4])}
		for _, option := range f[5:] { // the optional ones end with a hyphen
			if option == "-" {
				break
			}
			m.shared = m.shared || strings.HasPrefix(option, "shared:")
		}
		// Among the options of the mount, or those of the file system.
		for _, options := range []string{f[5], f[len(f)-1]} {
			m.labelled = m.labelled || slices.Contains(strings.Split(options, ","), "seclabel")
		}
		// Its commas are between quotes.
		if _, label, ok := strings.Cut(","+f[len(f)-1], ",context="); ok && strings.HasPrefix(label, `"`) {
			m.context, _, _ = strings.Cut(label[1:], `"`)
		} else if ok {
			m.context, _, _ = strings.Cut(label, ",")
		}
		all = append(all, m)
	}
	return all, s.Err()
}

// escapes are the characters that the kernel writes in octal.
var escapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`)
