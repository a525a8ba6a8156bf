package cgroup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// DefaultMount is where the kernel's groups are.
const DefaultMount = "/sys/fs/cgroup"

// Tree are the groups of a machine. Its methods may be called from many goroutines for different groups.
type Tree struct {
	// Mount is the folder of the groups; of those of each controller on version 1.
	Mount string
	V2    bool
	// Units is nil with the names of cgroupfs. With those of systemd, each group is a slice unit.
	Units Units

	// mounted are those of controllers that the machine has, on version 1, once they have been looked for.
	// They do not change while it runs.
	mounted     []string
	mountedOnce sync.Once
}

// Units are the slice units of systemd. Properties are by the names of systemd; a change of a unit that
// exists is not kept over a restart of the machine.
type Units interface {
	Start(ctx context.Context, slice string, properties map[string]uint64) error
	Change(ctx context.Context, slice string, properties map[string]uint64) error
	Stop(ctx context.Context, slice string) error
}

// Name is the path of a group from the root, without the escapes of a driver. No part may contain / or _.
type Name []string

// Parse returns the name of a path as configurations have it: /a/b, or a slice if systemd is true.
func Parse(text string, systemd bool) Name {
	if systemd {
		base := strings.TrimSuffix(path.Base(text), sliceSuffix)
		if base == "/" || base == "." || base == "-" {
			return nil
		}
		parts := strings.Split(base, "-")
		for i := range parts {
			parts[i] = strings.ReplaceAll(parts[i], "_", "-")
		}
		return parts
	}
	text = strings.Trim(path.Clean("/"+text), "/")
	if text == "" {
		return nil
	}
	return strings.Split(text, "/")
}

// Child is the name of a group below n.
func (n Name) Child(part ...string) Name { return append(append(Name(nil), n...), part...) }

const sliceSuffix = ".slice"

// slice is the unit of a group: its parts, in which - is written as _.
func (n Name) slice() string {
	parts := make([]string, len(n))
	for i, p := range n {
		parts[i] = strings.ReplaceAll(p, "-", "_")
	}
	return strings.Join(parts, "-") + sliceSuffix
}

// Path is that of a group below the mount, as the container runtime has to be given it.
func (t *Tree) Path(n Name) string {
	if t.Units == nil {
		return "/" + path.Join(n...)
	}
	all := []string{"/"}
	for i := range n {
		all = append(all, n[:i+1].slice())
	}
	return path.Join(all...)
}

// Parent is the name of a group for the container runtime: of systemd, the unit alone.
func (t *Tree) Parent(n Name) string {
	if t.Units == nil || len(n) == 0 {
		return t.Path(n)
	}
	return n.slice()
}

// controllers are the folders of a tree of version 1; groups are made in the first needed of them, those in
// which a kubelet of 1.36 looks for them (k8s.io/kubernetes/pkg/kubelet/cm/cgroup_v1_manager_linux.go), and
// removed from all. Container runtimes make those of the others.
var controllers = []string{"cpu", "memory", "pids", "cpuset", "hugetlb", "systemd", "cpuacct", "blkio", "devices", "freezer", "net_cls", "net_prio", "perf_event", "rdma", "misc", "unified"}

const needed = 7

// dirs are the folders of a group, by controller on version 1.
func (t *Tree) dirs(n Name) map[string]string {
	if t.V2 {
		return map[string]string{"": t.Dir("", n)}
	}
	dirs := map[string]string{}
	for _, c := range t.hierarchies() {
		dirs[c] = t.Dir(c, n)
	}
	return dirs
}

// ours are the folders of a group that Apply makes.
func (t *Tree) ours(n Name) map[string]string {
	dirs := t.dirs(n)
	for _, c := range controllers[needed:] {
		delete(dirs, c)
	}
	return dirs
}

// hierarchies are the controllers that the machine has on version 1.
func (t *Tree) hierarchies() []string {
	t.mountedOnce.Do(func() {
		for _, c := range controllers {
			if info, err := os.Stat(filepath.Join(t.Mount, c)); err == nil && info.IsDir() {
				t.mounted = append(t.mounted, c)
			}
		}
	})
	return t.mounted
}

// Dir is the folder of a group in which a controller's files are.
func (t *Tree) Dir(controller string, n Name) string {
	if t.V2 {
		controller = ""
	}
	return filepath.Join(t.Mount, controller, t.Path(n))
}

// Exists reports whether a group is there, in every controller that is needed.
func (t *Tree) Exists(n Name) bool {
	for _, dir := range t.ours(n) {
		if _, err := os.Stat(dir); err != nil {
			return false
		}
	}
	return true
}

// Apply makes a group, with those above it, if it is not there, and changes its settings. It reports whether
// it has made it, at least in part.
func (t *Tree) Apply(ctx context.Context, n Name, s Settings) (made bool, err error) {
	if made, err = t.unit(ctx, n, s); err != nil {
		return false, err
	}
	fresh := map[string]bool{}
	for controller, dir := range t.ours(n) {
		if fresh[controller], err = mkdir(dir); err != nil {
			return made, err
		}
		made = made || fresh[controller]
		if controller == "cpuset" {
			if err := inherit(filepath.Join(t.Mount, controller), t.Path(n), fresh[controller]); err != nil {
				return made, err
			}
		}
	}
	if t.V2 {
		t.delegate(n)
	}
	for _, f := range Files(t.V2, s) {
		if !t.V2 && !slices.Contains(t.hierarchies(), f.Controller) {
			continue // the machine does not have the controller
		}
		if f.Initial && fresh[f.Controller] {
			continue
		}
		if err := write(filepath.Join(t.Dir(f.Controller, n), f.Name), f); err != nil {
			return made, err
		}
	}
	return made, nil
}

