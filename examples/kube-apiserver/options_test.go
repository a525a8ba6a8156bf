package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRefusedOptions(t *testing.T) {
	for want, args := range map[string][]string{
		"--requestheader-username-headers is required":  {"--requestheader-client-ca-file=x", "--requestheader-username-headers="},
		"--service-account-max-token-expiration=1m0s":   {"--service-account-max-token-expiration=1m"},
		"--service-account-lookup=false is not":         {"--service-account-lookup=false"},
		`"leases" is none of master-count, lease, none`: {"--endpoint-reconciler-type=leases"},
		"--apiserver-count=0: want 1 or more":           {"--apiserver-count=0"},
		"needs both of one family":                      {"--advertise-address=fd00::1"},
	} {
		_, err := parse(append([]string{"--storage-backend=memory"}, args...))
		require.ErrorContains(t, err, want)
	}
}
