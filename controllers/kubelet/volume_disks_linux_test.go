package kubelet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// san is a machine with fake programs and fake files of the kernel, and a manager of the volumes of its pods.
// Sessions of targets and disks come and go as the programs say.
type san struct {
	t     *testing.T
	root  string // of the machine
	paths volume.Paths
	m     *volume.Manager
	stop  func()

	mu      sync.Mutex
	pvs     map[string]*corev1.PersistentVolume // by claim
	secrets map[string]map[string]string
	missing bool              // the node's status does not have volumes as attached
	ran     []string          // programs with their arguments, and mounts
	answers map[string]reply  // of programs, by a part of the command
	formats map[string]string // by device
	mounts  map[string]string // what is mounted, by where
	events  []string
	hosts   int
	disks   int
	silent  bool // disks do not appear
	joined  bool // disks of several sessions are joined
}

type reply struct {
	out  string
	err  error
	hang bool
}

// exit is the code with which a program has ended.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
func (e exit) ExitCode() int { return int(e) }

// onSAN runs f on virtual time.
func onSAN(t *testing.T, f func(t *testing.T, x *san)) {
	synctest.Test(t, func(t *testing.T) {
		x := &san{t: t, root: t.TempDir(), pvs: map[string]*corev1.PersistentVolume{}, secrets: map[string]map[string]string{}, answers: map[string]reply{},
			formats: map[string]string{}, mounts: map[string]string{}}
		x.paths = volume.Paths{Root: filepath.Join(x.root, "kubelet"), Node: "n1"}
		for _, dir := range []string{"dev/disk/by-path", "dev/disk/by-id", "sys/block", "sys/class/scsi_host"} {
			require.NoError(t, os.MkdirAll(filepath.Join(x.root, dir), 0o750))
		}
		x.start()
		f(t, x)
		x.stop()
	})
}

// start starts the manager, as a kubelet that begins does.
func (x *san) start() {
	with := &tools{root: x.root, run: x.run}
	log := slog.New(slog.DiscardHandler)
	part := mountPlugin{mounts: sanMounts{san: x}, tools: with, paths: x.paths}
	secret := func(_ context.Context, namespace, name string) (map[string]string, error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if s := x.secrets[namespace+"/"+name]; s != nil {
			return s, nil
		}
		return nil, errors.New("not found")
	}
	host := &sanHost{san: x, plugins: map[string]volume.Plugin{
		kindISCSI: newDiskPlugin(part, &iscsi{tools: with, paths: x.paths, secret: secret, log: log}, true),
		kindFC:    newDiskPlugin(part, &fibreChannel{tools: with, log: log}, true),
	}}
	ctx, cancel := context.WithCancel(x.t.Context())
	x.m = volume.New(volume.Options{Paths: x.paths, Host: host, Plugins: host.plugins, Interval: time.Minute, Logger: log})
	wait, err := x.m.Start(ctx)
	require.NoError(x.t, err)
	x.stop = func() { cancel(); wait() }
}

// restart ends the manager, which leaves everything as it is, and starts another.
func (x *san) restart() {
	x.t.Helper()
	x.stop()
	x.start()
}

// want makes a volume for a pod, and waits for a second.
func (x *san) want(pod string, v corev1.VolumeSource) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod, UID: types.UID("uid-" + pod)}}
	x.m.Want(p, []*corev1.Volume{{Name: "data", VolumeSource: v}})
	time.Sleep(time.Second)
	return p
}

func (x *san) path(pod *corev1.Pod) string {
	x.t.Helper()
	at, err := x.m.State(pod.UID, "data")
	require.NoError(x.t, err)
	return at.Path
}

// drop takes the volumes of a pod down, and waits.
func (x *san) drop(pod *corev1.Pod) {
	x.t.Helper()
	for range 3 {
		if gone, err := x.m.Drop(pod); gone {
			require.NoError(x.t, err)
			return
		}
		time.Sleep(time.Second)
	}
	x.t.Fatalf("the volumes of %s are still there: %v", pod.Name, x.took())
}

func claimOf(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// pv makes a claim with its volume.
func (x *san) pv(name string, edit func(*corev1.PersistentVolumeSpec)) corev1.VolumeSource {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}}
	edit(&pv.Spec)
	x.pvs[name] = pv
	return claimOf(name)
}

// took returns what was run since, with the paths of the machine shortened.
func (x *san) took() (list []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, line := range x.ran {
		list = append(list, strings.NewReplacer(x.paths.Root, "K", x.root, "").Replace(line))
	}
	x.ran = nil
	return list
}

func (x *san) answer(part string, a reply) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answers[part] = a
}

