package kubelet_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// targetName is the iSCSI target of the tests.
const targetName = "iqn.2020-01.dev.keelson:test"

// startDisks makes two disks of files in the kernel's SCSI target.
const startDisks = `
modprobe -a target_core_mod target_core_file
[ -d /sys/kernel/config/target ] || mount -t configfs configfs /sys/kernel/config
for i in 0 1; do
  truncate -s 32M "$DIR/disk$i"
  disk=/sys/kernel/config/target/core/fileio_0/keelson$i
  mkdir -p $disk
  printf %s "fd_dev_name=$DIR/disk$i,fd_dev_size=33554432" > $disk/control
  printf 4b65656c736f6e00000000000000000$i > $disk/wwn/vpd_unit_serial
  printf 1 > $disk/enable
done
`

const stopDisks = `
rmdir /sys/kernel/config/target/core/fileio_0/keelson*
rm "$DIR"/disk?
`

// startISCSI serves the disks at the port of iSCSI, to initiators that authenticate.
const startISCSI = startDisks + `
modprobe -a iscsi_target_mod iscsi_tcp
group=/sys/kernel/config/target/iscsi/` + targetName + `/tpgt_1
mkdir -p $group
mkdir $group/np/127.0.0.1:3260
for i in 0 1; do
  mkdir $group/lun/lun_$i
  ln -s /sys/kernel/config/target/core/fileio_0/keelson$i $group/lun/lun_$i/disk
done
for of in $group/auth /sys/kernel/config/target/iscsi/discovery_auth; do
  printf node > $of/userid
  printf one-two-three > $of/password
done
printf 1 > /sys/kernel/config/target/iscsi/discovery_auth/enforce_discovery_auth
for attribute in authentication=1 generate_node_acls=1 cache_dynamic_acls=1 demo_mode_write_protect=0; do
  printf "${attribute#*=}" > "$group/attrib/${attribute%=*}"
done
printf 1 > $group/enable
`

const stopISCSI = `
target=/sys/kernel/config/target/iscsi/` + targetName + `
printf 0 > /sys/kernel/config/target/iscsi/discovery_auth/enforce_discovery_auth
printf 0 > $target/tpgt_1/enable
rm $target/tpgt_1/lun/lun_*/disk
rmdir $target/tpgt_1/lun/lun_* $target/tpgt_1/np/* $target/tpgt_1 $target
` + stopDisks

// startLoop gives the machine the first disk as an adapter with a target port of Fibre Channel would.
const startLoop = startDisks + `
modprobe tcm_loop
group=/sys/kernel/config/target/loopback/fc.2100000000000001/tpgt_1
mkdir -p $group
printf fc.2100000000000002 > $group/nexus
mkdir $group/lun/lun_0
ln -s /sys/kernel/config/target/core/fileio_0/keelson0 $group/lun/lun_0/disk
`

const stopLoop = `
target=/sys/kernel/config/target/loopback/fc.2100000000000001
for host in /sys/class/scsi_host/*; do echo - - - > $host/scan; done # it has to have a disk when that is taken away
rm $target/tpgt_1/lun/lun_0/disk
rmdir $target/tpgt_1/lun/lun_0
rmdir $target/tpgt_1 $target
` + stopDisks

// onMachine runs a command in the network namespace of the machine: the kernel has iSCSI there alone.
func onMachine(command string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--net=/proc/1/ns/net", command}, args...)...)
}

