//go:build !linux

package kubelet

import "os"

func newMounter() mounter { return folders{} }

func openNoLinks(string, string) (*os.File, error) { return nil, errNoMounts }
