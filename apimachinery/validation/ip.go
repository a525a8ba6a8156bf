package validation

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// ParseIP parses an IP address as legacy fields of the API do: leading zeros are ignored ("010.0.0.1" is
// 10.0.0.1), zones are refused. IPv4-mapped IPv6 addresses are returned as such.
func ParseIP(s string) (netip.Addr, bool) {
	if strings.Contains(s, "%") {
		return netip.Addr{}, false
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr, true
	}
	// Only an address with leading zeros is still possible.
	groups := strings.Split(s, ":")
	for i, group := range groups {
		if strings.Contains(group, ".") && i == len(groups)-1 {
			octets := strings.Split(group, ".")
			for j := range octets {
				octets[j] = trimLeadingZeros(octets[j])
			}
			groups[i] = strings.Join(octets, ".")
		} else {
			groups[i] = trimLeadingZeros(group)
		}
	}
	addr, err := netip.ParseAddr(strings.Join(groups, ":"))
	return addr, err == nil
}

func trimLeadingZeros(s string) string {
	for len(s) > 1 && s[0] == '0' {
		s = s[1:]
	}
	return s
}

// ParseCIDR parses an address and a prefix length as legacy fields of the API do,
// with leading zeros ignored. The address keeps its host bits.
func ParseCIDR(s string) (netip.Prefix, bool) {
	ip, bits, ok := strings.Cut(s, "/")
	if !ok || !each(bits, isDigit) {
		return netip.Prefix{}, false
	}
	addr, ok := ParseIP(ip)
	if !ok {
		return netip.Prefix{}, false
	}
	n, err := strconv.Atoi(trimLeadingZeros(bits))
	if err != nil {
		return netip.Prefix{}, false
	}
	prefix := netip.PrefixFrom(addr, n)
	return prefix, prefix.IsValid()
}

const (
	ipText   = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
	cidrText = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
)

// IsIP checks an address in canonical form: no leading zeros, IPv6 as RFC 5952
// writes it, not IPv4-mapped.
func IsIP(s string) []string {
	if out := IsIPLegacy(s, true); out != nil {
		return out
	}
	if addr, _ := ParseIP(s); addr.String() != s {
		return []string{fmt.Sprintf("must be in canonical form (%q)", addr)}
	}
	return nil
}

// IsIPLegacy checks an address in a legacy field, which accepts more than the canonical form. Strict refuses
// leading zeros and IPv4-mapped addresses.
func IsIPLegacy(s string, strict bool) []string {
	addr, ok := ParseIP(s)
	if !ok {
		return []string{ipText}
	}
	if !strict {
		return nil
	}
	var out []string
	if _, err := netip.ParseAddr(s); err != nil {
		out = append(out, "must not have leading 0s")
	} else if addr.Is4In6() {
		out = append(out, "must not be an IPv4-mapped IPv6 address")
	}
	return out
}

// IsCIDR checks a subnet in canonical form: as IsIP, and no bits beyond the
// prefix length.
func IsCIDR(s string) []string {
	if out := IsCIDRLegacy(s, true); out != nil {
		return out
	}
	if prefix, _ := ParseCIDR(s); prefix.String() != s {
		return []string{fmt.Sprintf("must be in canonical form (%q)", prefix)}
	}
	return nil
}

// IsCIDRLegacy checks a subnet in a legacy field, which accepts more than the canonical form. Strict refuses
// leading zeros, IPv4-mapped addresses and bits beyond the prefix length.
func IsCIDRLegacy(s string, strict bool) []string {
	if _, ok := ParseCIDR(s); !ok {
		return []string{cidrText}
	}
	if !strict {
		return nil
	}
	prefix, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return []string{"must not have leading 0s in IP or prefix length"}
	case prefix.Addr().Is4In6():
		return []string{"must not have an IPv4-mapped IPv6 address"}
	case prefix != prefix.Masked():
		return []string{"must not have bits set beyond the prefix length"}
	}
	return nil
}

// IsInterfaceAddress checks an address with the prefix length of its subnet, in
// canonical form.
func IsInterfaceAddress(s string) []string {
	prefix, ok := ParseCIDR(s)
	if !ok {
		return []string{"must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"}
	}
	if prefix.Addr().Is4In6() {
		return []string{"must not have an IPv4-mapped IPv6 address"}
	}
	if prefix.String() != s {
		return []string{fmt.Sprintf("must be in canonical form (%q)", prefix)}
	}
	return nil
}

// IPWarning returns a warning about an address that IsIPLegacy accepts but that is not canonical; otherwise
// it is empty.
func IPWarning(p *Path, s string) string {
	addr, ok := ParseIP(s)
	if !ok {
		return ""
	}
	strict, err := netip.ParseAddr(s)
	if err != nil || strict.Is4In6() {
		return fmt.Sprintf("%s: non-standard IP address %q will be considered invalid in a future release: use %q", p, s, addr.Unmap())
	}
	if strict.Is6() && strict.String() != s {
		return fmt.Sprintf("%s: IPv6 address %q should be in RFC 5952 canonical format (%q)", p, s, strict)
	}
	return ""
}

// CIDRWarning returns a warning about a subnet that IsCIDRLegacy accepts but that is not canonical; otherwise
// it is empty.
func CIDRWarning(p *Path, s string) string {
	prefix, ok := ParseCIDR(s)
	if !ok {
		return ""
	}
	strict, err := netip.ParsePrefix(s)
	if err != nil || strict.Addr().Is4In6() || strict != strict.Masked() {
		return fmt.Sprintf("%s: non-standard CIDR value %q will be considered invalid in a future release: use %q", p, s, unmapPrefix(prefix).Masked())
	}
	if strict.Addr().Is6() && strict.String() != s {
		return fmt.Sprintf("%s: IPv6 CIDR value %q should be in RFC 5952 canonical format (%q)", p, s, strict)
	}
	return ""
}

func unmapPrefix(prefix netip.Prefix) netip.Prefix {
	if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
		return netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
	}
	return prefix
}
