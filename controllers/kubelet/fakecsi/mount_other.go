//go:build !linux

package fakecsi

import (
	"errors"
)

func bind(string, string, bool) error { return errors.ErrUnsupported }

func unmount(string) error { return nil }
