package volumebinder_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
)

// history is a random sequence of what users do with claims and volumes.
type history struct {
	*rand.Rand
	c *controllertest.Cluster
	n int
}

func (h *history) step() {
	h.n++
	size, class := 1+h.IntN(4), fmt.Sprint("class-", h.IntN(2))
	switch h.IntN(7) {
	case 0, 1:
		controllertest.Create(h.c, claim(fmt.Sprint("c", h.n), &class, size))
	case 2, 3:
		controllertest.Create(h.c, volume(fmt.Sprint("v", h.n), class, size))
	case 4:
		if all := controllertest.List[*corev1.PersistentVolumeClaim](h.c, "default"); len(all) > 0 {
			controllertest.Delete[*corev1.PersistentVolumeClaim](h.c, "default", all[h.IntN(len(all))].Name)
		}
	case 5: // a user has cleaned up a volume
		if all := controllertest.List[*corev1.PersistentVolume](h.c, ""); len(all) > 0 {
			v := all[h.IntN(len(all))]
			if v.Status.Phase == corev1.VolumeReleased {
				controllertest.Update(h.c, "", v.Name, func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil })
			}
		}
	case 6:
		if all := controllertest.List[*corev1.PersistentVolume](h.c, ""); len(all) > 0 {
			controllertest.Delete[*corev1.PersistentVolume](h.c, "", all[h.IntN(len(all))].Name)
		}
	}
}

// check compares a settled cluster with what must hold: references are mutual, phases agree with them, and no
// claim waits for which a volume is free.
func (h *history) check(t *testing.T) {
	volumes := map[string]*corev1.PersistentVolume{}
	for _, v := range controllertest.List[*corev1.PersistentVolume](h.c, "") {
		volumes[v.Name] = v
	}
	claims := map[types.UID]*corev1.PersistentVolumeClaim{}
	for _, c := range controllertest.List[*corev1.PersistentVolumeClaim](h.c, "default") {
		claims[c.UID] = c
		v := volumes[c.Spec.VolumeName]
		switch c.Status.Phase {
		case corev1.ClaimBound:
			require.Equal(t, c.UID, v.Spec.ClaimRef.UID, "claim %s", c.Name)
			size, want := v.Spec.Capacity[corev1.ResourceStorage], c.Spec.Resources.Requests[corev1.ResourceStorage]
			require.GreaterOrEqual(t, size.Cmp(want), 0)
		case corev1.ClaimLost:
			require.Nil(t, v, "claim %s", c.Name)
		default:
			r, err := volumematch.NewRequest(c)
			require.NoError(t, err)
			require.Empty(t, c.Spec.VolumeName)
			for _, v := range volumes {
				require.False(t, r.Fits(v), "claim %s waits though %s fits", c.Name, v.Name)
			}
		}
	}
	for _, v := range volumes {
		want := corev1.VolumeAvailable
		if ref := v.Spec.ClaimRef; ref != nil {
			want = corev1.VolumeReleased
			if c := claims[ref.UID]; c != nil {
				require.Equal(t, v.Name, c.Spec.VolumeName)
				want = corev1.VolumeBound
			}
		}
		require.Equal(t, want, v.Status.Phase, "volume %s", v.Name)
	}
}

// In random histories each settled state is consistent, and at no moment a volume passes from one claim to
// another.
func TestHistories(t *testing.T) {
	for _, seed := range seeds.Of(t, 4) {
		synctest.Test(t, func(t *testing.T) {
			h := &history{Rand: seeds.Rand(seed), c: start(t)}
			owner := map[string]types.UID{}
			controllertest.Watch(h.c, "", func(e client.Event[*corev1.PersistentVolume]) {
				name, uid := e.Object.Name, types.UID("")
				if e.Object.Spec.ClaimRef != nil && e.Type != client.Deleted {
					uid = e.Object.Spec.ClaimRef.UID
				}
				if before := owner[name]; before != "" && uid != "" && before != uid {
					t.Errorf("seed %d: volume %s passes from one claim to another", seed, name)
				}
				owner[name] = uid
			})
			for range 12 {
				for range 1 + h.IntN(4) {
					h.step()
				}
				h.c.Settle()
				h.check(t)
			}
		})
	}
}
