package kubelet

// mounter mounts file systems; tests and other systems than Linux use plain folders.
type mounter interface {
	// tmpfs mounts a file system in memory at dir if none is mounted there; size 0 means half the memory.
	tmpfs(dir string, size int64) error
	// below lists the mount points inside dir.
	below(dir string) ([]string, error)
	unmount(dir string) error
}

// folders mounts nothing.
type folders struct{}

func (folders) tmpfs(string, int64) error      { return nil }
func (folders) below(string) ([]string, error) { return nil, nil }
func (folders) unmount(string) error           { return nil }