// write writes a file of a group.
func write(path string, f File) error {
	flags := os.O_WRONLY | os.O_TRUNC
	if !f.Optional {
		flags |= os.O_CREATE
	}
	file, err := os.OpenFile(path, flags, 0o644)
	if f.Optional && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(f.Value)
	return errors.Join(err, file.Close())
}

// mkdir makes a folder that mostly has its parent, and may be there. It reports whether it was not.
func mkdir(dir string) (made bool, err error) {
	err = os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		err = os.MkdirAll(dir, 0o755)
	}
	return err == nil, err
}

// inherit fills the sets of a new group, which are empty on version 1 and would let nothing run, and those of
// the groups above it that are as new. base has the root's, which are not empty. fresh is true if the group's
// are known to be.
func inherit(base, name string, fresh bool) error {
	for _, f := range []string{"cpuset.cpus", "cpuset.mems"} {
		var err error
		if fresh {
			_, err = fill(base, name, f)
		} else {
			_, err = inheritFile(base, name, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inheritFile fills one set if it is empty, and returns it.
func inheritFile(base, name, file string) ([]byte, error) {
	have, err := os.ReadFile(filepath.Join(base, name, file))
	if err != nil || filepath.Dir(name) == name || len(bytes.TrimSpace(have)) > 0 {
		return have, err
	}
	return fill(base, name, file)
}

// fill fills one set, which is empty, and returns it.
func fill(base, name, file string) ([]byte, error) {
	have, err := inheritFile(base, filepath.Dir(name), file)
	if err != nil {
		return nil, err
	}
	return have, os.WriteFile(filepath.Join(base, name, file), have, 0o644)
}

// delegate hands the controllers of version 2 down, level by level; those that cannot be are left out.
func (t *Tree) delegate(n Name) {
	for i := range n {
		at := filepath.Join(t.Mount, t.Path(n[:i]))
		have, err := os.ReadFile(filepath.Join(at, "cgroup.controllers"))
		if err != nil {
			continue
		}
		on, _ := os.ReadFile(filepath.Join(at, "cgroup.subtree_control")) // empty if it cannot be read
		for _, c := range strings.Fields(string(have)) {
			if !strings.Contains(" "+strings.TrimSpace(string(on))+" ", " "+c+" ") {
				_ = os.WriteFile(filepath.Join(at, "cgroup.subtree_control"), []byte("+"+c), 0o644)
			}
		}
	}
}

// unit makes the slice unit of a group or changes it, so that systemd does not undo what is written into its
// files. It reports whether the group was not there.
func (t *Tree) unit(ctx context.Context, n Name, s Settings) (made bool, err error) {
	if t.Units == nil || len(n) == 0 {
		return false, nil
	}
	properties, there := Properties(t.V2, s), t.Exists(n)
	if there {
		if err := t.Units.Change(ctx, n.slice(), properties); err == nil {
			return false, nil // a group without a unit, of cgroupfs, gets one
		}
	}
	if err := t.Units.Start(ctx, n.slice(), properties); err != nil {
		return false, fmt.Errorf("start unit %s: %w", n.slice(), err)
	}
	return !there, nil
}

// infinity is no limit, for systemd.
const infinity = ^uint64(0)

// Properties are settings as systemd has them.
func Properties(v2 bool, s Settings) map[string]uint64 {
	p := map[string]uint64{}
	limit := func(name string, n int64) {
		switch {
		case n > 0:
			p[name] = uint64(n)
		case n < 0:
			p[name] = infinity
		}
	}
	if v2 {
		if s.Shares > 0 {
			p["CPUWeight"] = uint64(Weight(s.Shares))
		}
		limit("MemoryMax", s.Memory)
		for name, n := range map[string]int64{"MemoryMin": s.MemoryMin, "MemoryLow": s.MemoryLow} {
			if n != 0 {
				p[name] = uint64(max(n, 0))
			}
		}
	} else {
		limit("CPUShares", max(s.Shares, 0))
		limit("MemoryLimit", s.Memory)
	}
	if s.Period > 0 && s.Quota != 0 {
		perSecond := s.Quota
		if s.Quota > 0 {
			// systemd rounds to units of 10 ms, so that less than what is needed is never set.
			const unit = 10000
			perSecond = (s.Quota*1000000/s.Period + unit - 1) / unit * unit
		}
		limit("CPUQuotaPerSecUSec", perSecond)
	}
	limit("TasksMax", s.PIDs)
	return p
}

// Children are the groups directly below one.
func (t *Tree) Children(n Name) []string {
	var list []string
	seen := map[string]bool{}
	for _, dir := range t.dirs(n) {
		entries, _ := os.ReadDir(dir) // a controller that is not there has no groups
		for _, e := range entries {
			name := e.Name()
			if !e.IsDir() {
				continue
			}
			if t.Units != nil {
				if !strings.HasSuffix(name, sliceSuffix) {
					continue
				}
				parts := Parse(name, true)
				name = parts[len(parts)-1]
			}
			if !seen[name] {
				seen[name] = true
				list = append(list, name)
			}
		}
	}
	return list
}

// Remove removes a group and those below, as far as they have no processes.
func (t *Tree) Remove(ctx context.Context, n Name) {
	there := false
	for _, dir := range t.dirs(n) {
		if _, err := os.Stat(dir); err == nil {
			there = true
			remove(dir)
		}
	}
	if there && t.Units != nil {
		_ = t.Units.Stop(ctx, n.slice()) // a unit whose group is gone ends by itself as well
	}
}

func remove(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			remove(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir)
}