// serveDisks runs a script that makes disks on the machine, and another one at the end.
func (n *realNode) serveDisks(start, stop string) {
	run := func(script string) (string, error) {
		cmd := onMachine("sh", "-euc", script)
		cmd.Env = append(os.Environ(), "DIR="+n.dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run(start)
	require.NoError(n.t, err, out)
	t := n.t
	t.Cleanup(func() {
		out, err := run(stop)
		require.NoError(t, err, out)
	})
}

// needModules skips a test where the kernel does not have modules.
func (n *realNode) needModules(names ...string) {
	if out, err := exec.Command("modprobe", append([]string{"--dry-run", "--all"}, names...)...).CombinedOutput(); err != nil {
		n.t.Skipf("this kernel does not have all of the modules %v: %v %s", names, err, out)
	}
}

// serveISCSI makes the target, and lets the kubelet reach it.
func (n *realNode) serveISCSI() {
	// A daemon, or systemd for it, has a socket without a file.
	sockets, _ := os.ReadFile("/proc/1/net/unix")
	if !strings.Contains(string(sockets), "@ISCSIADM_ABSTRACT_NAMESPACE") {
		n.t.Skip("iscsid does not run on this machine")
	}
	program, err := exec.LookPath("iscsiadm")
	if err != nil {
		n.t.Skip("iscsiadm is not installed")
	}
	n.needModules("target_core_mod", "target_core_file", "iscsi_target_mod", "iscsi_tcp")
	n.serveDisks(startISCSI, stopISCSI)
	bin := n.t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec nsenter --net=/proc/1/ns/net %s \"$@\"\n", program)
	require.NoError(n.t, os.WriteFile(filepath.Join(bin, "iscsiadm"), []byte(script), 0o755))
	n.t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	n.apply(chapSecret("chap", "one-two-three") + "---" + chapSecret("wrong", "three-two-one"))
}

func chapSecret(name, password string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: %s}
type: kubernetes.io/iscsi-chap
stringData: {discovery.sendtargets.auth.username: node, discovery.sendtargets.auth.password: one-two-three, node.session.auth.username: node, node.session.auth.password: %s}
`, name, password)
}

// iscsiVolume is the source of a volume. Only one of a PersistentVolume may name the namespace of its Secret.
func iscsiVolume(lun int, secret string) string {
	return fmt.Sprintf(`iscsi: {targetPortal: 127.0.0.1, iqn: %q, lun: %d, fsType: ext4, chapAuthDiscovery: true, chapAuthSession: true, secretRef: {%s}}`, targetName, lun, secret)
}

// claimed makes a PersistentVolume of what spec says, and a claim that is bound to it.
func (n *realNode) claimed(name string, mode corev1.PersistentVolumeMode, access corev1.PersistentVolumeAccessMode, spec string) {
	n.apply(fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %[1]s}
spec: {accessModes: [%[3]s], volumeMode: %[2]s, volumeName: %[1]s, storageClassName: "", resources: {requests: {storage: 16Mi}}}
`, name, mode, access))
	n.apply(fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s}
spec:
  accessModes: [%[3]s]
  volumeMode: %[2]s
  capacity: {storage: 16Mi}
  claimRef: {kind: PersistentVolumeClaim, namespace: default, name: %[1]s, uid: %[4]s}
  %[5]s
`, name, mode, access, n.kubectl("get", "pvc", name, "-o", "jsonpath={.metadata.uid}"), spec))
	n.kubectl("patch", "pvc", name, "--subresource=status", "--type=merge", "-p", `{"status": {"phase": "Bound", "capacity": {"storage": "16Mi"}}}`)
}

// rawPod is the pod raw, with the block device of a claim at /dev/raw.
func rawPod(claim string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: raw}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: busybox, imagePullPolicy: Never, command: [sleep, "1000000"], volumeDevices: [{name: raw, devicePath: /dev/raw}]}]
  volumes: [{name: raw, persistentVolumeClaim: {claimName: ` + claim + `}}]
`
}

