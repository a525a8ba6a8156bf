package kubelet

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

func TestUserNamespacePolicy(t *testing.T) {
	p, err := UserNamespacePolicy{IDsPerPod: 131072, First: 262144, Count: 1310720}.withDefaults(10)
	require.NoError(t, err)
	require.EqualValues(t, 131072, p.IDsPerPod)
	p, err = UserNamespacePolicy{First: 1 << 31, Count: 1 << 31}.withDefaults(10)
	require.NoError(t, err)
	require.EqualValues(t, 65536, p.IDsPerPod)
	for want, p := range map[string]UserNamespacePolicy{
		"length 1000 is not a multiple of 65536":          {IDsPerPod: 1000},
		"ID 65536 is not a multiple of 131072":            {IDsPerPod: 131072, First: 65536, Count: 13107200},
		"ID 0 must be greater or equal to 65536":          {Count: 6553600},
		"IDs length 65535 is not a multiple of 65536":     {First: 65536, Count: 65535},
		"which is more than there are":                    {First: 1 << 31, Count: 1<<31 + 65536},
		"IDs are not enough to support 10 pods":           {First: 65536, Count: 9 * 65536},
		"kubelet user assigned IDs are not enough to sup": {IDsPerPod: 1 << 31, First: 1 << 31, Count: 1 << 31},
	} {
		_, err := p.withDefaults(10)
		require.ErrorContains(t, err, want)
	}
	_, err = Options{NodeName: "n", Capacity: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}, UserNamespaces: UserNamespacePolicy{IDsPerPod: 1}}.withDefaults()
	require.ErrorContains(t, err, "kubelet: Options.UserNamespaces: ")
}

func TestIDsOfTheKubeletUser(t *testing.T) {
	found := func(string) (*user.User, error) { return &user.User{}, nil }
	program := func(string) (string, error) { return "/usr/bin/getsubids", nil }
	for name, c := range map[string]struct {
		lookup         func(string) (*user.User, error)
		path           func(string) (string, error)
		users, groups  string
		fails          error
		first, count   uint32
		want           string
		neverRunsThese bool
	}{
		"no user": {lookup: func(name string) (*user.User, error) { return nil, user.UnknownUserError(name) }, first: 65536, count: 1<<32 - 65536, neverRunsThese: true},
		"no program": {lookup: found, path: func(name string) (string, error) { return "", &exec.Error{Name: name, Err: exec.ErrNotFound} }, first: 65536, count: 1<<32 - 65536,
			neverRunsThese: true},
		"a range":         {lookup: found, path: program, users: "0: kubelet 65536 2147483648\n", groups: "0: kubelet 65536 2147483648\n", first: 65536, count: 1 << 31},
		"users away":      {lookup: func(string) (*user.User, error) { return nil, errors.New("no answer") }, want: "no answer"},
		"bad program":     {lookup: found, path: func(string) (string, error) { return "", os.ErrPermission }, want: "permission denied"},
		"no range":        {lookup: found, path: program, fails: errors.New("exit status 1"), want: `error retrieving additional uids for user "kubelet": exit status 1`},
		"other groups":    {lookup: found, path: program, users: "0: kubelet 65536 65536\n", groups: "0: kubelet 131072 65536\n", want: `mismatched subuids and subgids for user "kubelet"`},
		"two ranges":      {lookup: found, path: program, users: "0: k 65536 65536\n1: k 1 1\n", groups: "0: k 65536 65536\n1: k 1 1\n", want: "want one line"},
		"nothing":         {lookup: found, path: program, want: "want one line"},
		"not a number":    {lookup: found, path: program, users: "0: k x 65536", groups: "0: k x 65536", want: "invalid syntax"},
		"beyond the last": {lookup: found, path: program, users: "0: k 4294967296 65536", groups: "0: k 4294967296 65536", want: "out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			first, count, err := subordinateIDs(65536, c.lookup, c.path, func(at string, args ...string) ([]byte, error) {
				require.False(t, c.neverRunsThese)
				require.Equal(t, "/usr/bin/getsubids", at)
				if args[0] == "-g" {
					return []byte(c.groups), c.fails
				}
				return []byte(c.users), c.fails
			})
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, [2]uint32{c.first, c.count}, [2]uint32{first, count})
		})
	}
}