// works takes an answer back.
func (x *san) works(part string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.answers, part)
}

// said are all events.
func (x *san) said() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.Join(x.events, "\n")
}

func (x *san) file(path string) string {
	b, err := os.ReadFile(filepath.Join(x.root, path))
	require.NoError(x.t, err)
	return string(b)
}

// put writes files of the kernel.
func (x *san) put(files map[string]string) {
	for path, text := range files {
		path = filepath.Join(x.root, path)
		_ = os.MkdirAll(filepath.Dir(path), 0o750)
		_ = os.WriteFile(path, []byte(text), 0o600)
	}
}

// disk makes a block device with links from the given names, and returns its name. The lock is held.
func (x *san) disk(links ...string) string {
	name := "sd" + string(rune('a'+x.disks))
	x.disks++
	x.put(map[string]string{"dev/" + name: "", "sys/block/" + name + "/device/delete": ""})
	for _, link := range links {
		_ = os.Symlink("../../"+name, filepath.Join(x.root, "dev/disk", link))
	}
	return name
}

// join makes a device that joins others. The lock is held.
func (x *san) join(devices ...string) {
	files := map[string]string{"dev/dm-0": ""}
	for _, device := range devices {
		files["sys/block/dm-0/slaves/"+device] = ""
	}
	x.put(files)
}

// run is that of a machine.
func (x *san) run(ctx context.Context, program string, args ...string) (string, error) {
	line := program + " " + strings.Join(args, " ")
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ran = append(x.ran, line)
	for _, part := range slices.Sorted(maps.Keys(x.answers)) {
		if a := x.answers[part]; strings.Contains(strings.ReplaceAll(line, x.root, ""), part) {
			if a.hang {
				x.mu.Unlock()
				<-ctx.Done()
				x.mu.Lock()
				return "", ctx.Err()
			}
			return a.out, a.err
		}
	}
	switch last := args[len(args)-1]; program {
	case "iscsiadm":
		return x.admin(args)
	case "blkid":
		if x.formats[filepath.Base(last)] == "" {
			return "", exit(2)
		}
		return "DEVNAME=" + last + "\nTYPE=" + x.formats[filepath.Base(last)] + "\n", nil
	case "multipath":
		_ = os.RemoveAll(filepath.Join(x.root, "sys/block", filepath.Base(last)))
	default:
		if kind, ok := strings.CutPrefix(program, "mkfs."); ok {
			x.formats[filepath.Base(last)] = kind
		}
	}
	return "", nil
}

func (x *san) admin(args []string) (string, error) {
	arg := func(name string) string { return args[slices.Index(args, name)+1] }
	switch line := strings.Join(args, " "); {
	case strings.HasPrefix(line, "-m iface") && arg("-o") == "show":
		return "# BEGIN RECORD 2.1.8\niface.iscsi_ifacename = " + arg("-I") + "\niface.net_ifacename = <empty>\niface.transport_name = tcp\n# END RECORD\n", nil
	case slices.Contains(args, "--login"):
		host := fmt.Sprintf("host%d", x.hosts)
		session := fmt.Sprintf("sys/class/iscsi_host/%s/device/session%d/", host, x.hosts)
		connection := fmt.Sprintf("%sconnection%d:0/iscsi_connection/connection%d:0/", session, x.hosts, x.hosts)
		about := fmt.Sprintf("%siscsi_session/session%d/", session, x.hosts)
		at := strings.LastIndex(arg("-p"), ":")
		ip, port := strings.Trim(arg("-p")[:at], "[]"), arg("-p")[at+1:]
		x.put(map[string]string{about + "targetname": arg("-T") + "\n", about + "ifacename": arg("-I") + "\n", "sys/class/scsi_host/" + host + "/scan": "",
			connection + "address": ip, connection + "port": port, connection + "persistent_address": ip + "\n", connection + "persistent_port": port + "\n"})
		for lun := 0; lun < 2 && !x.silent; lun++ {
			device := x.disk(fmt.Sprintf("by-path/ip-%s:%s-iscsi-%s-lun-%d", ip, port, arg("-T"), lun))
			x.put(map[string]string{fmt.Sprintf("%starget%d:0:0/%d:0:0:%d/block/%s/x", session, x.hosts, x.hosts, lun, device): ""})
			if x.joined && lun == 0 {
				x.join(device)
			}
		}
		x.hosts++
	case slices.Contains(args, "--logout"):
		sessions, _ := filepath.Glob(filepath.Join(x.root, "sys/class/iscsi_host/host*/device/session*"))
		for _, session := range sessions {
			about := filepath.Join(session, "iscsi_session", filepath.Base(session))
			target, _ := os.ReadFile(filepath.Join(about, "targetname"))
			iface, _ := os.ReadFile(filepath.Join(about, "ifacename"))
			if strings.TrimSpace(string(target)) == arg("-T") && strings.TrimSpace(string(iface)) == arg("-I") {
				_ = os.RemoveAll(filepath.Dir(filepath.Dir(session)))
				return "", nil
			}
		}
		return "iscsiadm: No matching sessions found", exit(21)
	}
	return "", nil
}

