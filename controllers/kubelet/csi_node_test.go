package kubelet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/csi"
)

// What an earlier driver of the name reports, or that it has gone, changes nothing about the one that is
// registered now.
func TestACSIDriverInThePlaceOfAnotherIsShown(t *testing.T) {
	c := &csiNode{k: &Kubelet{node: &node{nudge: make(chan struct{}, 1)}}, shown: map[string]shownDriver{}}
	ids := func() (list []string) {
		for _, d := range c.merged([]storagev1.CSINodeDriver{{Name: "a", NodeID: "before"}, {Name: "others", NodeID: "o"}}) {
			list = append(list, d.Name+" "+d.NodeID)
		}
		return list
	}
	require.Equal(t, []string{"a before", "others o"}, ids())
	old, now := &csi.Driver{Name: "a"}, &csi.Driver{Name: "a"}
	c.show(old, &csi.Info{NodeID: "1"})
	require.Equal(t, []string{"a 1", "others o"}, ids())
	c.show(now, &csi.Info{NodeID: "2"})
	c.update(old, &csi.Info{NodeID: "3"})
	require.Equal(t, []string{"a 2", "others o"}, ids())
	c.update(old, nil)
	require.Equal(t, []string{"a 2", "others o"}, ids())
	c.update(now, &csi.Info{NodeID: "4"})
	require.Equal(t, []string{"a 4", "others o"}, ids())
	c.update(now, nil)
	require.Equal(t, []string{"others o"}, ids())
}
