package kubelet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/controllers/internal/attachable"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// iscsi reaches disks at targets, with iscsiadm(8). One session of a target, portal and interface serves all
// of the target's disks on this node that are reached through the interface, and ends with the last of them.
type iscsi struct {
	tools *tools
	paths volume.Paths
	// secret returns the data of a Secret.
	secret func(ctx context.Context, namespace, name string) (map[string]string, error)
	log    *slog.Logger

	targets turns // by qualified name: a volume does not log out while another logs in
}

// iscsiDisk is where a disk is. It is kept, in this form, in the stage of the disk for when it is detached.
type iscsiDisk struct {
	VolName string
	Portals []string
	Iqn     string
	Lun     string
	// InitIface is the interface that is configured on the node, and Iface the one that is used: a copy of it
	// if the volume has an InitiatorName.
	InitIface     string
	Iface         string
	InitiatorName string
}

const iscsiFile = "iscsi.json"

// iscsiSource is the part of a volume that describes its disk.
func iscsiSource(s *volume.Spec) *corev1.ISCSIPersistentVolumeSource {
	if s.PV != nil {
		return s.PV.Spec.ISCSI
	}
	v := s.Volume.ISCSI
	src := &corev1.ISCSIPersistentVolumeSource{TargetPortal: v.TargetPortal, IQN: v.IQN, Lun: v.Lun, ISCSIInterface: v.ISCSIInterface, FSType: v.FSType, ReadOnly: v.ReadOnly,
		Portals: v.Portals, DiscoveryCHAPAuth: v.DiscoveryCHAPAuth, SessionCHAPAuth: v.SessionCHAPAuth, InitiatorName: v.InitiatorName}
	if v.SecretRef != nil {
		src.SecretRef = &corev1.SecretReference{Name: v.SecretRef.Name}
	}
	return src
}

// newISCSIDisk is the disk of a volume of that name.
func newISCSIDisk(src *corev1.ISCSIPersistentVolumeSource, name string) *iscsiDisk {
	d := &iscsiDisk{VolName: name, Iqn: src.IQN, Lun: strconv.Itoa(int(src.Lun)), InitIface: cmp.Or(src.ISCSIInterface, "default")}
	for _, portal := range append([]string{src.TargetPortal}, src.Portals...) {
		if !strings.Contains(portal, ":") || strings.HasSuffix(portal, "]") {
			portal += ":3260"
		}
		if !slices.Contains(d.Portals, portal) {
			d.Portals = append(d.Portals, portal)
		}
	}
	d.Iface = d.InitIface
	if src.InitiatorName != nil && *src.InitiatorName != "" {
		d.InitiatorName, d.Iface = *src.InitiatorName, d.ownIface()
	}
	return d
}

// ownIface is the name of the interface that is made for a disk with an InitiatorName.
func (d *iscsiDisk) ownIface() string { return d.Portals[0] + ":" + d.VolName }

const ifacePrefix = "iface-"

// disk implements diskNetwork.
func (*iscsi) disk(s *volume.Spec) (r volume.Record, kind string, err error) {
	src := iscsiSource(s)
	d := newISCSIDisk(src, s.Name())
	for _, text := range []string{d.Iface, d.Portals[0], d.Iqn} {
		if !isPathElement(text) {
			return r, "", fmt.Errorf("iscsi: %q is not the name of a portal, target or interface", text)
		}
	}
	return volume.Record{Kind: kindISCSI, Handle: ifacePrefix + d.Iface + "/" + d.Portals[0] + "-" + d.Iqn + "-lun-" + d.Lun,
		Unique: attachable.ISCSI(src.TargetPortal, src.IQN, src.Lun)}, src.FSType, nil
}

// handles implements diskNetwork.
func (*iscsi) handles() string { return ifacePrefix + "*/*-lun-*" }

// describe implements diskNetwork. That a portal was specified without its port is not in the handle.
func (*iscsi) describe(r *volume.Record) {
	d := iscsiHandle(r.Handle)
	n, _ := strconv.ParseInt(d.Lun, 10, 32)
	r.Unique = attachable.ISCSI(d.Portals[0], d.Iqn, int32(n))
}

// iscsiHandle is what a handle says of a disk: all but further portals and the name of the initiator.
func iscsiHandle(handle string) *iscsiDisk {
	iface, disk, _ := strings.Cut(strings.TrimPrefix(handle, ifacePrefix), "/")
	disk, lun, _ := cutLast(disk, "-lun-")
	portal, iqn := disk, ""
	for _, kind := range []string{"-iqn.", "-eui.", "-naa."} {
		if at := strings.Index(disk, kind); at >= 0 {
			portal, iqn = disk[:at], disk[at+1:]
			break
		}
	}
	return &iscsiDisk{Portals: []string{portal}, Iqn: iqn, Lun: lun, InitIface: iface, Iface: iface}
}