// sanMounts is the table of mounts of a san.
type sanMounts struct {
	folders
	*san
}

func (x sanMounts) mount(_ context.Context, source, target, kind string, options []string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ran = append(x.ran, strings.Join([]string{"mount", source, target, kind, strings.Join(options, ",")}, " "))
	x.mounts[target] = source
	return nil
}

func (x sanMounts) bind(f *os.File, target string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mounts[target] != "" {
		return nil
	}
	x.ran = append(x.ran, "bind "+f.Name()+" "+target)
	source := x.mounts[f.Name()]
	if source == "" { // a device
		source = f.Name()
		if err := os.WriteFile(target, nil, 0o600); err != nil {
			return err
		}
	}
	x.mounts[target] = source
	return nil
}

func (x sanMounts) remount(_ context.Context, target string, options []string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ran = append(x.ran, "remount "+target+" "+strings.Join(options, ","))
	return nil
}

func (x sanMounts) unmount(dir string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mounts[dir] != "" {
		x.ran = append(x.ran, "unmount "+dir)
	}
	delete(x.mounts, dir)
	return nil
}

func (x sanMounts) mounted(dir string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mounts[dir] != ""
}

func (x sanMounts) peers(path string) (list []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for at, source := range x.mounts {
		if at != path && source == x.mounts[path] {
			list = append(list, at)
		}
	}
	slices.Sort(list)
	return list
}

func (x sanMounts) below(dir string) (list []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for at := range x.mounts {
		if strings.HasPrefix(at, dir+"/") {
			list = append(list, at)
		}
	}
	return list, nil
}

// sanHost is the kubelet.
type sanHost struct {
	*san
	plugins map[string]volume.Plugin
}

func (x *sanHost) Resolve(_ context.Context, pod *corev1.Pod, v *corev1.Volume) (*volume.Spec, volume.Plugin, error) {
	s := &volume.Spec{Pod: pod, Volume: v}
	from := v.VolumeSource
	if c := v.PersistentVolumeClaim; c != nil {
		s.PV, s.ReadOnly = x.pvs[c.ClaimName], c.ReadOnly
		from.FC = s.PV.Spec.FC
	} else {
		s.ReadOnly = v.ISCSI != nil && v.ISCSI.ReadOnly || v.FC != nil && v.FC.ReadOnly
	}
	if from.FC != nil {
		return s, x.plugins[kindFC], nil
	}
	return s, x.plugins[kindISCSI], nil
}

func (x *sanHost) Attachment(context.Context, *volume.Record) (map[string]string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.missing {
		return nil, volume.Waiting(errors.New("not attached"))
	}
	return nil, nil
}
func (*sanHost) ClaimEvent(*corev1.PersistentVolumeClaim, bool, string, string) {}
func (*sanHost) UpdateClaim(context.Context, *volume.Spec, func(*corev1.PersistentVolumeClaimStatus)) error {
	return nil
}
func (*sanHost) Reported(corev1.UniqueVolumeName) bool               { return true }
func (x *sanHost) MountPoint(path string) bool                       { return sanMounts{san: x.san}.mounted(path) }
func (x *sanHost) Peers(path string) []string                        { return sanMounts{san: x.san}.peers(path) }
func (*sanHost) Changed(*corev1.Pod)                                 {}
func (*sanHost) InUseChanged()                                       {}
func (*sanHost) Done(*volume.Record, string, time.Time, error)       {}
func (*sanHost) Measured(*volume.Record, time.Time)                  {}
func (*sanHost) MountLabel(string) string                            { return "" }
func (*sanHost) Admitted(*volume.Spec, *volume.Record)               {}
func (*sanHost) Conflict(*volume.Spec, *volume.Record, string) error { return nil }
func (*sanHost) Found(int, int)                                      {}
func (x *sanHost) Event(_ *corev1.Pod, _ bool, reason, text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.events = append(x.events, reason+": "+text)
}

const (
	targetIQN = "iqn.2020-01.com.example:disks"
	onTarget  = "-p 10.0.0.1:3260 -T " + targetIQN + " -I default"
)

func onISCSI(edit func(*corev1.ISCSIVolumeSource)) corev1.VolumeSource {
	v := &corev1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: targetIQN, ISCSIInterface: "default"}
	if edit != nil {
		edit(v)
	}
	return corev1.VolumeSource{ISCSI: v}
}

