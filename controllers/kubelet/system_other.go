//go:build !linux

package kubelet

import (
	"context"
	"errors"
	goruntime "runtime"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

func swapTotal() int64 { return 0 }

func machineSwap() *usage.Swap { return nil }

func systemInfo() corev1.NodeSystemInfo { return corev1.NodeSystemInfo{OSImage: goruntime.GOOS} }

// machine is the Host of a kubelet that was given none.
type machine struct{}

// Memory implements Host.
func (machine) Memory() (total, available uint64) { return 4 << 30, 4 << 30 }

// Disk implements Host.
func (machine) Disk(string) (Disk, error) { return Disk{}, errors.ErrUnsupported }

// PIDs implements Host.
func (machine) PIDs() (most, running uint64) { return 0, 0 }

// CPU implements Host.
func (machine) CPU() uint64 { return 0 }

// Started implements Host.
func (machine) Started() time.Time { return time.Time{} }

// WatchDir implements Host.
func (machine) WatchDir(context.Context, string, func()) error { return errors.ErrUnsupported }

// MemoryAlarm implements Host.
func (machine) MemoryAlarm(context.Context, string, uint64, func()) error {
	return errors.ErrUnsupported
}
