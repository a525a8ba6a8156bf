package volume

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
	// Driver and Handle identify the volume for its driver; empty if the kind has no drivers.
	Driver, Handle string
	// Inline is true if the volume is part of the pod.
	Inline bool
	// Device is true if the volume is a block device.
	Device bool
	// Label is the SELinux label that the volume was mounted with; empty if none was given.
	Label string
}

// unit is the volume of the node that is used. Calls for one unit happen one at a time.
func (r *Record) unit() string {
	if r.Driver == "" || r.Inline {
		return r.Kind + "/" + string(r.Pod) + "/" + r.Name
	}
	return r.Kind + "/" + r.Driver + "^" + r.Handle
}

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
	dataFile   = "vol_data.json"
	kindFolder = "kubernetes.io~"
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
	if r.Device {
		return filepath.Join(p.plugin(r.Kind), "volumeDevices", "publish", r.Name, string(r.Pod))
	}
	if r.Driver == "" {
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
	return filepath.Join(p.pod(r.Pod), "volumeDevices", kindFolder+r.Kind, r.Name)
}

// StageFolder holds the record of a stage.
func (p Paths) StageFolder(r *Record) string {
	if r.Device {
		return filepath.Join(p.plugin(r.Kind), "volumeDevices", r.Name, "data")
	}
	return filepath.Join(p.plugin(r.Kind), r.Driver, hash(r.Handle))
}

// Stage is where a driver stages a volume.
func (p Paths) Stage(r *Record) string {
	if r.Device {
		return filepath.Join(p.plugin(r.Kind), "volumeDevices", "staging", r.Name)
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
	if err := forget(p.StageFolder(r)); err != nil || !r.Device {
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
	for _, name := range names(filepath.Join(p.pod(uid), "volumeDevices", kindFolder+driven)) {
		r := Record{Kind: driven, Pod: uid, Name: name, Device: true}
		if err := load(p.Folder(&r), &r); err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, r)
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
			if driver == "volumeDevices" {
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
