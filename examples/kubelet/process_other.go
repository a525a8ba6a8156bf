//go:build !linux

package main

import "github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"

func prepareProcess(*kubeletconfig.Configuration) error { return nil }