// A disk of a target is logged in to, formatted and mounted once, and bound for each pod; the session ends
// with the last disk. A kubelet that starts again finds what it had.
func TestISCSIVolumes(t *testing.T) {
	onSAN(t, func(t *testing.T, x *san) {
		one := x.want("one", onISCSI(nil))
		const stage = "K/plugins/kubernetes.io/iscsi/iface-default/10.0.0.1:3260-" + targetIQN + "-lun-0"
		discovery := "iscsiadm -m discoverydb -t sendtargets -p 10.0.0.1:3260 -I default "
		link := "/dev/disk/by-path/ip-10.0.0.1:3260-iscsi-" + targetIQN + "-lun-0"
		require.Equal(t, []string{
			"iscsiadm -m iface -I default -o show",
			discovery + "-o new",
			discovery + "--discover",
			"iscsiadm -m node " + onTarget + " -o update -n node.session.scan -v manual",
			"iscsiadm -m node " + onTarget + " --login",
			"iscsiadm -m node -p 10.0.0.1:3260 -T " + targetIQN + " -o update -n node.startup -v manual",
			"blkid -p -s TYPE -s PTTYPE -o export " + link,
			"mkfs.ext4 -F -m0 " + link,
			"mount " + link + " " + stage + " ext4 defaults",
			"bind " + stage + " K/pods/uid-one/volumes/kubernetes.io~iscsi/data",
		}, x.took())
		require.Equal(t, "0 0 0", x.file("sys/class/scsi_host/host0/scan"))
		require.Equal(t, []corev1.UniqueVolumeName{"kubernetes.io/iscsi/10.0.0.1:" + targetIQN + ":0"}, x.m.InUse())
		require.JSONEq(t, `{"VolName":"data","Portals":["10.0.0.1:3260"],"Iqn":"`+targetIQN+`","Lun":"0","InitIface":"default","Iface":"default","InitiatorName":""}`,
			x.file("kubelet"+strings.TrimPrefix(stage, "K")+"/iscsi.json"))

		two := x.want("two", onISCSI(nil))
		require.Equal(t, []string{"bind " + stage + " K/pods/uid-two/volumes/kubernetes.io~iscsi/data"}, x.took(), "it is mounted")
		other := x.want("other", onISCSI(func(v *corev1.ISCSIVolumeSource) { v.Lun, v.FSType, v.ReadOnly = 1, "xfs", true }))
		_, err := x.m.State(other.UID, "data")
		require.ErrorContains(t, err, "as we are manipulating it in read-only mode")
		x.mu.Lock()
		x.formats["ip-10.0.0.1:3260-iscsi-"+targetIQN+"-lun-1"] = "xfs"
		x.mu.Unlock()
		time.Sleep(time.Minute)
		x.path(other)
		ran := strings.Join(x.took(), "\n")
		require.NotContains(t, ran, "login", "there is a session")
		require.Contains(t, ran, " xfs ro,defaults\n")
		require.NotContains(t, ran, "fsck")

		x.drop(one)
		require.Equal(t, []string{"unmount K/pods/uid-one/volumes/kubernetes.io~iscsi/data"}, x.took(), "the other pod has it")
		x.restart()
		require.Equal(t, []corev1.UniqueVolumeName{"kubernetes.io/iscsi/10.0.0.1:3260:" + targetIQN + ":0", "kubernetes.io/iscsi/10.0.0.1:3260:" + targetIQN + ":1"}, x.m.InUse())
		x.m.Sweep()
		time.Sleep(time.Second)
		require.Empty(t, x.took(), "pods have both disks")
		x.want("two", onISCSI(nil))
		require.Empty(t, x.took(), "everything is there")
		require.Contains(t, x.m.InUse(), corev1.UniqueVolumeName("kubernetes.io/iscsi/10.0.0.1:"+targetIQN+":0"))
		x.drop(two)
		require.Equal(t, []string{"unmount K/pods/uid-two/volumes/kubernetes.io~iscsi/data", "unmount " + stage}, x.took(), "the session has another disk")
		require.Equal(t, "1", x.file("sys/block/sda/device/delete"))
		require.Empty(t, x.file("sys/block/sdb/device/delete"))
		x.drop(other)
		require.Equal(t, []string{
			"unmount K/pods/uid-other/volumes/kubernetes.io~iscsi/data",
			"unmount " + strings.TrimSuffix(stage, "0") + "1",
			"iscsiadm -m node -p 10.0.0.1:3260 -T " + targetIQN + " --logout -I default",
			"iscsiadm -m node -p 10.0.0.1:3260 -T " + targetIQN + " -o delete -I default",
		}, x.took())
		require.Equal(t, "1", x.file("sys/block/sdb/device/delete"))
		require.Empty(t, x.m.InUse())
		require.Empty(t, x.staged())
	})
}

