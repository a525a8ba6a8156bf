package volume

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Record is what has to be known to take down a volume of a pod, or the stage of a volume of the node.
type Record struct {
	// Kind is the plugin's name, as folders have it, such as csi.
	Kind string
	// Pod is empty for a stage.
	Pod types.UID
	// Name is that of the PersistentVolume, or that of the pod's volume if it has none.
	Name string
	// Driver and Handle identify the volume for its driver. If the kind has no drivers, Driver is empty, and
	// Handle is the folder of the stage below that of the kind; empty if nothing is staged.
	Driver, Handle string
	// Unique names the volume in the status of the Node, if the kind has no drivers and volumes are attached.
	Unique corev1.UniqueVolumeName
	// Inline is true if the volume is a driver's and part of the pod.
	Inline bool
	// Device is true if the volume is a block device.
	Device bool
	// Label is the SELinux label that the volume was mounted with; empty if none was given.
	Label string
}

// unit is the volume of the node that is used. Calls for one unit happen one at a time.
func (r *Record) unit() string {
	switch {
	case r.Handle == "" || r.Inline:
		return r.Kind + "/" + string(r.Pod) + "/" + r.Name
	case r.Driver != "":
		return r.Kind + "/" + r.Driver + "^" + r.Handle
	case r.Device:
		return r.Kind + "/" + deviceFolder + "/" + r.Handle
	}
	return r.Kind + "/" + r.Handle
}

// unique is the name of the volume in the status of the Node.
func (r *Record) unique() corev1.UniqueVolumeName {
	if r.Unique != "" {
		return r.Unique
	}
	return corev1.UniqueVolumeName("kubernetes.io/" + r.unit())
}

// attached reports whether the volume is one that is attached to nodes.
func (r *Record) attached() bool { return r.Driver != "" && !r.Inline || r.Unique != "" }

// data is the form of a record in vol_data.json, which the records of Kubernetes 1.36 have.
type data struct {
	Name       string `json:"specVolID,omitempty"`
	Handle     string `json:"volumeHandle"`
	Driver     string `json:"driverName"`
	Node       string `json:"nodeName,omitempty"`
	Attachment string `json:"attachmentID,omitempty"`
	Mode       string `json:"volumeLifecycleMode,omitempty"`
	Label      string `json:"seLinuxMountContext,omitempty"`
}

const (
	dataFile     = "vol_data.json"
	kindFolder   = "kubernetes.io~"
	deviceFolder = "volumeDevices"
)

// Paths are where volumes are below the root directory of the kubelet.
type Paths struct {
	Root string // of the kubelet
	Node string // its name
}

// pod is the folder of a pod.
func (p Paths) pod(uid types.UID) string { return filepath.Join(p.Root, "pods", string(uid)) }

// plugin is the folder of a kind.
func (p Paths) plugin(kind string) string {
	return filepath.Join(p.Root, "plugins", "kubernetes.io", kind)
}

// Folder holds the record of a pod's volume, and, except for block devices, the volume.
func (p Paths) Folder(r *Record) string {
	if r.Device {
		return p.StageFolder(r)
	}
	return filepath.Join(p.pod(r.Pod), "volumes", kindFolder+r.Kind, r.Name)
}

// Target is where a driver publishes a volume for a pod.
func (p Paths) Target(r *Record) string {
	switch {
	case r.Device && r.Kind == driven:
		return filepath.Join(p.plugin(r.Kind), deviceFolder, "publish", r.Name, string(r.Pod))
	case r.Device:
		return filepath.Join(p.StageFolder(r), string(r.Pod))
	case r.Driver == "":
		return p.Folder(r)
	}
	return filepath.Join(p.Folder(r), "mount")
}

// Global is where the file system of a volume is mounted for the node, which pods then have parts of, for
// kinds without drivers.
func (p Paths) Global(r *Record) string { return filepath.Join(p.plugin(r.Kind), "mounts", r.Name) }

// Others are the folders that other pods have or had for the same volume, for kinds without drivers.
func (p Paths) Others(r *Record) (dirs []string) {
	for _, pod := range names(filepath.Join(p.Root, "pods")) {
		if other := (Record{Kind: r.Kind, Pod: types.UID(pod), Name: r.Name}); other.Pod != r.Pod {
			dirs = append(dirs, p.Folder(&other))
		}
	}
	return dirs
}

