//go:build !linux

package cgroup

import (
	"context"
	"errors"
)

// Systemd returns an error: systemd runs Linux only.
func Systemd(context.Context) (Units, error) {
	return nil, errors.New("systemd does not run this machine")
}