func cutLast(text, sep string) (before, after string, found bool) {
	if at := strings.LastIndex(text, sep); at >= 0 {
		return text[:at], text[at+len(sep):], true
	}
	return text, "", false
}

// save notes a disk in its stage.
func (p *iscsi) save(r *volume.Record, d *iscsiDisk) error {
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return atomicfile.WriteSync(filepath.Join(p.paths.StageFolder(r), iscsiFile), b)
}

// load returns the disk of a stage, with what its handle says if what was noted cannot be read.
func (p *iscsi) load(r *volume.Record) *iscsiDisk {
	known := iscsiHandle(r.Handle)
	path := filepath.Join(p.paths.StageFolder(r), iscsiFile)
	b, err := os.ReadFile(path)
	d := &iscsiDisk{}
	if err == nil {
		err = json.Unmarshal(b, d)
	}
	if err == nil && (len(d.Portals) == 0 || d.Iqn != known.Iqn || d.Lun != known.Lun || d.Iface != known.Iface) {
		err = errors.New("it is about another disk")
	}
	if err != nil {
		p.log.Warn("read iSCSI disk failed; only its first portal is logged out", "file", path, "err", err)
		return known
	}
	return d
}

// admin runs iscsiadm.
func (p *iscsi) admin(ctx context.Context, args ...string) (string, error) {
	return p.tools.program(ctx, "iscsiadm", args...)
}

const (
	iscsiAttempts    = 5  // to reach a disk by two paths; after them one will do
	iscsiAttemptsFew = 2  // to reach a disk by all paths; after them two will do
	iscsiSeconds     = 30 // for a device to come
	iscsiJoinSeconds = 10 // for the device that joins several paths
)

// attach implements diskNetwork.
func (p *iscsi) attach(ctx context.Context, s *volume.Spec, r *volume.Record) (string, error) {
	src := iscsiSource(s)
	a := &iscsiAttaching{iscsi: p, iscsiDisk: newISCSIDisk(src, s.Name()), src: src}
	var err error
	if a.chap, err = p.chap(ctx, s, src); err != nil {
		return "", err
	}
	if err := p.save(r, a.iscsiDisk); err != nil {
		return "", err
	}
	out, err := p.admin(ctx, "-m", "iface", "-I", a.InitIface, "-o", "show")
	if err != nil {
		return "", fmt.Errorf("iscsi: could not read iface %s: %w %s", a.InitIface, err, out)
	}
	settings, err := ifaceSettings(out)
	if err != nil {
		return "", err
	}
	a.transport = cmp.Or(settings["iface.transport_name"], "tcp")
	if a.InitiatorName != "" {
		if err := a.cloneIface(ctx, settings); err != nil {
			return "", err
		}
	}
	done, err := p.targets.take(ctx, a.Iqn)
	if err != nil {
		return "", err
	}
	defer done()
	links, err := a.links(ctx)
	if err != nil {
		return "", err
	}
	return a.join(ctx, links)
}

// chap returns what authenticates the node and the target to each other.
func (p *iscsi) chap(ctx context.Context, s *volume.Spec, src *corev1.ISCSIPersistentVolumeSource) (map[string]string, error) {
	if src.SecretRef == nil || !src.DiscoveryCHAPAuth && !src.SessionCHAPAuth {
		return nil, nil
	}
	namespace := cmp.Or(src.SecretRef.Namespace, s.Pod.Namespace)
	data, err := p.secret(ctx, namespace, src.SecretRef.Name)
	if err != nil {
		return nil, fmt.Errorf("couldn't get secret %s/%s error: %w", namespace, src.SecretRef.Name, err)
	}
	return data, nil
}

// ifaceSettings are the settings of an interface that are not empty.
func ifaceSettings(shown string) (map[string]string, error) {
	settings := map[string]string{}
	for line := range strings.Lines(shown) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " = ")
		switch {
		case !strings.HasPrefix(name, "iface.") || value == "<empty>":
		case !ok || strings.ContainsAny(value, " \t"):
			return nil, fmt.Errorf("error: invalid iface setting: %s", strings.TrimSpace(line))
		default:
			settings[name] = value
		}
	}
	return settings, nil
}

// iscsiAttaching is the attaching of a disk.
type iscsiAttaching struct {
	*iscsi
	*iscsiDisk
	src       *corev1.ISCSIPersistentVolumeSource
	chap      map[string]string
	transport string
	hosts     map[string]int
}