// No two pods ever share an id, over restarts with other policies and files that were damaged; a pod keeps
// its ids while it runs.
func TestNoIDHasTwoPods(t *testing.T) {
	for _, seed := range seeds.Of(t, 40) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		root := t.TempDir()
		dir := func(uid types.UID) string { return filepath.Join(root, string(uid)) }
		policy := func() UserNamespacePolicy {
			per := uint32(idsUnit * (1 + rnd.IntN(2)))
			return UserNamespacePolicy{IDsPerPod: per, First: per * uint32(1+rnd.IntN(2)), Count: per * uint32(4+rnd.IntN(6))}
		}
		r := newIDRanges(policy(), dir, slog.New(slog.DiscardHandler))
		model := map[types.UID]idRange{} // of pods that run
		check := func() {
			for a, x := range model {
				for b, y := range model {
					overlap := x.first < y.first+y.count && y.first < x.first+x.count
					require.False(t, a != b && overlap, "seed %d: %s %v and %s %v", seed, a, x, b, y)
				}
			}
		}
		for range 80 {
			uid := types.UID(fmt.Sprint("pod", rnd.IntN(12)))
			switch rnd.IntN(6) {
			case 0, 1, 2:
				ids, err := r.give(uid)
				if err != nil {
					require.ErrorContains(t, err, "could not find an empty slot")
					continue
				}
				if have, runs := model[uid]; runs {
					require.Equal(t, have, ids, "seed %d", seed)
				}
				model[uid] = ids
				check()
			case 3:
				r.release(uid)
				delete(model, uid)
				require.NoFileExists(t, filepath.Join(dir(uid), mappingsFile))
			case 4:
				if _, runs := model[uid]; runs {
					require.NoError(t, os.WriteFile(filepath.Join(dir(uid), mappingsFile), []byte(`{"uidMappings":[`), 0o600))
				}
			case 5:
				r = newIDRanges(policy(), dir, slog.New(slog.DiscardHandler))
				var pods []types.UID
				entries, err := os.ReadDir(root)
				require.NoError(t, err)
				for _, e := range entries {
					pods = append(pods, types.UID(e.Name()))
				}
				r.load(pods, func(uid types.UID) (*cri.UserNamespace, bool, error) {
					ids, runs := model[uid]
					return ids.mappings(), runs, nil
				})
				for uid, ids := range model {
					require.Equal(t, ids, r.of[uid], "seed %d", seed)
				}
			}
		}
	}
}

// A pod whose ids are not known keeps no other from starting.
func TestAPodWhoseIDsAreNotKnown(t *testing.T) {
	root := t.TempDir()
	dir := func(uid types.UID) string { return filepath.Join(root, string(uid)) }
	file := func(uid types.UID, text string) {
		require.NoError(t, os.MkdirAll(dir(uid), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir(uid), mappingsFile), []byte(text), 0o600))
	}
	one := func(host, container, length uint32) string {
		m := fmt.Sprintf(`[{"hostId":%d,"containerId":%d,"length":%d}]`, host, container, length)
		return fmt.Sprintf(`{"uidMappings":%s,"gidMappings":%s}`, m, m)
	}
	file("good", one(131072, 0, 65536))
	file("silent", "{")
	file("away", one(131072, 0, 65536)) // that of good
	file("root", one(0, 0, 65536))
	file("other", one(196608, 1, 65536))
	file("beyond", one(4294967040, 0, 65536))
	file("stopped", `{"uidMappings":[],"gidMappings":[]}`)
	r := newIDRanges(UserNamespacePolicy{IDsPerPod: 65536, First: 65536, Count: 20 * 65536}, dir, slog.New(slog.DiscardHandler))
	pods := []types.UID{"good", "silent", "away", "root", "other", "beyond", "stopped", "plain"}
	r.load(pods, func(uid types.UID) (*cri.UserNamespace, bool, error) {
		switch uid {
		case "away":
			return nil, false, errors.New("the runtime is away")
		case "other":
			return idRange{327680, 65536}.mappings(), true, nil
		}
		return nil, uid != "stopped", nil
	})
	for uid, want := range map[types.UID]string{"silent": "invalid user namespace mappings file", "away": "the runtime is away", "root": "none of a pod", "beyond": "none of a pod"} {
		_, err := r.give(uid)
		require.ErrorContains(t, err, want, uid)
	}
	for _, uid := range []types.UID{"good", "other", "stopped", "plain"} {
		ids, err := r.give(uid)
		require.NoError(t, err)
		kept, err := r.read(uid)
		require.NoError(t, err)
		require.Equal(t, &ids, kept)
	}
	require.EqualValues(t, 327680, r.of["other"].first)
	r.release("silent")
	_, err := r.give("silent")
	require.NoError(t, err)
}
