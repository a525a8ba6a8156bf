package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// UserNamespacePolicy says which users and groups of the machine the pods with hostUsers: false run as.
type UserNamespacePolicy struct {
	// IDsPerPod is how many ids of users and of groups each of these pods has, a multiple of 65536; 0 means
	// 65536.
	IDsPerPod uint32
	// First and Count are the range of ids of the machine that they are taken from, both multiples of
	// IDsPerPod; First is IDsPerPod at least. Count 0 means the range that the program getsubids prints for
	// the user kubelet. Without that user or program it is everything from IDsPerPod on.
	First, Count uint32
}

// idsUnit is what the number of ids of a pod must be a multiple of.
const idsUnit = 65536

// withDefaults returns the policy with a range, or what is wrong with it. Pods is how many pods the node may
// run, all of which may have a user namespace.
func (p UserNamespacePolicy) withDefaults(pods int64) (UserNamespacePolicy, error) {
	if p.IDsPerPod == 0 {
		p.IDsPerPod = idsUnit
	}
	if p.IDsPerPod%idsUnit != 0 {
		return p, fmt.Errorf("kubelet user namespace length %d is not a multiple of %d", p.IDsPerPod, idsUnit)
	}
	if p.Count == 0 {
		var err error
		if p.First, p.Count, err = subordinateIDs(p.IDsPerPod, user.Lookup, exec.LookPath, func(program string, args ...string) ([]byte, error) {
			return exec.Command(program, args...).Output()
		}); err != nil {
			return p, err
		}
	}
	switch {
	case p.First%p.IDsPerPod != 0:
		return p, fmt.Errorf("kubelet user assigned ID %d is not a multiple of %d", p.First, p.IDsPerPod)
	case p.First < p.IDsPerPod: // never root of the machine
		return p, fmt.Errorf("kubelet user assigned ID %d must be greater or equal to %d", p.First, p.IDsPerPod)
	case p.Count%p.IDsPerPod != 0:
		return p, fmt.Errorf("kubelet user assigned IDs length %d is not a multiple of %d", p.Count, p.IDsPerPod)
	case uint64(p.First)+uint64(p.Count) > 1<<32:
		return p, fmt.Errorf("kubelet user assigned IDs from %d on are %d, which is more than there are", p.First, p.Count)
	case int64(p.Count/p.IDsPerPod) < pods:
		return p, fmt.Errorf("kubelet user assigned IDs are not enough to support %d pods", pods)
	}
	return p, nil
}

// subordinateIDs returns the range of ids of the user kubelet, or everything from perPod on if there is no
// such user, or no program that knows its range. A user without a range is an error: the program may have
// requested it from a server that is away.
func subordinateIDs(perPod uint32, lookup func(string) (*user.User, error), path func(string) (string, error), run func(string, ...string) ([]byte, error)) (first, count uint32, err error) {
	const name, program = "kubelet", "getsubids"
	first, count = perPod, uint32(1<<32-uint64(perPod))
	if _, err := lookup(name); err != nil {
		if _, missing := errors.AsType[user.UnknownUserError](err); missing {
			return first, count, nil
		}
		return 0, 0, err
	}
	at, err := path(program)
	if errors.Is(err, exec.ErrNotFound) {
		return first, count, nil
	}
	if err != nil {
		return 0, 0, err
	}
	users, err := run(at, name)
	if err != nil {
		return 0, 0, fmt.Errorf("error retrieving additional uids for user %q: %w", name, err)
	}
	groups, err := run(at, "-g", name)
	if err != nil {
		return 0, 0, fmt.Errorf("error retrieving additional gids for user %q: %w", name, err)
	}
	if string(users) != string(groups) {
		return 0, 0, fmt.Errorf("mismatched subuids and subgids for user %q", name)
	}
	lines := strings.Split(strings.Trim(string(users), "\n"), "\n")
	parts := strings.Fields(lines[0])
	if len(lines) != 1 || len(parts) != 4 {
		return 0, 0, fmt.Errorf("%s printed %q, want one line with a number, the user, the first id and how many there are", program, users)
	}
	var n [2]uint64
	for i := range n {
		if n[i], err = strconv.ParseUint(parts[2+i], 10, 32); err != nil {
			return 0, 0, fmt.Errorf("%s printed %q: %w", program, users, err)
		}
	}
	return uint32(n[0]), uint32(n[1]), nil
}

