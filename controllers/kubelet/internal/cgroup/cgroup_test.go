package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The files and values are those of k8s.io/kubernetes/pkg/kubelet/cm/cgroup_manager_linux.go and
// github.com/opencontainers/cgroups, fs and fs2, v1.36.3.
func TestFiles(t *testing.T) {
	all := Settings{Shares: 512, Quota: 50000, Period: 100000, Memory: 1 << 20, PIDs: 10, Huge: map[string]int64{"2MB": 4 << 20, "1GB": -1}, CPUs: "0-1", Mems: "0"}
	none := Settings{Quota: -1, Period: 100000, Memory: -1, PIDs: -1}
	text := func(files []File) (lines []string) {
		for _, f := range files {
			lines = append(lines, strings.TrimPrefix(f.Controller+"/"+f.Name+" "+f.Value, "/"))
		}
		return lines
	}
	require.Equal(t, []string{"cpu/cpu.shares 512", "cpu/cpu.cfs_quota_us -1", "cpu/cpu.cfs_period_us 100000", "cpu/cpu.cfs_quota_us 50000",
		"memory/memory.limit_in_bytes 1048576", "pids/pids.max 10", "hugetlb/hugetlb.1GB.limit_in_bytes -1", "hugetlb/hugetlb.2MB.limit_in_bytes 4194304",
		"cpuset/cpuset.cpus 0-1", "cpuset/cpuset.mems 0"}, text(Files(false, all)))
	require.Equal(t, []string{"cpu/cpu.cfs_quota_us -1", "cpu/cpu.cfs_period_us 100000", "memory/memory.limit_in_bytes -1", "pids/pids.max max"}, text(Files(false, none)))
	require.Equal(t, []string{"cpu.weight 20", "cpu.max 50000 100000", "memory.max 1048576", "pids.max 10", "hugetlb.1GB.max max", "hugetlb.2MB.max 4194304",
		"cpuset.cpus 0-1", "cpuset.mems 0"}, text(Files(true, all)))
	require.Equal(t, []string{"cpu.max max 100000", "memory.max max", "pids.max max"}, text(Files(true, none)))
	protected := Settings{MemoryMin: 5, MemoryLow: -1}
	require.Equal(t, []string{"memory.min 5", "memory.low 0"}, text(Files(true, protected)))
	require.Empty(t, Files(false, protected), "version 1 has neither")
	require.Equal(t, map[string]uint64{"MemoryMin": 5, "MemoryLow": 0}, Properties(true, protected))
	require.Empty(t, Properties(false, protected))
	require.Empty(t, Files(false, Settings{}))
	require.Empty(t, Files(true, Settings{}))
	for shares, weight := range map[int64]int64{0: 1, 2: 1, 1024: 39, 262144: 10000, 1 << 40: 10000} {
		require.Equal(t, weight, Weight(shares))
	}
}

func TestNames(t *testing.T) {
	fs, systemd := Tree{}, Tree{Units: &unitsOf{}}
	pod := Parse("/", false).Child("kubepods", "burstable", "pod1234-abcd")
	require.Equal(t, "/kubepods/burstable/pod1234-abcd", fs.Path(pod))
	require.Equal(t, "/kubepods/burstable/pod1234-abcd", fs.Parent(pod))
	require.Equal(t, "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234_abcd.slice", systemd.Path(pod))
	require.Equal(t, "kubepods-burstable-pod1234_abcd.slice", systemd.Parent(pod))
	require.Equal(t, pod, Parse(systemd.Parent(pod), true))
	require.Equal(t, Name{"a", "b"}, Parse("/a//./b/", false))
	require.Equal(t, "/", fs.Path(Parse("", false)))
	require.Equal(t, Name{"system"}, Parse("/system.slice", true))
	require.Empty(t, Parse("-.slice", true))
	require.Empty(t, Parse("/", true))
	require.Equal(t, Name{"x"}, Parse("../../x", false), "nothing above the root")
}

// unitsOf are units in memory, whose groups are folders.
type unitsOf struct {
	tree  *Tree
	units map[string]map[string]uint64
}

func (s *unitsOf) Start(_ context.Context, slice string, p map[string]uint64) error {
	if s.units[slice] != nil {
		return errors.New("unit exists")
	}
	s.units[slice] = p
	return os.MkdirAll(filepath.Join(s.tree.Mount, s.tree.Path(Parse(slice, true))), 0o700)
}

func (s *unitsOf) Change(_ context.Context, slice string, p map[string]uint64) error {
	if s.units[slice] == nil {
		return errors.New("no such unit")
	}
	for k, v := range p {
		s.units[slice][k] = v
	}
	return nil
}

func (s *unitsOf) Stop(_ context.Context, slice string) error {
	delete(s.units, slice)
	return nil
}

// applied applies settings to a group and reports whether it was made.
func applied(t *testing.T, tree *Tree, n Name, s Settings) bool {
	made, err := tree.Apply(t.Context(), n, s)
	require.NoError(t, err, "%+v", s)
	return made
}