// staged are the folders of disks that are left.
func (x *san) staged() []volume.Record {
	return append(x.paths.Staged(kindISCSI, "iface-*/*"), x.paths.Staged(kindFC, "*")...)
}

// A disk with several portals is mounted as the device that joins its paths. A portal that does not answer is
// tried again, and then left out.
func TestISCSIPaths(t *testing.T) {
	several := onISCSI(func(v *corev1.ISCSIVolumeSource) { v.Portals = []string{"10.0.0.2:3261", "[fd00::1]", "10.0.0.1"} })
	onSAN(t, func(t *testing.T, x *san) {
		x.joined = true
		x.answer("-p 10.0.0.2:3261 -T "+targetIQN+" -I default --login", reply{out: "no route", err: exit(8)})
		pod := x.want("p", several)
		ran := strings.Join(x.took(), "\n")
		require.Equal(t, 2, strings.Count(ran, "-p 10.0.0.2:3261 -T "+targetIQN+" -I default --login"), "twice, then two paths will do")
		require.Equal(t, 2, strings.Count(ran, "-p 10.0.0.2:3261 -T "+targetIQN+" -I default -o delete"))
		require.Contains(t, ran, "mount /dev/dm-0 ")
		x.restart()
		x.drop(pod)
		ran = strings.Join(x.took(), "\n")
		require.Contains(t, ran, "multipath -f /dev/dm-0\n")
		for _, portal := range []string{"10.0.0.1:3260", "10.0.0.2:3261", "[fd00::1]:3260"} {
			require.Contains(t, ran, "-p "+portal+" -T "+targetIQN+" --logout", "all that were noted when it was attached")
		}
		require.Equal(t, "1", x.file("sys/block/sda/device/delete"))
		require.Equal(t, "1", x.file("sys/block/sdc/device/delete"))
	})
	onSAN(t, func(t *testing.T, x *san) {
		x.answer("-p 10.0.0.1:3260 -T "+targetIQN+" -I default --login", reply{out: "refused", err: exit(24)})
		x.answer("-p [fd00::1]:3260 -I default --discover", reply{out: "no route", err: exit(4)})
		pod := x.want("p", several)
		time.Sleep(10 * time.Second)
		x.path(pod)
		ran := strings.Join(x.took(), "\n")
		require.Equal(t, 5, strings.Count(ran, "-p [fd00::1]:3260 -I default --discover"))
		require.Contains(t, ran, "mount /dev/disk/by-path/ip-10.0.0.2:3261-iscsi-", "one path will do, after five attempts and ten seconds")
		x.drop(pod)
	})
}

