package kubelet_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/cgroup"
)

// systemdCgroups lets systemd make the groups of the real node, where it runs the machine.
var systemdCgroups = os.Getenv("KEELSON_CGROUP_DRIVER") == "systemd"

// noUnits give groups the names of systemd.
type noUnits struct{}

func (noUnits) Start(context.Context, string, map[string]uint64) error  { return nil }
func (noUnits) Change(context.Context, string, map[string]uint64) error { return nil }
func (noUnits) Stop(context.Context, string) error                      { return nil }

// tree has the groups of the machine, with the names that those of the node have.
func (n *realNode) tree() *cgroup.Tree {
	tree := &cgroup.Tree{Mount: cgroup.DefaultMount}
	_, err := os.Stat(filepath.Join(tree.Mount, "cgroup.controllers"))
	tree.V2 = err == nil
	if systemdCgroups {
		tree.Units = noUnits{}
	}
	return tree
}

// groupDir is the folder of the group of all pods, or of one below it, in which a controller's files are.
func (n *realNode) groupDir(controller string, names ...string) string {
	return n.tree().Dir(controller, cgroup.Parse(n.cgroup(), false).Child("kubepods").Child(names...))
}

// setting reads the file of a group that has one name on version 1 and another on version 2.
func (n *realNode) setting(v1, v2 string, names ...string) string {
	file := v1
	if n.tree().V2 {
		file = v2
	}
	controller, _, _ := strings.Cut(v1, ".")
	b, err := os.ReadFile(filepath.Join(n.groupDir(controller, names...), file))
	require.NoError(n.t, err)
	return strings.TrimSpace(string(b))
}
