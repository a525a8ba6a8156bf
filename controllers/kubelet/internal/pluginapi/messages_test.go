package pluginapi

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// The messages are those of the interfaces' definitions: numbers and types of fields, by hand.
func TestMessages(t *testing.T) {
	text := func(b []byte, n protowire.Number, s string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
	}
	message := func(b []byte, n protowire.Number, m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), m)
	}
	number := func(b []byte, n protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
	}
	container := message(nil, 1, text(text(nil, 1, "K"), 2, "v"))
	container = message(container, 2, number(text(text(nil, 1, "/in"), 2, "/out"), 3, 1))
	container = message(container, 3, text(text(text(nil, 1, "/dev/a"), 2, "/dev/b"), 3, "rw"))
	container = message(container, 4, text(text(nil, 1, "a"), 2, "b"))
	container = message(container, 5, text(nil, 1, "example.com/dev=0"))
	var reply AllocateReply
	require.NoError(t, codec.UnmarshalProto(message(nil, 1, container), &reply))
	require.Equal(t, AllocateReply{[]ContainerAllocation{{Envs: map[string]string{"K": "v"}, Mounts: []Mount{{"/in", "/out", true}}, Devices: []DeviceSpec{{"/dev/a", "/dev/b", "rw"}},
		Annotations: map[string]string{"a": "b"}, CDIDevices: []CDIDevice{{"example.com/dev=0"}}}}}, reply)
	b, err := codec.MarshalProto(&reply)
	require.NoError(t, err)
	require.Equal(t, message(nil, 1, container), b)

	register := message(text(text(text(nil, 1, "v1beta1"), 2, "x.sock"), 3, "example.com/dev"), 4, number(number(nil, 1, 1), 2, 1))
	var q RegisterRequest
	require.NoError(t, codec.UnmarshalProto(register, &q))
	require.Equal(t, RegisterRequest{"v1beta1", "x.sock", "example.com/dev", &DeviceOptions{true, true}}, q)

	device := message(nil, 1, message(text(text(nil, 1, "id"), 2, "Healthy"), 3, message(nil, 1, number(nil, 1, 1))))
	var list DeviceList
	require.NoError(t, codec.UnmarshalProto(device, &list))
	require.Equal(t, DeviceList{[]Device{{"id", Healthy, &Topology{[]NUMANode{{1}}}}}}, list)
	require.Error(t, codec.UnmarshalProto(device[:len(device)-1], &list))

	prepared := message(nil, 1, message(text(nil, 1, "uid"), 2, message(nil, 1, text(text(text(text(text(nil, 1, "r"), 2, "pool"), 3, "dev"), 4, "x/gpu=0"), 5, "share"))))
	want := DRAPrepared{map[string]DRAPreparedClaim{"uid": {Devices: []DRADevice{{[]string{"r"}, "pool", "dev", []string{"x/gpu=0"}, new("share")}}}}}
	var got DRAPrepared
	require.NoError(t, codec.UnmarshalProto(prepared, &got))
	require.Equal(t, want, got)
	b, err = codec.MarshalProto(&want)
	require.NoError(t, err)
	got = DRAPrepared{}
	require.NoError(t, codec.UnmarshalProto(b, &got))
	require.Equal(t, want, got)
	b, err = codec.MarshalProto(&DRAClaims{[]DRAClaim{{"ns", "uid", "name"}}})
	require.NoError(t, err)
	require.Equal(t, message(nil, 1, text(text(text(nil, 1, "ns"), 2, "uid"), 3, "name")), b)
	sick := message(nil, 1, text(number(number(number(message(nil, 1, text(text(nil, 1, "pool"), 2, "dev")), 2, 2), 3, 1700000000), 4, 60), 5, "hot"))
	var report DRAHealth
	require.NoError(t, codec.UnmarshalProto(sick, &report))
	require.Equal(t, DRAHealth{[]DRADeviceHealth{{&DRADeviceName{"pool", "dev"}, 2, 1700000000, 60, "hot"}}}, report)
	require.Equal(t, "Unhealthy", report.Devices[0].Status())
	var failed DRAUnprepared
	require.NoError(t, codec.UnmarshalProto(message(nil, 1, message(text(nil, 1, "uid"), 2, text(nil, 1, "busy"))), &failed))
	require.Equal(t, "busy", failed.Claims["uid"].Error)
	dynamic := message(nil, 5, message(text(text(nil, 2, "claim"), 3, "ns"), 4, text(text(text(message(nil, 1, text(nil, 1, "x/gpu=0")), 2, "driver"), 3, "pool"), 4, "dev")))
	var c ContainerResources
	require.NoError(t, codec.UnmarshalProto(dynamic, &c))
	require.Equal(t, ContainerResources{Dynamic: []DynamicResource{{"claim", "ns", []ClaimResource{{[]CDIDevice{{"x/gpu=0"}}, "driver", "pool", "dev", nil}}}}}, c)
}