// What authenticates nodes comes from a Secret, and an interface is made for the name of an initiator.
func TestISCSIAuthentication(t *testing.T) {
	onSAN(t, func(t *testing.T, x *san) {
		v := x.pv("a", func(s *corev1.PersistentVolumeSpec) {
			s.MountOptions = []string{"noatime"}
			s.ISCSI = &corev1.ISCSIPersistentVolumeSource{TargetPortal: "10.0.0.1:3260", IQN: targetIQN, InitiatorName: new("iqn.2020-01.com.example:node"),
				DiscoveryCHAPAuth: true, SessionCHAPAuth: true, SecretRef: &corev1.SecretReference{Namespace: "disks", Name: "chap"}}
		})
		pod := x.want("p", v)
		_, err := x.m.State(pod.UID, "data")
		require.ErrorContains(t, err, "couldn't get secret disks/chap error: not found")
		require.Empty(t, x.took())
		x.mu.Lock()
		x.secrets["disks/chap"] = map[string]string{"discovery.sendtargets.auth.username": "d", "node.session.auth.password": "s3cret", "other": "x"}
		x.mu.Unlock()
		time.Sleep(time.Minute)
		x.path(pod)
		iface := "10.0.0.1:3260:pv-a"
		ran := x.took()
		i := slices.IndexFunc(ran, func(s string) bool { return strings.HasPrefix(s, "blkid") })
		discovery := "iscsiadm -m discoverydb -t sendtargets -p 10.0.0.1:3260 -I " + iface + " "
		node := "iscsiadm -m node -p 10.0.0.1:3260 -T " + targetIQN + " -I " + iface + " "
		require.Equal(t, []string{
			"iscsiadm -m iface -I default -o show",
			"iscsiadm -m iface -I " + iface + " -o new",
			"iscsiadm -m iface -I " + iface + " -o update -n iface.initiatorname -v iqn.2020-01.com.example:node",
			"iscsiadm -m iface -I " + iface + " -o update -n iface.transport_name -v tcp",
			discovery + "-o new",
			discovery + "-o update -n discovery.sendtargets.auth.authmethod -v CHAP",
			discovery + "-o update -n discovery.sendtargets.auth.username -v d",
			discovery + "--discover",
			node + "-o update -n node.session.scan -v manual",
			node + "-o update -n node.session.auth.authmethod -v CHAP",
			node + "-o update -n node.session.auth.password -v s3cret",
			node + "--login",
			"iscsiadm -m node -p 10.0.0.1:3260 -T " + targetIQN + " -o update -n node.startup -v manual",
		}, ran[:i])
		require.Contains(t, ran, "remount K/pods/uid-p/volumes/kubernetes.io~iscsi/pv-a noatime")
		require.NotContains(t, x.file("kubelet/plugins/kubernetes.io/iscsi/iface-"+iface+"/10.0.0.1:3260-"+targetIQN+"-lun-0/iscsi.json"), "s3cret")

		same := x.want("same", onISCSI(func(v *corev1.ISCSIVolumeSource) { v.Lun = 1 }))
		require.Contains(t, strings.Join(x.took(), "\n"), onTarget+" --login", "a session of another interface is another initiator's")
		x.drop(pod)
		ran = x.took()
		require.Equal(t, []string{
			"iscsiadm -m node -p 10.0.0.1:3260 -T " + targetIQN + " --logout -I " + iface,
			"iscsiadm -m node -p 10.0.0.1:3260 -T " + targetIQN + " -o delete -I " + iface,
			"iscsiadm -m iface -I " + iface + " -o delete",
		}, ran[len(ran)-3:])
		x.drop(same)
		require.Empty(t, x.staged())
	})
}

// Whatever fails is reported and tried again, and never keeps a pod from being deleted.
func TestISCSIFaults(t *testing.T) {
	missing := fmt.Errorf("exec: \"iscsiadm\": %w", exec.ErrNotFound)
	for part, test := range map[string]struct {
		a    reply
		says string
	}{
		"iscsiadm":              {reply{err: missing}, "iscsiadm is not installed on this node; it is in open-iscsi"},
		"iscsiadm -m iface":     {reply{err: exit(6), out: "bad record"}, "could not read iface default: exit status 6 bad record"},
		"--discover":            {reply{err: exit(4), out: "cannot connect"}, "failed to sendtargets to portal 10.0.0.1:3260 output: cannot connect"},
		"--login":               {reply{err: exit(24), out: "authorization failure"}, "failed to attach disk: Error: authorization failure"},
		"--logout":              {reply{err: exit(20)}, ""},
		"iscsiadm -m node":      {reply{hang: true}, "deadline exceeded"},
		"a device is not there": {reply{}, "Timed out waiting for device at path"},
	} {
		t.Run(part, func(t *testing.T) {
			onSAN(t, func(t *testing.T, x *san) {
				x.silent = strings.Contains(part, "device")
				x.answer(part, test.a)
				pod := x.want("p", onISCSI(nil))
				time.Sleep(10 * time.Minute)
				if test.says == "" {
					x.path(pod)
					_, _ = x.m.Drop(pod)
					time.Sleep(time.Second)
					require.Contains(t, x.said(), "FailedUnMount: UnmountDevice failed for volume", "the session is still there")
					x.works(part)
					time.Sleep(5 * time.Minute)
				} else {
					require.Contains(t, x.said(), "FailedMount: MountVolume.WaitForAttach failed for volume \"data\" : ")
					require.Contains(t, x.said(), test.says)
				}
				if !test.a.hang {
					x.drop(pod)
					require.Empty(t, x.staged())
					return
				}
				_, _ = x.m.Drop(pod)
				time.Sleep(20 * time.Minute) // two programs, each of which is ended after three minutes
				x.drop(pod)
			})
		})
	}
}