const sessionExists = 15 // the code of iscsiadm

// cloneIface makes an interface for the disk that differs from the configured one in the initiator's name.
func (a *iscsiAttaching) cloneIface(ctx context.Context, settings map[string]string) error {
	settings = maps.Clone(settings)
	delete(settings, "iface.iscsi_ifacename")
	settings["iface.initiatorname"] = a.InitiatorName
	out, err := a.admin(ctx, "-m", "iface", "-I", a.Iface, "-o", "new")
	if err != nil && exitCode(err) != sessionExists {
		return fmt.Errorf("iscsi: failed to create new iface: %s (%w)", out, err)
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if out, err := a.admin(ctx, "-m", "iface", "-I", a.Iface, "-o", "update", "-n", name, "-v", settings[name]); err != nil {
			a.deleteIface(ctx)
			return fmt.Errorf("iscsi: failed to update iface records: %s (%w)", out, err)
		}
	}
	return nil
}

// deleteIface deletes the interface that was made for the disk, if nothing uses it.
func (a *iscsiAttaching) deleteIface(ctx context.Context) {
	if a.InitiatorName != "" {
		_, _ = a.admin(ctx, "-m", "iface", "-I", a.Iface, "-o", "delete")
	}
}

// links reaches the disk through as many portals as it can, and returns the links to its devices.
func (a *iscsiAttaching) links(ctx context.Context) ([]string, error) {
	var err error
	if a.hosts, err = a.tools.iscsiHosts(a.Iqn, a.Iface); err != nil {
		return nil, err
	}
	var last error
	found := map[string]string{} // by portal
	for attempt := 1; ; attempt++ {
		for _, portal := range a.Portals {
			if found[portal] != "" {
				continue
			}
			link, err := a.reach(ctx, portal)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				last = err
				continue
			}
			found[portal] = link
		}
		if len(found) == 0 {
			a.deleteIface(ctx)
			return nil, fmt.Errorf("failed to get any path for iscsi disk, last err seen:\n%w", last)
		}
		if len(found) == len(a.Portals) || len(found) >= 2 && attempt >= iscsiAttemptsFew || attempt == iscsiAttempts {
			break
		}
	}
	if last != nil {
		a.log.Warn("not all paths of an iSCSI disk are there", "target", a.Iqn, "lun", a.Lun, "paths", len(found), "portals", len(a.Portals), "err", last)
	}
	var links []string
	for _, portal := range a.Portals {
		if found[portal] != "" {
			links = append(links, found[portal])
		}
	}
	return links, nil
}

// reach logs in at a portal, unless there is a session, and waits for the disk.
func (a *iscsiAttaching) reach(ctx context.Context, portal string) (link string, err error) {
	host, ok := a.hosts[portal]
	if !ok {
		if err := a.login(ctx, portal); err != nil {
			return "", err
		}
		if a.hosts, err = a.tools.iscsiHosts(a.Iqn, a.Iface); err != nil {
			return "", err
		}
		if host, ok = a.hosts[portal]; !ok {
			return "", fmt.Errorf("could not get SCSI host number for portal %s after logging in", portal)
		}
	}
	// Only the disk itself is looked for: others would stay, for no volume removes them.
	if err := a.tools.write("0 0 "+a.Lun, "sys/class/scsi_host", "host"+strconv.Itoa(host), "scan"); err != nil {
		return "", err
	}
	prefix := "ip-"
	if a.transport != "tcp" {
		prefix = "pci-*-ip-" // of the adapter that has the session
	}
	name := strings.NewReplacer("[", "", "]", "").Replace(portal) + "-iscsi-" + a.Iqn + "-lun-" + a.Lun
	for n := 0; ; n++ {
		for _, link := range a.tools.entries("", "dev/disk/by-path") {
			start, ok := strings.CutSuffix(link, name)
			if ok && (start == prefix || prefix != "ip-" && strings.HasPrefix(start, "pci-") && strings.HasSuffix(start, "-ip-")) {
				return a.tools.path("dev/disk/by-path", link), nil
			}
		}
		if n == iscsiSeconds-1 {
			return "", fmt.Errorf("Timed out waiting for device at path %s after %ds", a.tools.path("dev/disk/by-path", prefix+name), iscsiSeconds)
		}
		if err := backoff.Sleep(ctx, time.Second); err != nil {
			return "", err
		}
	}
}

