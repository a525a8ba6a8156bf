//go:build !linux

package kubelet

func newMounter() mounter { return folders{} }