// idRange are ids of users, and the groups of the same numbers. A pod with a user namespace has one, whose
// first id is root in its containers.
type idRange struct{ first, count uint32 }

// mappings are those of the runtime.
func (r idRange) mappings() *cri.UserNamespace {
	m := []*cri.IDMapping{{HostId: r.first, ContainerId: 0, Length: r.count}}
	return &cri.UserNamespace{Mode: cri.NamespaceMode_POD, Uids: m, Gids: m}
}

// idMappings is what a pod's folder keeps of its range, in the file userns: the form of
// k8s.io/kubernetes/pkg/kubelet/userns, v1.36.3, so that kubelets can take each other's place.
type idMappings struct {
	UIDs []idMapping `json:"uidMappings"`
	GIDs []idMapping `json:"gidMappings"`
}

type idMapping struct {
	Host      uint32 `json:"hostId"`
	Container uint32 `json:"containerId"`
	Length    uint32 `json:"length"`
}

// mappingsFile is the name of that file.
const mappingsFile = "userns"

// idRanges gives ranges of ids to pods. Safe for concurrent use.
type idRanges struct {
	policy UserNamespacePolicy
	dir    func(types.UID) string // of a pod
	log    *slog.Logger

	mu   sync.Mutex
	of   map[types.UID]idRange
	used map[uint32]int      // by number of a range of the policy, how many pods have some of it
	lost map[types.UID]error // why the range of a pod that runs is not known
}

func newIDRanges(policy UserNamespacePolicy, dir func(types.UID) string, log *slog.Logger) *idRanges {
	return &idRanges{policy: policy, dir: dir, log: log, of: map[types.UID]idRange{}, used: map[uint32]int{}, lost: map[types.UID]error{}}
}