// Restarts at any point, files that say nothing, and mounts of others.
func TestDisksThatAreLeft(t *testing.T) {
	t.Run("a file is corrupt", func(t *testing.T) {
		for _, text := range []string{"", "{", "null", `{"Portals":["10.9.9.9:3260"],"Iqn":"iqn.2020-01.com.example:other","Lun":"0","Iface":"default"}`} {
			onSAN(t, func(t *testing.T, x *san) {
				pod := x.want("p", onISCSI(nil))
				x.put(map[string]string{"kubelet/plugins/kubernetes.io/iscsi/iface-default/10.0.0.1:3260-" + targetIQN + "-lun-0/iscsi.json": text})
				x.restart()
				x.took()
				x.drop(pod)
				ran := strings.Join(x.took(), "\n")
				require.Contains(t, ran, "iscsiadm -m node -p 10.0.0.1:3260 -T "+targetIQN+" --logout -I default", "as the folder says")
				require.NotContains(t, ran, "10.9.9.9")
				require.Empty(t, x.staged())
			})
		}
	})
	t.Run("the pod is gone", func(t *testing.T) {
		onSAN(t, func(t *testing.T, x *san) {
			x.answer("blkid", reply{err: exit(1)})
			pod := x.want("p", onISCSI(nil))
			x.restart() // between the login and the mount
			_ = os.RemoveAll(filepath.Join(x.paths.Root, "pods"))
			x.took()
			x.m.Sweep()
			time.Sleep(time.Second)
			require.Contains(t, strings.Join(x.took(), "\n"), "--logout")
			require.Empty(t, x.staged())
			x.drop(pod)
		})
	})
	t.Run("somebody has it mounted", func(t *testing.T) {
		onSAN(t, func(t *testing.T, x *san) {
			pod := x.want("p", onISCSI(nil))
			x.mu.Lock()
			x.mounts["/mnt/of/another"] = x.mounts[filepath.Join(x.paths.Root, "pods/uid-p/volumes/kubernetes.io~iscsi/data")]
			x.mu.Unlock()
			_, _ = x.m.Drop(pod)
			time.Sleep(time.Minute)
			require.NotContains(t, strings.Join(x.took(), "\n"), "logout")
			require.Contains(t, x.said(), "is still mounted by other references [/mnt/of/another]")
			require.Empty(t, x.file("sys/block/sda/device/delete"))
			x.mu.Lock()
			delete(x.mounts, "/mnt/of/another")
			x.mu.Unlock()
			time.Sleep(5 * time.Minute)
			x.drop(pod)
			require.Equal(t, "1", x.file("sys/block/sda/device/delete"))
		})
	})
	t.Run("no controller has attached it", func(t *testing.T) {
		onSAN(t, func(t *testing.T, x *san) {
			x.missing = true
			pod := x.want("p", onISCSI(nil))
			time.Sleep(time.Minute)
			require.Empty(t, x.took())
			require.NotEmpty(t, x.m.InUse(), "before it is mounted")
			x.mu.Lock()
			x.missing = false
			x.mu.Unlock()
			time.Sleep(time.Minute)
			x.path(pod)
			x.drop(pod)
		})
	})
}

// Pods have the device of a disk with volumeMode Block.
func TestBlockDisks(t *testing.T) {
	onSAN(t, func(t *testing.T, x *san) {
		disk := x.disk("by-id/scsi-36000_1")
		block := new(corev1.PersistentVolumeBlock)
		onTarget := x.pv("a", func(s *corev1.PersistentVolumeSpec) {
			s.VolumeMode, s.ISCSI = block, &corev1.ISCSIPersistentVolumeSource{TargetPortal: "10.0.0.1:3260", IQN: targetIQN}
		})
		onFabric := x.pv("b", func(s *corev1.PersistentVolumeSpec) {
			s.VolumeMode, s.FC = block, &corev1.FCVolumeSource{WWIDs: []string{"36000 1"}}
		})
		for claim, v := range map[string]struct {
			from              corev1.VolumeSource
			kind, stage, disk string
		}{
			"a": {onTarget, "iscsi", "K/plugins/kubernetes.io/iscsi/volumeDevices/iface-default/10.0.0.1:3260-" + targetIQN + "-lun-0", "sdb"},
			"b": {onFabric, "fc", "K/plugins/kubernetes.io/fc/volumeDevices/36000_1", disk},
		} {
			one, two := x.want("one", v.from), x.want("two", v.from)
			ran := x.took()
			require.Contains(t, ran, "bind /dev/"+v.disk+" "+v.stage+"/uid-one")
			require.NotContains(t, strings.Join(ran, "\n"), "blkid", "what is on the disk is the pod's")
			link := filepath.Join(x.paths.Root, "pods/uid-one/volumeDevices/kubernetes.io~"+v.kind+"/pv-"+claim)
			require.Equal(t, link, x.path(one))
			to, err := os.Readlink(link)
			require.NoError(t, err)
			require.Equal(t, strings.Replace(v.stage, "K", x.paths.Root, 1)+"/uid-one", to)
			x.drop(one)
			require.Equal(t, []string{"unmount " + v.stage + "/uid-one"}, x.took())
			// The real kubelet's link leads to the device.
			link = x.path(two)
			to, err = os.Readlink(link)
			require.NoError(t, err)
			real := filepath.Join(x.root, "dev", v.disk)
			require.NoError(t, errors.Join(os.Remove(to), os.Link(real, to), os.Remove(link), os.Symlink(real, link)))
			x.restart()
			x.drop(two)
			require.Equal(t, "unmount "+v.stage+"/uid-two", x.took()[0])
			require.Equal(t, "1", x.file("sys/block/"+v.disk+"/device/delete"))
			require.Empty(t, x.staged())
		}
	})
}