// Link leads from the folder of a pod to the block device. It is the pod's part of the record, and thus there
// before the device is.
func (p Paths) Link(r *Record) string {
	return filepath.Join(p.pod(r.Pod), deviceFolder, kindFolder+r.Kind, r.Name)
}

// StageFolder holds the record of a stage. For kinds without drivers, it is where the file system of the
// volume is mounted for the node, or holds the block devices of its pods; if nothing is staged, only these.
func (p Paths) StageFolder(r *Record) string {
	switch {
	case r.Kind == driven && r.Device:
		return filepath.Join(p.plugin(r.Kind), deviceFolder, r.Name, "data")
	case r.Kind == driven:
		return filepath.Join(p.plugin(r.Kind), r.Driver, hash(r.Handle))
	case r.Handle == "":
		return filepath.Join(p.Root, "plugins", kindFolder+r.Kind, deviceFolder, r.Name)
	case r.Device:
		return filepath.Join(p.plugin(r.Kind), deviceFolder, r.Handle)
	}
	return filepath.Join(p.plugin(r.Kind), r.Handle)
}

// Staged lists the folders of what pods of a kind without drivers have or had, whose handles match a pattern
// as of path.Match. What is in these folders is not looked at.
func (p Paths) Staged(kind, pattern string) (list []Record) {
	for _, device := range []bool{false, true} {
		base := p.plugin(kind)
		if device {
			base = filepath.Join(base, deviceFolder)
		}
		handles, _ := fs.Glob(os.DirFS(base), pattern) // the pattern is a constant
		for _, handle := range handles {
			if handle != deviceFolder {
				list = append(list, Record{Kind: kind, Handle: handle, Device: device})
			}
		}
	}
	return list
}

// find sets the handle of a pod's record of a kind without drivers: for a block device, that which its link
// leads to; for a file system, that which shares, of the mount points that peers returns, what is mounted.
func (p Paths) find(r *Record, peers func(path string) []string) {
	base := p.plugin(r.Kind)
	var paths []string
	if r.Device {
		base = filepath.Join(base, deviceFolder)
		paths = p.deviceOf(r, base)
	} else {
		paths = peers(p.Target(r))
		if real, err := filepath.EvalSymlinks(base); err == nil {
			base = real // as mount points are
		}
	}
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, base+string(filepath.Separator)); ok {
			r.Handle = rest
			return
		}
	}
}

// deviceOf returns the folder that has the device of a pod. The link to it is of this kubelet, or, from the
// real one, leads to the device itself, which is then looked for below base.
func (p Paths) deviceOf(r *Record, base string) (found []string) {
	to, err := os.Readlink(p.Link(r))
	if err != nil {
		return nil
	}
	if filepath.Base(to) == string(r.Pod) {
		return []string{filepath.Dir(to)}
	}
	device, err := os.Stat(to)
	if err != nil {
		return nil
	}
	_ = filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != string(r.Pod) {
			return nil //nolint:nilerr // what cannot be read is not it
		}
		if info, err := e.Info(); err == nil && os.SameFile(info, device) {
			found = append(found, filepath.Dir(path))
		}
		return nil
	})
	return found
}

// Stage is where a driver stages a volume.
func (p Paths) Stage(r *Record) string {
	if r.Device {
		return filepath.Join(p.plugin(r.Kind), deviceFolder, "staging", r.Name)
	}
	return filepath.Join(p.StageFolder(r), "globalmount")
}