// login finds the target at a portal, and logs in.
func (a *iscsiAttaching) login(ctx context.Context, portal string) error {
	discovery := []string{"-m", "discoverydb", "-t", "sendtargets", "-p", portal, "-I", a.Iface}
	node := []string{"-m", "node", "-p", portal, "-T", a.Iqn, "-I", a.Iface}
	run := func(base []string, args ...string) (string, error) {
		return a.admin(ctx, slices.Concat(base, args)...)
	}
	_, _ = run(discovery, "-o", "new") // it may be there
	if a.src.DiscoveryCHAPAuth {
		if err := a.authenticate(run, discovery, "discovery.sendtargets.auth."); err != nil {
			return fmt.Errorf("iscsi: failed to update discoverydb to portal %s error: %w", portal, err)
		}
	}
	if out, err := run(discovery, "--discover"); err != nil {
		_, _ = run(discovery, "-o", "delete")
		return fmt.Errorf("iscsi: failed to sendtargets to portal %s output: %s, err %w", portal, out, err)
	}
	// Else the kernel would find all disks of the target. Old versions of iscsiadm do not have it.
	if out, err := run(node, "-o", "update", "-n", "node.session.scan", "-v", "manual"); err != nil {
		a.log.Warn("set node.session.scan failed: disks that no pod uses may appear", "target", a.Iqn, "portal", portal, "err", err, "output", out)
	}
	if a.src.SessionCHAPAuth {
		if err := a.authenticate(run, node, "node.session.auth."); err != nil {
			return fmt.Errorf("iscsi: failed to update iscsi node to portal %s error: %w", portal, err)
		}
	}
	if out, err := run(node, "--login"); err != nil {
		_, _ = run(node, "-o", "delete")
		return fmt.Errorf("iscsi: failed to attach disk: Error: %s (%w)", out, err)
	}
	// The machine must not wait for the target when it starts.
	if out, err := a.admin(ctx, "-m", "node", "-p", portal, "-T", a.Iqn, "-o", "update", "-n", "node.startup", "-v", "manual"); err != nil {
		a.log.Warn("set node.startup failed", "target", a.Iqn, "portal", portal, "err", err, "output", out)
	}
	return nil
}

// authenticate sets what CHAP needs in a record. Errors do not have it.
func (a *iscsiAttaching) authenticate(run func([]string, ...string) (string, error), record []string, prefix string) error {
	if out, err := run(record, "-o", "update", "-n", prefix+"authmethod", "-v", "CHAP"); err != nil {
		return fmt.Errorf("set CHAP: %w: %s", err, out)
	}
	for _, name := range []string{"username", "password", "username_in", "password_in"} {
		if value := a.chap[prefix+name]; value != "" {
			if out, err := run(record, "-o", "update", "-n", prefix+name, "-v", value); err != nil {
				return fmt.Errorf("key %q: %w: %s", prefix+name, err, out)
			}
		}
	}
	return nil
}

// join returns the device that joins the paths of a disk, for which it waits if there are several portals; or
// else the first path.
func (a *iscsiAttaching) join(ctx context.Context, links []string) (string, error) {
	tries := 1
	if len(a.Portals) > 1 {
		tries = iscsiJoinSeconds
	}
	for n := 0; n < tries; n++ {
		if n > 0 {
			if err := backoff.Sleep(ctx, time.Second); err != nil {
				return "", err
			}
		}
		var devices []string
		for _, link := range links {
			if device := a.tools.deviceOf(link); device != "" {
				devices = append(devices, device)
			}
		}
		if joined := a.tools.multipaths(devices); len(joined) > 0 {
			return a.tools.path("dev", joined[0]), nil
		}
	}
	return links[0], nil
}