// A disk on Fibre Channel is looked for under all its names, again after the adapters have, and removed path
// by path.
func TestFibreChannelVolumes(t *testing.T) {
	onSAN(t, func(t *testing.T, x *san) {
		x.put(map[string]string{"sys/class/scsi_host/host7/scan": "", "sys/class/scsi_host/host8/scan": ""})
		v := corev1.VolumeSource{FC: &corev1.FCVolumeSource{TargetWWNs: []string{"500a0982991b8dc5", "500a0982891b8dc5"}, Lun: new(int32(2)), FSType: "ext4"}}
		pod := x.want("p", v)
		_, err := x.m.State(pod.UID, "data")
		require.ErrorContains(t, err, "no fc disk found")
		require.Equal(t, "- - -- - -", x.file("sys/class/scsi_host/host7/scan")+x.file("sys/class/scsi_host/host8/scan"))
		require.Equal(t, []corev1.UniqueVolumeName{"kubernetes.io/fc/[500a0982991b8dc5 500a0982891b8dc5]:2"}, x.m.InUse())
		x.mu.Lock()
		sda := x.disk("by-path/pci-0000:41:00.0-fc-0x500a0982991b8dc5-lun-2")
		x.disk("by-path/pci-0000:41:00.0-fc-0x500a0982991b8dc5-lun-21", "by-path/pci-0000:41:00.0-fc-0x500a0982991b8dc5-lun-2-part1")
		sdc := x.disk("by-path/fc-0x500a0982891b8dc5-lun-2")
		x.join(sda, sdc)
		x.mu.Unlock()
		time.Sleep(time.Minute)
		x.path(pod)
		const stage = "K/plugins/kubernetes.io/fc/500a0982991b8dc5-500a0982891b8dc5-lun-2"
		require.Contains(t, x.took(), "mount /dev/dm-0 "+stage+" ext4 defaults")
		x.restart()
		require.Equal(t, []corev1.UniqueVolumeName{"kubernetes.io/fc/[500a0982991b8dc5 500a0982891b8dc5]:2"}, x.m.InUse())
		x.answer("multipath -f", reply{err: exit(1), out: "map in use"})
		_, _ = x.m.Drop(pod)
		time.Sleep(time.Minute)
		require.Contains(t, x.said(), "failed to flush multipath device "+filepath.Join(x.root, "dev/dm-0")+": exit status 1\nmap in use")
		require.Empty(t, x.file("sys/block/sda/device/delete"), "writes would be lost")
		x.works("multipath -f")
		x.took()
		time.Sleep(3 * time.Minute)
		x.drop(pod)
		require.Equal(t, []string{"multipath -f /dev/dm-0", "blockdev --flushbufs /dev/sda", "blockdev --flushbufs /dev/sdc"}, x.took())
		require.Equal(t, "11", x.file("sys/block/sda/device/delete")+x.file("sys/block/sdc/device/delete"))
		require.Empty(t, x.file("sys/block/sdb/device/delete"), "it is another disk")
		require.Empty(t, x.staged())
	})
}

// A name that would lead out of the folder of disks is refused.
func TestNamesOfDisks(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}
	part := mountPlugin{paths: volume.Paths{Root: "/root"}}
	for name, v := range map[string]corev1.VolumeSource{
		"../../x":                      onISCSI(func(v *corev1.ISCSIVolumeSource) { v.ISCSIInterface = "../../x" }),
		"a/b":                          onISCSI(func(v *corev1.ISCSIVolumeSource) { v.TargetPortal = "a/b" }),
		"/dev":                         {FC: &corev1.FCVolumeSource{WWIDs: []string{"/dev"}}},
		"..":                           {FC: &corev1.FCVolumeSource{TargetWWNs: []string{".."}, Lun: new(int32(0))}},
		"no fc disk information found": {FC: &corev1.FCVolumeSource{}},
	} {
		network := diskNetwork(&iscsi{})
		if v.FC != nil {
			network = &fibreChannel{}
		}
		_, err := newDiskPlugin(part, network, true).Record(t.Context(), &volume.Spec{Pod: pod, Volume: &corev1.Volume{Name: "data", VolumeSource: v}})
		require.ErrorContains(t, err, name)
	}
}
