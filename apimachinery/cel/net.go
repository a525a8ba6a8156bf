package cel

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

type nativeType = reflect.Type

func nativeOf(v any, t nativeType) (any, error) {
	if reflect.TypeOf(v).AssignableTo(t) {
		return v, nil
	}
	return nil, fmt.Errorf("%T cannot be converted to %v", v, t)
}

var (
	ipType   = cel.ObjectType("net.IP")
	cidrType = cel.ObjectType("net.CIDR")
)

func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return a, fmt.Errorf("IP Address %q parse error during conversion from string: %w", s, err)
	case a.Zone() != "":
		return a, fmt.Errorf("IP address %q with zone value is not allowed", s)
	case a.Is4In6():
		return a, fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", s)
	}
	return a, nil
}

func addrVal(a netip.Addr) ref.Val {
	return opaque[netip.Addr]{ipType, a, func(a, b netip.Addr) bool { return a == b }}
}

func addresses() []cel.EnvOption {
	is := func(name string, f func(netip.Addr) bool) cel.EnvOption {
		return cel.Function(name, method(name, "ip_"+name, ipType, cel.BoolType, func(a netip.Addr) ref.Val { return types.Bool(f(a)) }))
	}
	return []cel.EnvOption{
		cel.Function("ip",
			parserOverload("string_to_ip", ipType, func(s string) (ref.Val, error) {
				a, err := parseAddr(s)
				return addrVal(a), err
			}),
			method("ip", "cidr_ip", cidrType, ipType, func(p netip.Prefix) ref.Val { return addrVal(p.Addr()) })),
		wellFormed("isIP", "is_ip", func(s string) bool { _, err := parseAddr(s); return err == nil }),
		cel.Function("ip.isCanonical", cel.Overload("ip_is_canonical", []*cel.Type{cel.StringType}, cel.BoolType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			s, ok := v.Value().(string)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			a, err := parseAddr(s)
			if err != nil {
				return types.NewErr("%s", err.Error())
			}
			return types.Bool(a.String() == s)
		}))),
		cel.Function("family", method("family", "ip_family", ipType, cel.IntType, func(a netip.Addr) ref.Val {
			if a.Is4() {
				return types.Int(4)
			}
			return types.Int(6)
		})),
		is("isUnspecified", netip.Addr.IsUnspecified), is("isLoopback", netip.Addr.IsLoopback),
		is("isLinkLocalMulticast", netip.Addr.IsLinkLocalMulticast), is("isLinkLocalUnicast", netip.Addr.IsLinkLocalUnicast),
		is("isGlobalUnicast", netip.Addr.IsGlobalUnicast),
		cel.Function("string", cel.Overload("ip_to_string", []*cel.Type{ipType}, cel.StringType, cel.UnaryBinding(asText[netip.Addr])),
			cel.Overload("cidr_to_string", []*cel.Type{cidrType}, cel.StringType, cel.UnaryBinding(asText[netip.Prefix]))),
	}
}

func asText[T fmt.Stringer](v ref.Val) ref.Val {
	t, ok := v.Value().(T)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	return types.String(t.String())
}

func parsePrefix(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return p, fmt.Errorf("network address parse error during conversion from string: %w", err)
	case p.Addr().Is4In6():
		return p, errors.New("IPv4-mapped IPv6 address is not allowed in a CIDR")
	}
	return p, nil
}

func prefixVal(p netip.Prefix) ref.Val {
	return opaque[netip.Prefix]{cidrType, p, func(a, b netip.Prefix) bool { return a == b }}
}

func ranges() []cel.EnvOption {
	within := func(p, q netip.Prefix) ref.Val {
		return types.Bool(p.Bits() <= q.Bits() && p.Contains(q.Addr()))
	}
	return []cel.EnvOption{
		parser("cidr", "string_to_cidr", cidrType, func(s string) (ref.Val, error) {
			p, err := parsePrefix(s)
			return prefixVal(p), err
		}),
		wellFormed("isCIDR", "is_cidr", func(s string) bool { _, err := parsePrefix(s); return err == nil }),
		cel.Function("containsIP",
			method2("cidr_contains_ip_ip", cidrType, ipType, cel.BoolType, func(p netip.Prefix, a netip.Addr) ref.Val { return types.Bool(p.Contains(a)) }),
			method2("cidr_contains_ip_string", cidrType, cel.StringType, cel.BoolType, func(p netip.Prefix, s string) ref.Val {
				a, err := parseAddr(s)
				if err != nil {
					return types.NewErr("%s", err.Error())
				}
				return types.Bool(p.Contains(a))
			})),
		cel.Function("containsCIDR",
			method2("cidr_contains_cidr", cidrType, cidrType, cel.BoolType, within),
			method2("cidr_contains_cidr_string", cidrType, cel.StringType, cel.BoolType, func(p netip.Prefix, s string) ref.Val {
				q, err := parsePrefix(s)
				if err != nil {
					return types.NewErr("%s", err.Error())
				}
				return within(p, q)
			})),
		cel.Function("masked", method("masked", "cidr_masked", cidrType, cidrType, func(p netip.Prefix) ref.Val { return prefixVal(p.Masked()) })),
		cel.Function("prefixLength", method("prefixLength", "cidr_prefix_length", cidrType, cel.IntType, func(p netip.Prefix) ref.Val { return types.Int(p.Bits()) })),
	}
}