// diskPod is a pod with a volume at /disk, of a source, and more: of its container and of itself.
func diskPod(name, source, container, pod string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  %s
  containers: [{name: c, image: busybox, imagePullPolicy: Never, command: [sleep, "1000000"], volumeMounts: [{name: disk, mountPath: /disk}], %s}]
  volumes: [{name: disk, %s}, {name: more, emptyDir: {}}]
`, name, pod, container, source)
}

// eventually waits until ok.
func (n *realNode) eventually(ok func() bool, what string) {
	n.t.Helper()
	require.Eventually(n.t, ok, patience, 100*time.Millisecond, what)
}

// sessions are those of the target, as iscsiadm says, and records what it knows of it.
func (n *realNode) sessions() (sessions, records int) {
	count := func(mode string) int {
		out, _ := exec.Command("iscsiadm", "-m", mode).CombinedOutput() // it fails if there is none
		return strings.Count(string(out), targetName)
	}
	return count("session"), count("node")
}

// testISCSI gives pods disks of the kernel's own target, with the node's own programs.
func (n *realNode) testISCSI() {
	n.serveISCSI()
	loggedOut := func() bool {
		sessions, records := n.sessions()
		return sessions == 0 && records == 0
	}
	n.apply(diskPod("denied", iscsiVolume(0, "name: wrong"), "", ""))
	n.until("a wrong password", has("authorization failure"), "get", "events", "--field-selector=involvedObject.name=denied", "-o", "jsonpath={.items[*].message}")
	n.kubectl("delete", "pod", "denied")
	n.eventually(loggedOut, "nothing is left of a login that was denied")

	n.claimed("block", corev1.PersistentVolumeBlock, corev1.ReadWriteOnce, iscsiVolume(1, "name: chap, namespace: default"))
	n.apply(diskPod("first", iscsiVolume(0, "name: chap"), "", "") + "---" + rawPod("block"))
	n.running("first")
	n.running("raw")
	sessions, _ := n.sessions()
	require.Equal(n.t, 1, sessions, "for both disks")
	require.Regexp(n.t, `(?m)^/dev/sd[a-z]+ /disk ext4 rw,`, n.kubectl("exec", "first", "--", "cat", "/proc/mounts"))
	n.kubectl("exec", "first", "--", "sh", "-c", "echo kept > /disk/file")
	n.kubectl("exec", "raw", "--", "sh", "-c", "printf content | dd of=/dev/raw conv=notrunc,fsync 2>/dev/null")
	// The next kubelet knows what is mounted.
	n.stop()
	n.stop = n.startKubelet(false)
	n.kubectl("delete", "pod", "raw")
	n.eventually(func() bool {
		devices, _ := filepath.Glob("/dev/disk/by-path/ip-127.0.0.1:3260-iscsi-" + targetName + "-lun-?")
		return len(devices) == 1 && strings.HasSuffix(devices[0], "-lun-0")
	}, "the second disk has been removed")
	b := make([]byte, 7)
	f, err := os.Open(filepath.Join(n.dir, "disk1"))
	require.NoError(n.t, err)
	defer f.Close()
	_, err = f.Read(b)
	require.NoError(n.t, err)
	require.Equal(n.t, "content", string(b))
	require.Equal(n.t, "kept\n", n.kubectl("exec", "first", "--", "cat", "/disk/file"), "the session serves the other disk")
	n.kubectl("delete", "pod", "first")
	n.eventually(loggedOut, "the session has ended")

	n.apply(diskPod("second", iscsiVolume(0, "name: chap"), "", ""))
	n.running("second")
	require.Equal(n.t, "kept\n", n.kubectl("exec", "second", "--", "cat", "/disk/file"))
	n.kubectl("delete", "pod", "second")
	n.eventually(loggedOut, "the session has ended")
	n.kubectl("delete", "pvc,pv", "block", "--wait=false")
	n.kubectl("delete", "secret", "chap", "wrong")
}

// testFC gives pods a disk that an adapter of the machine has, by the disk's own identifier.
func (n *realNode) testFC() {
	n.needModules("target_core_mod", "target_core_file", "tcm_loop")
	n.serveDisks(startLoop, stopLoop)
	links := func() []string {
		links, _ := filepath.Glob("/dev/disk/by-id/scsi-36001405*")
		return links
	}
	n.eventually(func() bool { return len(links()) == 1 }, "udev names the disk")
	_, id, _ := strings.Cut(links()[0], "/scsi-")
	source := fmt.Sprintf("fc: {wwids: [%q], fsType: ext4}", id)
	n.apply(diskPod("first", source, "", ""))
	n.running("first")
	n.kubectl("exec", "first", "--", "sh", "-c", "echo kept > /disk/file")
	n.kubectl("delete", "pod", "first")
	n.eventually(func() bool { return len(links()) == 0 }, "the disk has been removed")
	n.apply(diskPod("second", source, "", ""))
	n.running("second")
	require.Equal(n.t, "kept\n", n.kubectl("exec", "second", "--", "cat", "/disk/file"), "the adapter was searched")
	n.kubectl("delete", "pod", "second")
	n.eventually(func() bool { return len(links()) == 0 }, "the disk has been removed")
}

// selinux is true where SELinux runs the machine and the runtime is to label containers.
var selinux = os.Getenv("KEELSON_SELINUX") == "true"

// labelIn is the label of a file as a container whose processes have a label sees it.
func (n *realNode) labelIn(process, file string) string {
	paths, err := filepath.Glob("/proc/[0-9]*/attr/current")
	require.NoError(n.t, err)
	for _, path := range paths {
		if b, err := os.ReadFile(path); err != nil || strings.TrimRight(string(b), "\x00\n") != process {
			continue
		}
		b := make([]byte, 256)
		size, err := unix.Lgetxattr(filepath.Join(filepath.Dir(path), "../root", file), "security.selinux", b)
		if errors.Is(err, unix.ENOENT) {
			continue // the sandbox has the label of the containers, and not their files
		}
		require.NoError(n.t, err)
		return strings.TrimRight(string(b[:size]), "\x00")
	}
	require.Fail(n.t, "no process with the label "+process+" has the file "+file)
	return ""
}

// testSELinux gives one pod after the other a disk that only one pod may have: it is mounted with the label
// of the pod, or, if the pod says so, its files get that.
func (n *realNode) testSELinux() {
	if !selinux {
		n.t.Skip("SELinux does not run this machine")
	}
	n.serveISCSI()
	n.claimed("labelled", corev1.PersistentVolumeFilesystem, corev1.ReadWriteOncePod, iscsiVolume(0, "name: chap, namespace: default"))
	const process, file = "system_u:system_r:container_t:", "system_u:object_r:container_file_t:"
	for _, pod := range []struct{ name, level, policy string }{{"first", "s0:c12,c34", ""}, {"second", "s0:c56,c78", "Recursive"}} {
		security := fmt.Sprintf("seLinuxOptions: {level: %q}", pod.level)
		if pod.policy != "" {
			security += ", seLinuxChangePolicy: " + pod.policy
		}
		n.apply(strings.Replace(diskPod(pod.name, "persistentVolumeClaim: {claimName: labelled}", "", "securityContext: {"+security+"}"),
			"volumeMounts: [", "volumeMounts: [{name: more, mountPath: /more}, ", 1))
		n.running(pod.name)
		n.kubectl("exec", pod.name, "--", "sh", "-c", "touch /more/file; echo "+pod.name+" >> /disk/file")
		require.Equal(n.t, process+pod.level, strings.TrimRight(n.kubectl("exec", pod.name, "--", "cat", "/proc/self/attr/current"), "\x00\n"))
		require.Equal(n.t, file+pod.level, n.labelIn(process+pod.level, "/disk/file"))
		require.Equal(n.t, file+pod.level, n.labelIn(process+pod.level, "/more/file"))
		context := `context="` + file + pod.level + `"`
		mounts := n.kubectl("exec", pod.name, "--", "grep", " /disk ", "/proc/mounts")
		if pod.policy == "" {
			require.Contains(n.t, mounts, context)
		} else {
			require.NotContains(n.t, mounts, "context=")
		}
		n.kubectl("delete", "pod", pod.name)
		n.eventually(func() bool { sessions, _ := n.sessions(); return sessions == 0 }, "the session has ended")
	}
	n.kubectl("delete", "pvc,pv", "labelled", "--wait=false")
	n.kubectl("delete", "secret", "chap", "wrong")
}