// load takes up the ranges of pods that an earlier kubelet has started. Of a pod whose file is not
// understood, running says what its sandbox has; that pod alone cannot start containers if even that is not
// known.
func (r *idRanges) load(pods []types.UID, running func(types.UID) (ns *cri.UserNamespace, runs bool, err error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, uid := range pods {
		have, err := r.read(uid)
		if err == nil && have != nil {
			err = r.take(uid, *have)
		}
		if err == nil {
			continue
		}
		r.log.Warn("the user namespace of a pod is not known, it is taken from its sandbox", "uid", uid, "err", err)
		ns, runs, failed := running(uid)
		if failed == nil && !runs {
			_ = os.Remove(filepath.Join(r.dir(uid), mappingsFile)) // it gets another one
			continue
		}
		if failed == nil && len(ns.GetUids()) == 1 {
			if failed = r.take(uid, idRange{ns.Uids[0].HostId, ns.Uids[0].Length}); failed == nil {
				failed = r.write(uid, r.of[uid])
			}
		}
		if _, known := r.of[uid]; !known {
			r.lost[uid] = errors.Join(fmt.Errorf("user namespace: %w", err), failed)
		}
	}
}

// read returns what the file of a pod says; nil without one.
func (r *idRanges) read(uid types.UID) (*idRange, error) {
	b, err := os.ReadFile(filepath.Join(r.dir(uid), mappingsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	var m idMappings
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("invalid user namespace mappings file: %w", err)
	}
	if len(m.UIDs) != 1 || len(m.GIDs) != 1 || m.UIDs[0] != m.GIDs[0] || m.UIDs[0].Container != 0 {
		return nil, errors.New("invalid user namespace mappings file: want one mapping of users from 0 on, and the same of groups")
	}
	return &idRange{m.UIDs[0].Host, m.UIDs[0].Length}, nil
}

func (r *idRanges) write(uid types.UID, ids idRange) error {
	m := []idMapping{{Host: ids.first, Container: 0, Length: ids.count}}
	b, err := json.Marshal(idMappings{m, m})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(r.dir(uid), mappingsFile), b)
}

// take gives a pod a range, perhaps one of another policy. The lock is held.
func (r *idRanges) take(uid types.UID, ids idRange) error {
	if ids.first < idsUnit || ids.count == 0 || uint64(ids.first)+uint64(ids.count) > 1<<32 {
		return fmt.Errorf("ids from %d on, %d, are none of a pod", ids.first, ids.count)
	}
	for other, have := range r.of {
		if ids.first-have.first < have.count || have.first-ids.first < ids.count {
			return fmt.Errorf("ids from %d on, %d, are those of pod %s", ids.first, ids.count, other)
		}
	}
	for _, n := range r.numbers(ids) {
		r.used[n]++
	}
	r.of[uid] = ids
	return nil
}

// numbers are those of the ranges of the policy that have ids of a range.
func (r *idRanges) numbers(ids idRange) (list []uint32) {
	per := uint64(r.policy.IDsPerPod)
	for n := uint64(ids.first) / per; n*per < uint64(ids.first)+uint64(ids.count); n++ {
		list = append(list, uint32(n))
	}
	return list
}

// give returns the range of a pod, which gets one if it has none.
func (r *idRanges) give(uid types.UID) (idRange, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have, ok := r.of[uid]; ok || r.lost[uid] != nil {
		return have, r.lost[uid]
	}
	// From a place that depends on the pod on, so that ids of pods that are gone are not those of the next.
	first, all := r.policy.First/r.policy.IDsPerPod, r.policy.Count/r.policy.IDsPerPod
	h := fnv.New32a()
	_, _ = io.WriteString(h, string(uid))
	for i := range all {
		n := first + uint32((uint64(h.Sum32())+uint64(i))%uint64(all))
		if r.used[n] > 0 {
			continue
		}
		ids := idRange{n * r.policy.IDsPerPod, r.policy.IDsPerPod}
		if err := r.write(uid, ids); err != nil {
			return ids, fmt.Errorf("create user namespace: %w", err)
		}
		return ids, r.take(uid, ids)
	}
	return idRange{}, errors.New("create user namespace: could not find an empty slot to allocate a user namespace")
}

// release gives the range of a pod back, whose containers have stopped.
func (r *idRanges) release(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, had := r.of[uid]
	if !had && r.lost[uid] == nil {
		return
	}
	_ = os.Remove(filepath.Join(r.dir(uid), mappingsFile))
	for _, n := range r.numbers(r.of[uid]) {
		if r.used[n]--; r.used[n] == 0 {
			delete(r.used, n)
		}
	}
	delete(r.of, uid)
	delete(r.lost, uid)
}

// ownUsers reports whether a pod has a user namespace of its own.
func ownUsers(pod *corev1.Pod) bool { return pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers }

// userNamespace is the user namespace of a pod's sandbox and containers.
func (k *Kubelet) userNamespace(pod *corev1.Pod) (*cri.UserNamespace, error) {
	if !ownUsers(pod) {
		return &cri.UserNamespace{Mode: cri.NamespaceMode_NODE}, nil
	}
	ids, err := k.ids.give(pod.UID)
	if err != nil {
		return nil, err
	}
	return ids.mappings(), nil
}

// canHaveUsers says why a pod that demands a user namespace cannot have one with a handler of the runtime.
func (k *Kubelet) canHaveUsers(ctx context.Context, pod *corev1.Pod, handler string) error {
	if !ownUsers(pod) {
		return nil
	}
	features, err := k.features.handler(ctx, handler)
	if err == nil && features.GetUserNamespaces() {
		return nil
	}
	what := "runtime does not support user namespaces"
	if handler != "" {
		what = fmt.Sprintf("RuntimeClass handler %q does not support user namespaces", handler)
	}
	if err != nil {
		return fmt.Errorf("can't set `spec.hostUsers: false`, %s: %w", what, err)
	}
	return errors.New("can't set `spec.hostUsers: false`, " + what)
}

// loadUserNamespaces takes up the user namespaces of pods of an earlier kubelet.
func (k *Kubelet) loadUserNamespaces(ctx context.Context) error {
	entries, err := os.ReadDir(filepath.Join(k.opts.RootDir, "pods"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var pods []types.UID
	for _, e := range entries {
		pods = append(pods, types.UID(e.Name()))
	}
	k.ids.load(pods, func(uid types.UID) (ns *cri.UserNamespace, runs bool, err error) {
		boxes, err := k.rt.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{LabelSelector: map[string]string{labelPodUID: string(uid)}}})
		if err != nil {
			return nil, false, err
		}
		for _, box := range boxes.Items {
			if box.State != cri.PodSandboxState_SANDBOX_READY {
				continue
			}
			st, err := k.rt.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: box.Id})
			return st.GetStatus().GetLinux().GetNamespaces().GetOptions().GetUsernsOptions(), true, err
		}
		return nil, false, nil
	})
	return nil
}
