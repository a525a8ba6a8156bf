package podcontrol

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// TemplateHash returns a short name for a template, which differs with the number of collisions. It is stable
// for one version of this program, which is all that is needed: the objects named by it are found by
// comparing templates.
func TemplateHash(t *corev1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	data, err := codec.Marshal(t)
	if err != nil {
		data = fmt.Append(nil, time.Now()) // unreachable: a decoded template encodes
	}
	h.Write(data)
	if collisions != nil {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], uint32(*collisions))
		h.Write(b[:])
	}
	// Digits and letters that cannot make a word, as in generated names.
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	var out strings.Builder
	for _, c := range strconv.FormatUint(uint64(h.Sum32()), 10) {
		out.WriteByte(alphabet[(int(c)-'0')%len(alphabet)])
	}
	return out.String()
}