// With systemd, each group is a unit with the same limits as its files.
func TestSystemdUnits(t *testing.T) {
	u := &unitsOf{units: map[string]map[string]uint64{}}
	tree := &Tree{Mount: t.TempDir(), V2: true, Units: u}
	u.tree = tree
	name := Name{"kubepods", "pod1-2"}
	applied(t, tree, name[:1], Settings{Shares: 1024})
	require.True(t, applied(t, tree, name, Settings{Shares: 2, Memory: 5, Quota: 12345, Period: 100000, PIDs: 7}))
	require.Equal(t, map[string]uint64{"CPUWeight": 39}, u.units["kubepods.slice"])
	require.Equal(t, map[string]uint64{"CPUWeight": 1, "MemoryMax": 5, "CPUQuotaPerSecUSec": 130000, "TasksMax": 7}, u.units["kubepods-pod1_2.slice"])
	require.False(t, applied(t, tree, name, Settings{Memory: -1, Quota: -1, Period: 100000}))
	require.Equal(t, ^uint64(0), u.units["kubepods-pod1_2.slice"]["MemoryMax"])
	require.Equal(t, ^uint64(0), u.units["kubepods-pod1_2.slice"]["CPUQuotaPerSecUSec"])
	require.Equal(t, []string{"pod1-2"}, tree.Children(name[:1]))
	delete(u.units, "kubepods-pod1_2.slice") // a group of another driver
	applied(t, tree, name, Settings{Memory: 6})
	require.Contains(t, u.units, "kubepods-pod1_2.slice")
	tree.Remove(t.Context(), name)
	require.False(t, tree.Exists(name))
	require.Len(t, u.units, 1)
	require.Equal(t, map[string]uint64{"CPUShares": 100, "MemoryLimit": 9}, Properties(false, Settings{Shares: 100, Memory: 9}))
}

// The kernel takes all of it, in any order of larger and smaller, on the machine that runs the test.
func TestKernel(t *testing.T) {
	_, err := os.Stat(DefaultMount + "/cgroup.controllers")
	tree := &Tree{Mount: DefaultMount, V2: err == nil}
	parent := Name{fmt.Sprintf("keelson-test-%d", os.Getpid())}
	name := parent.Child("pod")
	if _, err := tree.Apply(t.Context(), name, Settings{}); err != nil {
		t.Skip("no cgroups to write:", err)
	}
	defer func() {
		tree.Remove(t.Context(), parent)
		require.False(t, tree.Exists(parent))
	}()
	// What is not written into a new group, because it is so, is what writing it makes of another.
	unlimited := Settings{Shares: 2, Quota: -1, Period: 100000, Memory: -1, PIDs: -1, MemoryMin: -1, MemoryLow: -1, Huge: map[string]int64{"2MB": -1}}
	require.True(t, applied(t, tree, parent.Child("new"), unlimited))
	applied(t, tree, name, Settings{Quota: 10000, Period: 50000, Memory: 1 << 30, PIDs: 5, MemoryMin: 1 << 20, MemoryLow: 1 << 20, Huge: map[string]int64{"2MB": 2 << 20}})
	require.False(t, applied(t, tree, name, unlimited))
	for _, f := range Files(tree.V2, unlimited) {
		read := func(n Name) string {
			b, err := os.ReadFile(filepath.Join(tree.Dir(f.Controller, n), f.Name))
			require.True(t, err == nil || f.Optional, "%v", err)
			return string(b)
		}
		require.Equal(t, read(name), read(parent.Child("new")), f.Name)
	}
	for _, s := range []Settings{
		{Shares: 512, Quota: 50000, Period: 100000, Memory: 64 << 20, PIDs: 100}, {Quota: 900000, Period: 1000000}, {Quota: 2000, Period: 1000},
		{Quota: -1, Period: 100000, Memory: -1, PIDs: -1}, {Memory: 32 << 20, Quota: 1000, Period: 1000000},
	} {
		applied(t, tree, name, s)
		last := map[string]File{}
		for _, f := range Files(tree.V2, s) {
			last[f.Name] = f
		}
		for _, f := range last {
			b, err := os.ReadFile(filepath.Join(tree.Dir(f.Controller, name), f.Name))
			if err != nil && f.Optional {
				continue
			}
			require.NoError(t, err)
			if f.Name == "memory.limit_in_bytes" && s.Memory < 0 {
				require.Greater(t, len(strings.TrimSpace(string(b))), 15, "no limit is a great number")
				continue
			}
			require.Equal(t, f.Value, strings.TrimSpace(string(b)), f.Name)
		}
	}
	if !tree.V2 {
		b, err := os.ReadFile(filepath.Join(tree.Dir("cpuset", name), "cpuset.cpus"))
		require.NoError(t, err)
		require.NotEmpty(t, strings.TrimSpace(string(b)), "nothing runs in a group without CPUs")
	}
}
