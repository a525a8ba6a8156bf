package kubelet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/attachable"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// fibreChannel finds disks that a host bus adapter reaches: by the ports of their targets and their number
// there, or by identifiers of their own. udev makes links with these names.
type fibreChannel struct {
	tools *tools
	log   *slog.Logger
}

// fcSource is the part of a volume that describes its disk.
func fcSource(s *volume.Spec) *corev1.FCVolumeSource {
	if s.PV != nil {
		return s.PV.Spec.FC
	}
	return s.Volume.FC
}

// disk implements diskNetwork.
func (*fibreChannel) disk(s *volume.Spec) (r volume.Record, kind string, err error) {
	src := fcSource(s)
	r = volume.Record{Kind: kindFC, Unique: attachable.FC(src)}
	var names []string
	switch {
	case len(src.TargetWWNs) > 0 && src.Lun != nil:
		names = src.TargetWWNs
		r.Handle = strings.Join(names, "-") + "-lun-" + strconv.Itoa(int(*src.Lun))
	case len(src.WWIDs) > 0:
		names = src.WWIDs
		r.Handle = strings.ReplaceAll(strings.Join(names, "-"), " ", "_")
	default:
		return r, "", errors.New("fc: no fc disk information found. failed to make a new mounter")
	}
	for _, name := range names {
		if !isPathElement(name) {
			return r, "", fmt.Errorf("fc: %q is not the name of a port or a disk", name)
		}
	}
	return r, src.FSType, nil
}

// isPathElement reports whether a text can be a part of a file's name.
func isPathElement(text string) bool {
	return text != "" && !strings.ContainsAny(text, "/\x00") && !strings.HasPrefix(text, ".")
}

// handles implements diskNetwork.
func (*fibreChannel) handles() string { return "*" }

// describe implements diskNetwork.
func (*fibreChannel) describe(r *volume.Record) {
	names, lun := fcHandle(r.Handle)
	if lun == "" {
		r.Unique = attachable.FC(&corev1.FCVolumeSource{WWIDs: names})
		return
	}
	n, _ := strconv.ParseInt(lun, 10, 32)
	r.Unique = attachable.FC(&corev1.FCVolumeSource{TargetWWNs: names, Lun: new(int32(n))})
}

// fcHandle divides a handle: lun is empty if names are the identifiers of disks.
func fcHandle(handle string) (names []string, lun string) {
	if at := strings.LastIndex(handle, "-lun-"); at > 0 {
		return strings.Split(handle[:at], "-"), handle[at+len("-lun-"):]
	}
	return strings.Split(handle, "-"), ""
}

// attach implements diskNetwork. Disks that the adapters have not found yet are searched for once.
func (f *fibreChannel) attach(_ context.Context, _ *volume.Spec, r *volume.Record) (string, error) {
	for scanned := false; ; scanned = true {
		found := f.find(r.Handle)
		if joined := f.tools.multipaths(found); len(joined) > 0 {
			return f.tools.path("dev", joined[0]), nil
		}
		if !scanned {
			f.scan()
			continue
		}
		if len(found) == 0 {
			return "", errors.New("no fc disk found")
		}
		return f.tools.path("dev", found[0]), nil
	}
}

// find returns the names of the devices that are paths to a disk.
func (f *fibreChannel) find(handle string) (devices []string) {
	names, lun := fcHandle(handle)
	folder := "dev/disk/by-id"
	if lun != "" {
		folder = "dev/disk/by-path"
	}
	for _, name := range names {
		pattern := "^scsi-" + regexp.QuoteMeta(name) + "$"
		if lun != "" {
			pattern = "^(pci-.*-fc|fc)-0x" + regexp.QuoteMeta(name) + "-lun-" + regexp.QuoteMeta(lun) + "$"
		}
		match := regexp.MustCompile(pattern)
		for _, link := range f.tools.entries("", folder) {
			if !match.MatchString(link) {
				continue
			}
			if device := f.tools.deviceOf(f.tools.path(folder, link)); device != "" && !slices.Contains(devices, device) {
				devices = append(devices, device)
			}
		}
	}
	return devices
}

// scan lets all adapters look for disks.
func (f *fibreChannel) scan() {
	for _, host := range f.tools.entries("", "sys/class/scsi_host") {
		if err := f.tools.write("- - -", "sys/class/scsi_host", host, "scan"); err != nil {
			f.log.Warn("scan SCSI host failed", "host", host, "err", err)
		}
	}
}

// detach implements diskNetwork.
func (f *fibreChannel) detach(ctx context.Context, r *volume.Record, alone bool) error {
	if !alone {
		return nil
	}
	devices := f.find(r.Handle)
	for _, joined := range f.tools.multipaths(devices) {
		paths := f.tools.entries("", "sys/block", joined, "slaves") // which are all known only before it goes
		if out, err := f.tools.program(ctx, "multipath", "-f", f.tools.path("dev", joined)); err != nil {
			return fmt.Errorf("failed to flush multipath device %s: %w\n%s", f.tools.path("dev", joined), err, out)
		}
		devices = slices.DeleteFunc(append(devices, paths...), func(device string) bool { return device == joined })
	}
	slices.Sort(devices)
	var errs []error
	for _, device := range slices.Compact(devices) {
		if out, err := f.tools.program(ctx, "blockdev", "--flushbufs", f.tools.path("dev", device)); err != nil {
			f.log.Warn("flush device failed", "device", device, "err", err, "output", out)
		}
		if err := f.tools.removeDevice(device); err != nil {
			errs = append(errs, fmt.Errorf("fc: remove device %s: %w", device, err))
		}
	}
	return errors.Join(errs...)
}