// save writes the record of a pod's volume.
func (p Paths) save(r *Record) error {
	if err := p.write(p.Folder(r), r); err != nil || !r.Device {
		return err
	}
	link := p.Link(r)
	if err := os.MkdirAll(filepath.Dir(link), 0o750); err != nil {
		return err
	}
	if err := os.Symlink(p.Target(r), link); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// remove removes the record of a pod's volume.
func (p Paths) remove(r *Record) error {
	if r.Device {
		return removeEmpty(p.Link(r)) // the rest goes with the last pod
	}
	return forget(p.Folder(r))
}

// removeStage removes the record of a volume of the node.
func (p Paths) removeStage(r *Record) error {
	if err := forget(p.StageFolder(r)); err != nil || !r.Device || r.Kind != driven {
		return err
	}
	return removeEmpty(filepath.Dir(p.StageFolder(r)))
}

// write writes a record into a folder, which is made, all or nothing of it.
func (p Paths) write(dir string, r *Record) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	if r.Driver == "" {
		return nil // the folder says everything
	}
	d := data{Name: r.Name, Handle: r.Handle, Driver: r.Driver, Node: p.Node, Mode: "Persistent", Label: r.Label}
	if r.Inline {
		d.Mode = "Ephemeral"
	} else {
		d.Attachment = AttachmentName(r.Driver, r.Handle, p.Node)
	}
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, dataFile)
	if old, err := os.ReadFile(path); err == nil && string(old) == string(b) {
		return nil
	}
	return atomicfile.WriteSync(path, b)
}

// load reads the record of a folder. What cannot be read is an error: a volume that is not understood is not
// taken for one that is not there.
func load(dir string, r *Record) error {
	b, err := os.ReadFile(filepath.Join(dir, dataFile))
	if err != nil {
		return err
	}
	var d data
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, dataFile), err)
	}
	if d.Driver == "" || d.Handle == "" {
		return fmt.Errorf("%s names no driver or no volume", filepath.Join(dir, dataFile))
	}
	r.Driver, r.Handle, r.Inline, r.Label = d.Driver, d.Handle, d.Mode == "Ephemeral", d.Label
	if r.Name == "" {
		r.Name = d.Name
	}
	return nil
}

// forget removes a record and its folder, but nothing else.
func forget(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == dataFile || atomicfile.Temporary(e.Name()) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return removeEmpty(dir)
}

// removeEmpty removes a folder that must be empty, or a file's link.
func removeEmpty(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ofPod reads the records of a pod.
func (p Paths) ofPod(uid types.UID, kinds []string) (list []Record, err error) {
	var errs []error
	for _, kind := range kinds {
		base := filepath.Join(p.pod(uid), "volumes", kindFolder+kind)
		for _, name := range names(base) {
			r := Record{Kind: kind, Pod: uid, Name: name}
			if kind == driven {
				err := load(filepath.Join(base, name), &r)
				if errors.Is(err, fs.ErrNotExist) {
					// No driver was called. What is not empty is left to the removal of the pod's folder.
					_ = os.Remove(filepath.Join(base, name, "mount"))
					_ = os.Remove(filepath.Join(base, name))
					continue
				}
				if err != nil {
					errs = append(errs, err)
					continue
				}
			}
			list = append(list, r)
		}
	}
	for _, kind := range kinds {
		for _, name := range names(filepath.Join(p.pod(uid), deviceFolder, kindFolder+kind)) {
			r := Record{Kind: kind, Pod: uid, Name: name, Device: true}
			if kind == driven {
				if err := load(p.Folder(&r), &r); err != nil {
					errs = append(errs, err)
					continue
				}
			}
			list = append(list, r)
		}
	}
	return list, errors.Join(errs...)
}

// driven is the kind with drivers.
const driven = "csi"

// all reads the records of all pods and of all stages.
func (p Paths) all(kinds []string) (pods, stages []Record, err error) {
	var errs []error
	for _, uid := range names(filepath.Join(p.Root, "pods")) {
		list, err := p.ofPod(types.UID(uid), kinds)
		errs = append(errs, err)
		pods = append(pods, list...)
	}
	base := p.plugin(driven)
	for _, driver := range names(base) {
		for _, folder := range names(filepath.Join(base, driver)) {
			r := Record{Kind: driven}
			dir := filepath.Join(base, driver, folder)
			if driver == deviceFolder {
				r.Device, r.Name, dir = true, folder, filepath.Join(dir, "data")
			}
			switch err := load(dir, &r); {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				errs = append(errs, err)
			default:
				stages = append(stages, r)
			}
		}
	}
	return pods, stages, errors.Join(errs...)
}

// names are those of what is in a folder; none if it cannot be read.
func names(dir string) (list []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// exists reports whether there is a record of a pod's volume.
func (p Paths) exists(r *Record) bool {
	path := p.Folder(r)
	switch {
	case r.Device:
		path = p.Link(r)
	case r.Driver != "":
		path = filepath.Join(path, dataFile)
	}
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
