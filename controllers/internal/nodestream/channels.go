package nodestream

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// forwardProtocols are those of port forwarding over the channels of a WebSocket, best first: that of clients
// without SPDY, such as the one in Python.
var forwardProtocols = []string{"v4.channel.k8s.io", "v4.base64.channel.k8s.io"}

// maxPorts is how many ports have channels: two each, of a byte.
const maxPorts = 128

// portsOf are the ports of the parameter port, which may list several with commas between.
func portsOf(values []string) ([]uint16, error) {
	if len(values) == 0 {
		return nil, BadRequest("query parameter %q is required", portHeader)
	}
	var ports []uint16
	for _, v := range values {
		if v == "" {
			return nil, BadRequest("query parameter %q cannot be empty", portHeader)
		}
		for p := range strings.SplitSeq(v, ",") {
			n, err := strconv.ParseUint(p, 10, 16)
			if err != nil {
				return nil, BadRequest("unable to parse %q as a port: %v", v, err)
			}
			if n == 0 {
				return nil, BadRequest("port %q must be > 0", v)
			}
			ports = append(ports, uint16(n))
		}
	}
	if len(ports) > maxPorts {
		return nil, BadRequest("%d ports are more than %d", len(ports), maxPorts)
	}
	return ports, nil
}

// channelForward carries one connection to each port. Two channels belong to a port: that of its data and
// that of its error. Each begins with the number of the port, the low byte first. The WebSocket ends when all
// connections have ended.
func (h *handler) channelForward(w http.ResponseWriter, r *http.Request, ports []uint16) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	ws, err := newWebSession(w, r, forwardProtocols, h.idle, cancel)
	if err != nil {
		h.log.Debug("start port forwarding failed", "path", r.URL.Path, "err", err)
		return
	}
	defer ws.close()
	var running, reading sync.WaitGroup
	var inputs []*io.PipeWriter
	for i, port := range ports {
		data, report := ws.writer(ctx, byte(2*i)), ws.writer(ctx, byte(2*i+1))
		number := binary.LittleEndian.AppendUint16(nil, port)
		_, _ = data.Write(number)
		_, _ = report.Write(number)
		input, to := io.Pipe()
		inputs = append(inputs, to)
		running.Go(func() {
			err := h.backend.PortForward(ctx, r.PathValue("namespace"), r.PathValue("pod"), port, channelPair{input, data})
			_ = input.Close() // what comes later is dropped
			if err != nil {
				_, _ = io.WriteString(report, failureOf(port, r.PathValue("pod")+", uid "+r.PathValue("uid"), err))
			}
		})
	}
	reading.Go(func() {
		err := ws.read(ctx, func(channel byte, data []byte) {
			if port := int(channel) / 2; channel%2 == 0 && port < len(inputs) {
				_, _ = inputs[port].Write(data)
			}
		})
		cancel()
		for _, to := range inputs {
			_ = to.CloseWithError(err)
		}
	})
	running.Wait()
	ws.close()
	reading.Wait()
}

// channelPair are the two directions of the data of a port.
type channelPair struct {
	*io.PipeReader
	io.Writer
}