// detach implements diskNetwork. It removes the devices of the disk, and logs out after the last disk of the
// target.
func (p *iscsi) detach(ctx context.Context, r *volume.Record, alone bool) error {
	d := p.load(r)
	if alone {
		p.removeDevices(ctx, d)
	}
	done, err := p.targets.take(ctx, d.Iqn)
	if err != nil {
		return err
	}
	defer done()
	if !p.busy(r, d) {
		if err := p.logout(ctx, d); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(p.paths.StageFolder(r), iscsiFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeDevices has the kernel forget a disk. What fails is only logged: logging out removes it too.
func (p *iscsi) removeDevices(ctx context.Context, d *iscsiDisk) {
	devices := p.tools.iscsiDevices(d.Iqn, d.Lun)
	for _, joined := range p.tools.multipaths(devices) {
		if out, err := p.tools.program(ctx, "multipath", "-f", p.tools.path("dev", joined)); err != nil {
			p.log.Warn("flush multipath device failed", "device", joined, "err", err, "output", out)
		}
	}
	for _, device := range devices {
		if err := p.tools.removeDevice(device); err != nil {
			p.log.Warn("remove device failed", "device", device, "err", err)
		}
	}
}

// busy reports whether another stage uses a session of the disk: one of the same interface, or one whose
// interface has no session. The real kubelet makes none where there is one of another interface.
func (p *iscsi) busy(r *volume.Record, d *iscsiDisk) bool {
	return slices.ContainsFunc(p.paths.Staged(r.Kind, p.handles()), func(o volume.Record) bool {
		other := iscsiHandle(o.Handle)
		if other.Iqn != d.Iqn || o.Handle == r.Handle && o.Device == r.Device {
			return false
		}
		hosts, err := p.tools.iscsiHosts(d.Iqn, other.Iface)
		return other.Iface == d.Iface || err != nil || len(hosts) == 0
	})
}

// logout ends the sessions of a disk and forgets its target. Without a session, it cannot fail: what was
// never logged in, because nothing answers for example, needs no end.
func (p *iscsi) logout(ctx context.Context, d *iscsiDisk) error {
	hosts, err := p.tools.iscsiHosts(d.Iqn, d.Iface)
	if err != nil {
		return err
	}
	const noSession, noRecord = 2, 21 // the codes of iscsiadm
	run := func(args ...string) error {
		out, err := p.admin(ctx, args...)
		if code := exitCode(err); err == nil || code == noSession || code == noRecord {
			return nil
		}
		err = fmt.Errorf("iscsiadm %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(out))
		if len(hosts) == 0 && ctx.Err() == nil {
			p.log.Warn("forget iSCSI target failed; there is no session", "target", d.Iqn, "err", err)
			return nil
		}
		return err
	}
	for _, portal := range d.Portals {
		if err := run("-m", "node", "-p", portal, "-T", d.Iqn, "--logout", "-I", d.Iface); err != nil {
			return err
		}
		if err := run("-m", "node", "-p", portal, "-T", d.Iqn, "-o", "delete", "-I", d.Iface); err != nil {
			return err
		}
	}
	if d.InitiatorName != "" && d.Iface == d.ownIface() {
		return run("-m", "iface", "-I", d.Iface, "-o", "delete")
	}
	return nil
}

// iscsiSession is a session of a target, as the kernel shows it.
type iscsiSession struct {
	host    int
	iface   string
	portals []string
	path    string // below the root of the machine
}

// iscsiSessions returns the sessions of a target. Those that end meanwhile are left out.
func (t *tools) iscsiSessions(iqn string) (list []iscsiSession, err error) {
	const hosts = "sys/class/iscsi_host"
	if _, err := os.ReadDir(t.path(hosts)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, host := range t.entries("host", hosts) {
		number, err := strconv.Atoi(strings.TrimPrefix(host, "host"))
		if err != nil {
			continue
		}
		for _, name := range t.entries("session", hosts, host, "device") {
			s := iscsiSession{host: number, path: filepath.Join(hosts, host, "device", name)}
			if target, err := t.read(s.path, "iscsi_session", name, "targetname"); err != nil || target != iqn {
				continue
			}
			if s.iface, err = t.read(s.path, "iscsi_session", name, "ifacename"); err != nil {
				continue
			}
			for _, connection := range t.entries("connection", s.path) {
				at := filepath.Join(s.path, connection, "iscsi_connection", connection)
				for _, kind := range []string{"", "persistent_"} {
					address, err1 := t.read(at, kind+"address")
					port, err2 := t.read(at, kind+"port")
					if err1 == nil && err2 == nil {
						s.portals = append(s.portals, net.JoinHostPort(address, port))
					}
				}
			}
			list = append(list, s)
		}
	}
	return list, nil
}

// iscsiHosts returns the numbers of the SCSI hosts that have sessions of a target through an interface, by
// portal.
func (t *tools) iscsiHosts(iqn, iface string) (map[string]int, error) {
	sessions, err := t.iscsiSessions(iqn)
	hosts := map[string]int{}
	for _, s := range sessions {
		if s.iface != iface {
			continue
		}
		for _, portal := range s.portals {
			hosts[portal] = s.host
		}
	}
	return hosts, err
}

// iscsiDevices returns the names of the block devices of a disk, one a session.
func (t *tools) iscsiDevices(iqn, lun string) (devices []string) {
	sessions, _ := t.iscsiSessions(iqn)
	for _, s := range sessions {
		at := fmt.Sprintf("%d:0:0", s.host)
		if names := t.entries("", s.path, "target"+at, at+":"+lun, "block"); len(names) > 0 {
			devices = append(devices, names[0])
		}
	}
	return devices
}
